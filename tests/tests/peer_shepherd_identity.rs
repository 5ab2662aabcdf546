//! Who the job is, what surrounds it, and who owns what it could forge.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use oxherd_tests::accounts::{self, EXTRA_GROUP};
use oxherd_tests::require::skipped;
use oxherd_tests::{Case, JobDir, Shepherd, Witness, both, ours_only, require, witness};

both![
    a_job_has_the_owners_ids_and_the_additional_group,
    a_job_leads_its_session_and_group,
    a_job_starts_with_an_empty_signal_mask_and_default_actions,
    a_job_has_descriptors_0_1_2_only,
    a_job_has_umask_022_whatever_execd_had,
    a_job_has_no_capabilities,
    priority_is_the_nice_value,
    the_environment_reaches_the_job_unescaped,
    execds_environment_is_inherited_when_asked,
    execds_environment_is_not_inherited_when_not_asked,
    a_uid_below_min_uid_is_refused,
    a_gid_below_min_gid_is_refused,
    qsub_gid_becomes_the_primary_group,
    an_unknown_owner_is_refused,
    forged_result_files_have_no_effect,
    without_write_osjob_id_there_is_no_additional_group,
];

ours_only![no_result_file_is_writable_by_the_job_owner, stale_result_files_do_not_count];

fn witness(job: &mut JobDir) -> Witness {
    job.script(witness::SCRIPT);
    job.run().expect_finished(0);
    Witness::parse(&job.stdout())
}

fn a_job_has_the_owners_ids_and_the_additional_group(case: &Case) {
    let mut job = case.job();
    let witness = witness(&mut job);
    let (uid, gid) = (job.owner.uid, job.owner.gid);
    assert_eq!(witness.get("Uid"), format!("{uid}\t{uid}\t{uid}\t{uid}"));
    assert_eq!(witness.get("Gid"), format!("{gid}\t{gid}\t{gid}\t{gid}"));
    let mut groups: Vec<u32> =
        witness.get("groups").split(' ').map(|gid| gid.parse().expect("a gid")).collect();
    groups.sort_unstable();
    let mut expected = vec![gid, accounts::gid_of(EXTRA_GROUP), job.id()];
    expected.sort_unstable();
    assert_eq!(groups, expected);
}

fn a_job_leads_its_session_and_group(case: &Case) {
    let mut job = case.job();
    job.script(witness::SCRIPT);
    let outcome = job.run();
    let witness = Witness::parse(&job.stdout());
    let pid = outcome.job_pid.expect("job_pid").to_string();
    assert_eq!((witness.get("pid"), witness.get("pgid"), witness.get("sid")), (&*pid, &*pid, &*pid));
}

fn a_job_starts_with_an_empty_signal_mask_and_default_actions(case: &Case) {
    let witness = witness(&mut case.job());
    assert_eq!(witness.get("SigBlk"), "0000000000000000");
    assert_eq!(witness.get("SigIgn"), "0000000000000000");
}

fn a_job_has_descriptors_0_1_2_only(case: &Case) {
    let mut job = case.job();
    let witness = witness(&mut job);
    let work = job.work();
    let id = job.id();
    let expected = [
        "0 /dev/null".to_owned(),
        format!("1 {}/sim.o{id}", work.display()),
        format!("2 {}/sim.e{id}", work.display()),
    ];
    assert_eq!(witness.all("fd"), expected);
}

fn a_job_has_umask_022_whatever_execd_had(case: &Case) {
    let mut job = case.job();
    let witness = witness(&mut job);
    assert_eq!(witness.get("umask"), "0022");
    assert_eq!(witness.get("cwd"), job.work().to_str().expect("text"));
}

fn a_job_has_no_capabilities(case: &Case) {
    let witness = witness(&mut case.job());
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(witness.get(set), "0000000000000000", "{set}");
    }
    assert_eq!(witness.get("NoNewPrivs"), "0");
}

fn priority_is_the_nice_value(case: &Case) {
    for nice in ["5", "-5"] {
        let mut job = case.job();
        job.set("priority", nice);
        assert_eq!(witness(&mut job).get("nice"), nice);
    }
}

fn the_environment_reaches_the_job_unescaped(case: &Case) {
    let mut job = case.job();
    job.env("BACKSLASH", "x\\ty\\n").env("LINES_TWO", "l1\nl2").env("EMPTY", "").env("EQUAL", "a=b=c");
    job.script(r#"printf '%s|' "$BACKSLASH" "$LINES_TWO" "$EQUAL" "${EMPTY-unset}""#);
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "x\\ty\\n|l1\nl2|a=b=c||");
}

fn execds_environment_is_inherited_when_asked(case: &Case) {
    let mut job = case.job();
    job.execd_env("OF_EXECD", "yes").execd_env("BOTH", "execd").env("BOTH", "job");
    job.script("echo $OF_EXECD $BOTH\n");
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "yes job\n");
}

fn execds_environment_is_not_inherited_when_not_asked(case: &Case) {
    let mut job = case.job();
    job.execd_env("OF_EXECD", "yes").set("inherit_env", "0").script("echo ${OF_EXECD-unset} $JOB_NAME\n");
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "unset sim\n");
}

fn a_uid_below_min_uid_is_refused(case: &Case) {
    let mut job = case.job();
    job.set("min_uid", "60000");
    let text = format!(
        "uid of user {} ({}) less than minimum allowed in conf (60000)",
        job.owner.name, job.owner.uid
    );
    job.run().expect_code(11).expect_error(&text);
}

fn a_gid_below_min_gid_is_refused(case: &Case) {
    let mut job = case.job();
    job.set("min_gid", "60000");
    let text = format!(
        "gid of user {} ({}) less than minimum allowed in conf (60000)",
        job.owner.name, job.owner.gid
    );
    job.run().expect_code(11).expect_error(&text);
}

fn qsub_gid_becomes_the_primary_group(case: &Case) {
    let mut job = case.job();
    let gid = accounts::gid_of(EXTRA_GROUP);
    job.set("qsub_gid", &gid.to_string());
    let witness = witness(&mut job);
    assert_eq!(witness.get("gid"), gid.to_string());
    let groups: Vec<&str> = witness.get("groups").split(' ').collect();
    for gid in [gid, job.owner.gid, job.id()] {
        assert!(groups.contains(&gid.to_string().as_str()), "{gid} in {groups:?}");
    }
}

fn an_unknown_owner_is_refused(case: &Case) {
    let mut job = case.job();
    job.set("job_owner", "oxnobodyhere");
    job.run().expect_code(11);
    let mode = fs::metadata(job.path().join("error")).expect("the error file").permissions().mode();
    assert_eq!(mode & 0o777, case.deviates(0o666, 0o644), "mode of the error file");
}

fn forged_result_files_have_no_effect(case: &Case) {
    let mut job = case.job();
    job.script("echo fake >$SGE_JOB_SPOOL_DIR/error; echo 7 >$SGE_JOB_SPOOL_DIR/exit_status; exit 0\n");
    let outcome = job.run();
    match case.shepherd {
        Shepherd::Theirs => assert_eq!(outcome.exit_status.first().map(String::as_str), Some("7")),
        Shepherd::Ours => drop(outcome.expect_finished(0)),
    }
}

fn without_write_osjob_id_there_is_no_additional_group(case: &Case) {
    let mut job = case.job();
    job.set("write_osjob_id", "0");
    let witness = witness(&mut job);
    let group = job.id().to_string();
    assert!(!witness.get("groups").split(' ').any(|gid| gid == group), "{witness:#?}");
    assert!(!job.path().join("addgrpid").exists());
}

fn no_result_file_is_writable_by_the_job_owner(case: &Case) {
    let mut job = case.job();
    job.script("echo ready >seen; until [ -e stop ]; do sleep 0.05; done\n");
    let mut running = job.start();
    running.wait_line("seen", "ready");
    let check = |job: &JobDir| {
        for entry in fs::read_dir(job.path()).expect("the job directory") {
            let path = entry.expect("an entry").path();
            let data = fs::symlink_metadata(&path).expect("its metadata");
            assert_ne!(data.uid(), job.owner.uid, "{} belongs to the job owner", path.display());
            assert_eq!(data.permissions().mode() & 0o022, 0, "{} is writable by others", path.display());
        }
        let data = fs::metadata(job.path()).expect("the job directory");
        assert_eq!((data.uid(), data.permissions().mode() & 0o022), (job.admin.uid, 0));
    };
    check(&job);
    oxherd_tests::trapper::stop(&job);
    running.end().expect_finished(0);
    check(&job);
}

fn stale_result_files_do_not_count(case: &Case) {
    let job = case.job();
    for (name, text) in
        [("exit_status", "25\n"), ("error", "old\n"), ("usage", "exit_status=9\n"), ("checkpointed", "")]
    {
        oxherd_tests::scratch::file(&job.path().join(name), text, Some(&job.admin), 0o644);
    }
    job.run().expect_finished(0);
    assert!(!job.path().join("checkpointed").exists(), "a stale `checkpointed` would ask for a rerun");
}

/// What a job sees does not depend on the program that started it.
#[test]
fn both_programs_show_the_job_the_same_world() {
    require!(root, peer);
    if !(Shepherd::Theirs.selected() && Shepherd::Ours.selected()) {
        return skipped("OXHERD_UNDER_TEST asks for one program");
    }
    let world = |shepherd| {
        let mut job = JobDir::new(shepherd);
        job.args(&["a b"]).env("LANG", "C");
        let told = witness(&mut job);
        told.normalised(&[(&job.root().to_string_lossy(), "<root>"), (&job.id().to_string(), "<job>")])
    };
    let (theirs, ours) = (world(Shepherd::Theirs), world(Shepherd::Ours));
    assert_eq!(ours.join("\n"), theirs.join("\n"));
}
