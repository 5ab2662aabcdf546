//! Prolog, epilog and the procedures of parallel environments.

use oxherd_tests::accounts::{self, EXTRA_GROUP};
use oxherd_tests::{Case, JobDir, Stopwatch, Witness, both, millis, ours_only, secs, witness};

both![
    prolog_job_and_epilog_share_one_output_in_order,
    procedures_see_the_expanded_variables,
    a_prolog_is_the_owner_without_the_additional_group,
    a_root_procedure_has_roots_ids_and_a_cleaned_environment,
    another_users_prolog_has_his_ids_and_writes_the_owners_file,
    the_epilog_knows_the_exit_status_of_the_job,
    a_failing_prolog_stops_the_job_but_not_the_epilog,
    a_prolog_exit_of_99_or_100_is_for_the_job,
    a_prolog_killed_by_a_signal_failed,
    a_failing_epilog_is_told_after_the_job,
    an_epilog_exit_of_99_or_100_is_for_the_job,
    the_first_failure_decides,
    a_prolog_that_cannot_start_runs_nothing,
    an_epilog_that_cannot_start_keeps_the_result,
    an_unknown_variable_in_a_prolog_line,
    parallel_procedures_run_around_the_job,
    a_failing_pe_start_skips_the_job_only,
    a_failing_pe_stop_is_told_after_the_job,
    pe_procedures_that_cannot_start,
    procedure_lines_are_split_at_blanks_without_quotes,
    a_failing_job_start_still_runs_the_epilog,
    a_kill_order_during_the_prolog_cancels_the_job,
    the_time_limit_of_procedures,
    a_prolog_may_extend_the_environment_file,
];

ours_only![a_value_with_blanks_stays_one_argument];

const BRACKETS: &str = r#"for arg in "$@"; do printf '[%s]' "$arg"; done; echo"#;

/// A job whose prolog, epilog and script say so.
fn telling(case: &Case) -> JobDir {
    let mut job = case.job();
    let prolog = job.procedure("prolog", "echo prolog");
    let epilog = job.procedure("epilog", "echo epilog");
    job.set("prolog", &prolog).set("epilog", &epilog).script("echo job; exit 7\n");
    job
}

/// Replaces a procedure by one that says its name and exits with `code`.
fn exiting(job: &mut JobDir, key: &str, code: &str) {
    let path = job.procedure(&format!("{key}-{code}"), &format!("echo {key}\nexit {code}"));
    job.set(key, &path);
}

fn prolog_job_and_epilog_share_one_output_in_order(case: &Case) {
    let job = telling(case);
    job.run().expect_finished(7);
    assert_eq!(job.stdout(), "prolog\njob\nepilog\n");
}

fn procedures_see_the_expanded_variables(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", BRACKETS);
    let names = "$job_id $job_name $host $ja_task_id $job_owner $queue $processors $stdout_path $stderr_path $stdin_path \
                 $merge_stderr";
    job.set("prolog", &format!("{prolog} x$job_name/y {names}"));
    job.run().expect_finished(0);
    let id = job.id();
    let values = [
        "xsim/y".to_owned(),
        id.to_string(),
        "sim".to_owned(),
        oxherd_tests::process::host_name(),
        "0".to_owned(),
        job.owner.name.clone(),
        "all.q".to_owned(),
        "UNDEFINED".to_owned(),
        job.in_work(&format!("sim.o{id}")),
        job.in_work(&format!("sim.e{id}")),
        "/dev/null".to_owned(),
        "0".to_owned(),
    ];
    let expected: String = values.iter().map(|value| format!("[{value}]")).collect();
    assert_eq!(job.stdout().trim_end(), expected);
}

fn a_prolog_is_the_owner_without_the_additional_group(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", witness::SCRIPT);
    job.set("prolog", &prolog).set("priority", "3").set("h_fsize", "1g");
    job.run().expect_finished(0);
    let told = Witness::parse(&job.stdout());
    assert_eq!(told.get("uid"), job.owner.uid.to_string());
    assert_eq!((told.get("pid"), told.get("pid")), (told.get("sid"), told.get("pgid")));
    assert_eq!(told.get("cwd"), job.work().to_str().expect("text"));
    assert_eq!((told.get("nice"), told.get("umask")), ("3", "0022"));
    assert_eq!(told.limit("file size").1, (1_000_000_000).to_string());
    assert_eq!((told.get("SigBlk"), told.get("SigIgn")), ("0000000000000000", "0000000000000000"));
    assert!(told.all("fd").contains(&"0 /dev/null"), "{told:#?}");
    assert_eq!(told.all("fd").len(), 3, "{told:#?}");
    let groups: Vec<&str> = told.get("groups").split(' ').collect();
    assert!(groups.contains(&accounts::gid_of(EXTRA_GROUP).to_string().as_str()));
    // Ours marks what runs as the job owner, so that nothing of it is left over.
    assert_eq!(groups.contains(&job.id().to_string().as_str()), case.deviates(false, true), "{groups:?}");
}

fn a_root_procedure_has_roots_ids_and_a_cleaned_environment(case: &Case) {
    let mut job = case.job();
    let epilog = job.procedure("epilog", witness::SCRIPT);
    job.set("epilog", &format!("root@{epilog} a")).script("exit 7\n");
    job.env("LD_PRELOAD", "/nonexistent.so").env("BASH_ENV", "/tmp/x").env("IFS", "x").env("KEPT", "kept");
    job.env("LC_ALL", "C.UTF-8").env("LANG", "bad value");
    job.run().expect_finished(7);
    let told = Witness::parse(&job.stdout());
    assert_eq!(told.get("Uid"), "0\t0\t0\t0");
    assert_eq!(told.get("Gid"), "0\t0\t0\t0");
    assert_eq!(told.get("cwd"), job.work().to_str().expect("text"));
    assert!(!told.get("groups").split(' ').any(|gid| gid == job.id().to_string()));
    let variables = told.environment();
    for name in ["LD_PRELOAD", "BASH_ENV", "TMPDIR", "ENVIRONMENT", "LANG"] {
        assert_eq!(variables.get(name), None, "{name}");
    }
    assert_eq!(variables.get("LC_ALL"), Some(&"C.UTF-8"));
    assert_eq!(variables.get("SGE_JOBEXIT_STAT"), Some(&"7"));
}

fn another_users_prolog_has_his_ids_and_writes_the_owners_file(case: &Case) {
    let mut job = case.job();
    let bob = accounts::bob();
    let prolog = job.procedure("prolog", witness::SCRIPT);
    job.set("prolog", &format!("{}@{prolog}", bob.name));
    job.run().expect_finished(0);
    let told = Witness::parse(&job.stdout());
    let (uid, gid) = (bob.uid, bob.gid);
    assert_eq!(told.get("Uid"), format!("{uid}\t{uid}\t{uid}\t{uid}"));
    assert_eq!(told.get("Gid"), format!("{gid}\t{gid}\t{gid}\t{gid}"));
    assert_eq!(told.get("groups"), gid.to_string());
    let file = std::fs::metadata(job.in_work(&format!("sim.o{}", job.id()))).expect("the output");
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&file), job.owner.uid);
}

fn the_epilog_knows_the_exit_status_of_the_job(case: &Case) {
    for (script, told) in [("exit 7", "7"), ("kill -9 $$", "137")] {
        let mut job = case.job();
        let epilog = job.procedure("epilog", "echo $SGE_JOBEXIT_STAT");
        let prolog = job.procedure("prolog", "echo ${SGE_JOBEXIT_STAT-unset}");
        job.set("epilog", &epilog).set("prolog", &prolog).script(script);
        job.run().expect_code(0);
        assert_eq!(job.stdout(), format!("unset\n{told}\n"));
    }
}

fn a_failing_prolog_stops_the_job_but_not_the_epilog(case: &Case) {
    let mut job = telling(case);
    exiting(&mut job, "prolog", "1");
    let outcome = job.run();
    outcome.expect_code(8).expect_error("exit_status of prolog = 1");
    assert_eq!(job.stdout(), "prolog\nepilog\n");
    assert!(outcome.usage.is_none(), "no job, no usage: {outcome:#?}");
}

fn a_prolog_exit_of_99_or_100_is_for_the_job(case: &Case) {
    for (code, reported) in [("99", 25), ("100", 30)] {
        let mut job = telling(case);
        exiting(&mut job, "prolog", code);
        job.run().expect_code(reported).expect_error(&format!("exit_status of prolog = {code}"));
        assert_eq!(job.stdout(), "prolog\nepilog\n");
    }
}

fn a_prolog_killed_by_a_signal_failed(case: &Case) {
    let mut job = telling(case);
    let prolog = job.procedure("dying", "kill -9 $$");
    job.set("prolog", &prolog);
    job.run().expect_code(8).expect_error("exit_status of prolog = 137");
}

fn a_failing_epilog_is_told_after_the_job(case: &Case) {
    let mut job = telling(case);
    exiting(&mut job, "epilog", "1");
    job.run().expect_code(15).expect_error("exit_status of epilog = 1").expect_usage("exit_status", "7");
}

fn an_epilog_exit_of_99_or_100_is_for_the_job(case: &Case) {
    for (code, reported) in [("99", 25), ("100", 30)] {
        let mut job = telling(case);
        exiting(&mut job, "epilog", code);
        job.run().expect_code(reported).expect_usage("exit_status", "7");
    }
}

fn the_first_failure_decides(case: &Case) {
    let mut job = telling(case);
    exiting(&mut job, "prolog", "1");
    exiting(&mut job, "epilog", "100");
    let outcome = job.run();
    outcome.expect_code(8);
    assert_eq!(outcome.exit_status, ["8", "30"]);
    assert_eq!(outcome.error.len(), 2, "{outcome:#?}");
    let mut job = telling(case);
    exiting(&mut job, "epilog", "1");
    job.script("exit 99\n");
    assert_eq!(job.run().expect_code(25).exit_status, ["25", "15"]);
}

fn a_prolog_that_cannot_start_runs_nothing(case: &Case) {
    for line in ["/no/such/prolog", "oxnobodyhere@/bin/true", "/etc/passwd"] {
        let mut job = telling(case);
        job.set("prolog", line);
        job.run().expect_code(case.deviates(7, 8));
        assert_eq!(job.stdout(), "", "neither job nor epilog ran for `{line}`");
    }
}

fn an_epilog_that_cannot_start_keeps_the_result(case: &Case) {
    for line in ["/no/such/epilog", "oxnobodyhere@/bin/true"] {
        let mut job = telling(case);
        job.set("epilog", line);
        job.run().expect_code(14).expect_usage("exit_status", "7");
    }
}

fn an_unknown_variable_in_a_prolog_line(case: &Case) {
    let mut job = telling(case);
    let prolog = job.procedure("brackets", BRACKETS);
    job.set("prolog", &format!("{prolog} $nosuchvar $sge_root $sge_cell"));
    let outcome = job.run();
    if case.ours() {
        outcome.expect_finished(7);
        assert_eq!(job.stdout(), "[$nosuchvar][/var/lib/gridengine][default]\njob\nepilog\n");
    } else {
        assert_eq!((outcome.code(), job.stdout().as_str()), (7, ""));
    }
}

/// A job in a parallel environment of two slots whose procedures all say their name.
fn parallel(case: &Case) -> JobDir {
    let mut job = telling(case);
    job.pe("mpi", 2);
    exiting(&mut job, "pe_start", "0");
    exiting(&mut job, "pe_stop", "0");
    job
}

/// What the PE procedures wrote.
fn pe_output(job: &JobDir) -> String {
    job.read(&format!("sim.po{}", job.id()))
}

fn parallel_procedures_run_around_the_job(case: &Case) {
    let mut job = parallel(case);
    let order = "echo $0 | sed 's#.*/##' >>order";
    for key in ["prolog", "pe_start", "pe_stop", "epilog"] {
        let path = job.procedure(key, &format!("{order}\necho $* $SGE_JOBEXIT_STAT\necho problem >&2"));
        job.set(
            key,
            &format!("{path} {}", if key == "pe_start" { "$pe_hostfile $host $pe $pe_slots" } else { "" }),
        );
    }
    job.script("echo job >>order; exit 7\n");
    job.run().expect_finished(7);
    assert_eq!(job.lines("order"), ["prolog", "pe_start", "job", "pe_stop", "epilog"]);
    let hostfile = job.path().join("pe_hostfile");
    let host = oxherd_tests::process::host_name();
    assert_eq!(pe_output(&job), format!("{} {host} mpi 2\n7\n", hostfile.display()));
    assert_eq!(job.read(&format!("sim.pe{}", job.id())), "problem\nproblem\n");
}

fn a_failing_pe_start_skips_the_job_only(case: &Case) {
    for (code, reported) in [("1", 10), ("99", 25), ("100", 30)] {
        let mut job = parallel(case);
        exiting(&mut job, "pe_start", code);
        job.run().expect_code(reported).expect_error(&format!("exit_status of pe_start = {code}"));
        assert_eq!(
            (job.stdout().as_str(), pe_output(&job).as_str()),
            ("prolog\nepilog\n", "pe_start\npe_stop\n")
        );
    }
}

fn a_failing_pe_stop_is_told_after_the_job(case: &Case) {
    for (code, reported) in [("1", 13), ("99", 25), ("100", 30)] {
        let mut job = parallel(case);
        exiting(&mut job, "pe_stop", code);
        let outcome = job.run();
        outcome.expect_code(reported).expect_error(&format!("exit_status of pe_stop = {code}"));
        outcome.expect_usage("exit_status", "7");
        assert_eq!(job.stdout(), "prolog\njob\nepilog\n");
    }
}

fn pe_procedures_that_cannot_start(case: &Case) {
    let mut job = parallel(case);
    job.set("pe_start", "/no/such/start");
    job.run().expect_code(9);
    assert_eq!((job.stdout().as_str(), pe_output(&job).as_str()), ("prolog\nepilog\n", ""));
    let mut job = parallel(case);
    job.set("pe_stop", "/no/such/stop");
    job.run().expect_code(12).expect_usage("exit_status", "7");
    assert_eq!(job.stdout(), "prolog\njob\nepilog\n");
}

fn procedure_lines_are_split_at_blanks_without_quotes(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", BRACKETS);
    job.set("prolog", &format!("{prolog} \"a b\" c\\ d\te"));
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "[\"a][b\"][c\\][d][e]\n");
}

fn a_failing_job_start_still_runs_the_epilog(case: &Case) {
    let mut job = telling(case);
    job.set("shell_path", "/no/such/shell");
    job.run().expect_code(27);
    assert_eq!(job.stdout(), "prolog\nepilog\n");
}

fn a_kill_order_during_the_prolog_cancels_the_job(case: &Case) {
    let mut job = telling(case);
    let prolog = job.procedure("slow", "echo ready >seen; sleep 4; echo prolog");
    job.set("prolog", &prolog);
    let mut running = job.start();
    running.wait_line("seen", "ready");
    let watch = Stopwatch::start();
    running.order_kill();
    let outcome = running.end();
    let took = watch.elapsed();
    if case.ours() {
        assert!(took < secs(3), "the prolog was ended at once, not after {took:?}");
        assert_eq!(job.stdout(), "epilog\n");
        // Deleted, not a fault of the queue.
        outcome.expect_code(0);
    } else {
        assert!(took > secs(3), "the prolog runs to its end: {took:?}");
        assert_eq!(job.stdout(), "prolog\nepilog\n");
        outcome.expect_code(0);
        assert!(outcome.usage.is_none(), "no job, no usage: {outcome:#?}");
    }
}

fn the_time_limit_of_procedures(case: &Case) {
    let mut job = telling(case);
    let nap = case.deviates("5", "60");
    let prolog =
        job.procedure("slow", &format!("trap 'echo TERM' TERM\necho ready\nsleep {nap} & wait; wait"));
    job.set("prolog", &prolog).set("script_timeout", "2");
    let watch = Stopwatch::start();
    let outcome = job.run();
    let took = watch.elapsed();
    if case.ours() {
        outcome.expect_code(8);
        assert!(took >= secs(2), "not early: {took:?}");
        assert!(job.stdout().starts_with("ready\nTERM\n"), "{}", job.stdout());
        assert!(job.stdout().ends_with("epilog\n"), "{}", job.stdout());
    } else {
        outcome.expect_finished(7);
        assert!(took >= millis(4900), "the stock limit never fires: {took:?}");
    }
}

fn a_prolog_may_extend_the_environment_file(case: &Case) {
    let mut job = telling(case);
    let prolog = job.procedure("extend", "echo ADDED=by-prolog >>$SGE_JOB_SPOOL_DIR/environment");
    job.set("prolog", &format!("root@{prolog}")).script("echo $ADDED\n");
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "by-prolog\nepilog\n");
}

fn a_value_with_blanks_stays_one_argument(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", &format!("exec >args\n{BRACKETS}"));
    let path = job.in_work("x --evil=1 y");
    job.set("prolog", &format!("{prolog} $stdout_path end")).set("stdout_path", &path);
    job.run().expect_finished(0);
    assert_eq!(job.read("args"), format!("[{path}][end]\n"));
}
