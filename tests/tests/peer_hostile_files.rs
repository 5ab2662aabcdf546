//! Attacks by way of the file system: paths that lead elsewhere, and a TMPDIR that must not be removed.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use oxherd_tests::{Case, JobDir, both, ours_only, scratch};

both![
    a_link_at_stdout_does_not_reach_a_file_of_roots,
    a_link_at_the_default_name_does_not_reach_a_file_of_roots,
    a_file_of_roots_is_no_input,
    a_script_of_roots_is_no_input_for_a_shell,
    a_descriptor_of_the_shepherds_is_no_output,
];

ours_only![
    a_link_in_the_place_of_tmpdir_is_removed_and_not_followed,
    links_below_tmpdir_are_removed_and_not_followed,
    a_mount_below_tmpdir_is_not_emptied,
    a_deep_tmpdir_is_removed,
    a_tmpdir_with_many_files_is_removed,
    directories_without_access_are_removed,
    names_without_sense_are_removed,
    what_root_left_in_tmpdir_is_removed,
    a_tmpdir_that_grows_during_its_removal_does_not_hold_up_the_shepherd,
    a_tmpdir_that_another_user_made_is_not_taken_over,
    staged_output_does_not_go_to_a_tmpdir_of_another_users,
    a_link_in_the_place_of_a_new_tmpdir_is_not_followed,
];

/// A file of root's that the job must neither read, change nor remove.
struct Canary(PathBuf);

impl Canary {
    fn new(path: &Path) -> Self {
        scratch::file(path, "canary\n", None, 0o600);
        Self(path.to_owned())
    }

    #[track_caller]
    fn assert_alive(&self) {
        let text = fs::read_to_string(&self.0);
        assert_eq!(text.ok().as_deref(), Some("canary\n"), "{}", self.0.display());
        let metadata = fs::metadata(&self.0).expect("there");
        assert_eq!((metadata.uid(), metadata.mode() & 0o777), (0, 0o600), "{}", self.0.display());
    }
}

/// The shepherd makes TMPDIR and removes it.
fn with_tmpdir(case: &Case) -> (JobDir, PathBuf) {
    let mut job = case.job();
    job.config.insert("default_domain", "ox_compat", "none");
    job.config.insert("default_domain", "ox_tmpdir", "1");
    let tmpdir = PathBuf::from(job.config.get("tmpdir"));
    fs::remove_dir(&tmpdir).expect("made by the harness");
    (job, tmpdir)
}

/// Runs the job and expects that nothing is left where TMPDIRs are.
#[track_caller]
fn assert_removed(job: &JobDir) {
    let out = job.run();
    out.expect_finished(0);
    let left: Vec<_> =
        fs::read_dir(job.root().join("tmp")).expect("there").flatten().map(|e| e.path()).collect();
    assert!(left.is_empty(), "{left:?}: {out:#?}");
}

fn a_link_at_stdout_does_not_reach_a_file_of_roots(case: &Case) {
    for procedure in ["none", "root"] {
        let mut job = case.job();
        let canary = Canary::new(&job.root().join("canary"));
        let link = job.work().join("out");
        symlink(&canary.0, &link).expect("linked");
        if procedure == "root" {
            let prolog = job.procedure("prolog", "echo from the prolog");
            job.set("prolog", &format!("root@{prolog}"));
        }
        job.set("stdout_path", link.to_str().expect("text")).script("echo from the job\n");
        job.run().expect_code(26);
        canary.assert_alive();
    }
}

fn a_link_at_the_default_name_does_not_reach_a_file_of_roots(case: &Case) {
    let job = case.job();
    let canary = Canary::new(&job.root().join("canary"));
    symlink(&canary.0, job.work().join(format!("sim.o{}", job.id()))).expect("linked");
    job.run().expect_code(26);
    canary.assert_alive();
}

fn a_file_of_roots_is_no_input(case: &Case) {
    let mut job = case.job();
    let canary = Canary::new(&job.root().join("canary"));
    job.set("stdin_path", canary.0.to_str().expect("text")).script("cat\n");
    job.run().expect_code(26);
    assert_eq!(job.stdout(), "");
    canary.assert_alive();
}

fn a_script_of_roots_is_no_input_for_a_shell(case: &Case) {
    let mut job = case.job();
    let canary = Canary::new(&job.root().join("canary"));
    job.set("script_file", canary.0.to_str().expect("text")).set("shell_start_mode", "script_from_stdin");
    let out = job.run();
    assert_ne!(out.exit_status.first().map(String::as_str), Some("0"), "{out:#?}");
    assert!(!job.stdout().contains("canary") && !job.stderr().contains("canary: "), "{}", job.stderr());
    canary.assert_alive();
}

/// Between fork and exec a child has the report pipe and the cgroup's door open.
fn a_descriptor_of_the_shepherds_is_no_output(case: &Case) {
    let mut forged = false;
    for number in 3..12 {
        let mut job = case.job();
        job.set("stdout_path", &format!("/proc/self/fd/{number}"));
        job.script("printf '\\007forged'\n");
        let out = job.run();
        // One of them may be the /dev/null that becomes stdin.
        let fine = out.exit_status.first().is_some_and(|line| ["0", "26"].contains(&line.as_str()));
        assert!(fine || !case.ours(), "{out:#?}");
        let record = [out.trace, out.error.join("\n"), out.exit_status.join("\n")];
        forged |= record.iter().any(|text| text.contains("forged"));
    }
    assert_eq!(forged, !case.ours(), "8.1.9 has its results open there");
}

fn a_link_in_the_place_of_tmpdir_is_removed_and_not_followed(case: &Case) {
    let (mut job, _) = with_tmpdir(case);
    let victim = job.root().join("victim");
    scratch::directory(&victim, None, 0o777);
    let canary = Canary::new(&victim.join("file"));
    let own = job.work().join("own");
    scratch::file(&own, "mine\n", Some(&job.owner), 0o644);
    job.script(&format!("cd /; rmdir $TMPDIR && ln -s {} $TMPDIR\n", victim.display()));
    assert_removed(&job);
    canary.assert_alive();
    assert!(own.exists());
}

fn links_below_tmpdir_are_removed_and_not_followed(case: &Case) {
    let (mut job, _) = with_tmpdir(case);
    let victim = job.root().join("victim");
    scratch::directory(&victim, None, 0o777);
    let canary = Canary::new(&victim.join("file"));
    let v = victim.display();
    job.script(&format!(
        "mkdir $TMPDIR/a; ln -s {v} $TMPDIR/a/dir; ln -s {v}/file $TMPDIR/a/file; ln -s / $TMPDIR/root\n\
         ln -s ../../.. $TMPDIR/a/up; ln -s $TMPDIR/a $TMPDIR/a/loop; mkfifo $TMPDIR/pipe; chmod 0 $TMPDIR/a\n"
    ));
    assert_removed(&job);
    canary.assert_alive();
}

/// Unmounts when the test is over, however.
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn bind(from: &Path, to: &Path) -> Option<Mount> {
    let done = Command::new("mount").arg("--bind").arg(from).arg(to).status().is_ok_and(|s| s.success());
    done.then(|| Mount(to.to_owned()))
}

fn a_mount_below_tmpdir_is_not_emptied(case: &Case) {
    let (mut job, tmpdir) = with_tmpdir(case);
    let victim = job.root().join("victim");
    scratch::directory(&victim, Some(&job.owner), 0o777);
    let canary = Canary::new(&victim.join("file"));
    let own = victim.join("own");
    scratch::file(&own, "mine\n", Some(&job.owner), 0o666);
    job.script("mkdir $TMPDIR/data $TMPDIR/other; >$TMPDIR/file; echo ready >seen; until [ -e go ]; do sleep 0.02; done\n");
    let mut running = job.start_ready();
    let mounts = [bind(&victim, &tmpdir.join("data")), bind(&own, &tmpdir.join("file"))];
    if mounts.iter().any(Option::is_none) {
        return oxherd_tests::require::skipped("nothing can be mounted here");
    }
    fs::write(job.work().join("go"), "").expect("written");
    let out = running.end();
    out.expect_finished(0);
    canary.assert_alive();
    assert_eq!(fs::read_to_string(&own).ok().as_deref(), Some("mine\n"));
    assert!(out.trace.contains("is not removed"), "{out:#?}");
    assert!(!tmpdir.join("other").exists());
    drop(mounts);
}

fn a_deep_tmpdir_is_removed(case: &Case) {
    let (mut job, _) = with_tmpdir(case);
    job.script("exec perl -e 'chdir $ENV{TMPDIR}; for (1 .. 3000) { mkdir \"a-rather-long-name\"; chdir \"a-rather-long-name\" }'\n");
    assert_removed(&job);
}

fn a_tmpdir_with_many_files_is_removed(case: &Case) {
    let (mut job, _) = with_tmpdir(case);
    job.script("exec perl -e 'chdir $ENV{TMPDIR}; for (1 .. 100000) { open F, \">\", $_; close F }'\n");
    assert_removed(&job);
}

fn directories_without_access_are_removed(case: &Case) {
    let (mut job, _) = with_tmpdir(case);
    job.script(
        "cd $TMPDIR; mkdir -p a/b/c; >a/b/c/f; chmod 0 a/b/c a/b a; mkdir d; >d/f; chmod 0500 d; chmod 0 .\n",
    );
    assert_removed(&job);
}

fn names_without_sense_are_removed(case: &Case) {
    let (mut job, _) = with_tmpdir(case);
    job.script(
        "exec perl -e 'chdir $ENV{TMPDIR}; for (\"\\n\", \"\\xff\\xfe\", \"-rf\", \"a b\", \"...\", \"x\" x 255, \"*\") \
         { open F, \">\", $_; close F } mkdir \"oxherd-lifted-1\"; mkdir \"\\x1b[2J\"'\n",
    );
    assert_removed(&job);
}

fn what_root_left_in_tmpdir_is_removed(case: &Case) {
    let (mut job, tmpdir) = with_tmpdir(case);
    let body =
        format!("mkdir -p {0}/deep/er; echo x >{0}/deep/er/file; chmod -R go-rwx {0}/deep", tmpdir.display());
    let epilog = job.procedure("epilog", &body);
    job.set("epilog", &format!("root@{epilog}"));
    assert_removed(&job);
}

/// Somebody outside of the job fills it again and again: at some point that is enough.
fn a_tmpdir_that_grows_during_its_removal_does_not_hold_up_the_shepherd(case: &Case) {
    const FILLER: &str = "$d = shift; $end = time + 30; while (time < $end && -e \"/proc/$ARGV[0]\") \
                          { for (1 .. 50) { mkdir \"$d/$_\"; open F, '>', \"$d/$_/f\"; close F } }";
    let (mut job, tmpdir) = with_tmpdir(case);
    job.script("echo ready >seen; until [ -e go ]; do sleep 0.02; done\n");
    let mut running = job.start_ready();
    let (uid, gid) = (job.owner.uid.to_string(), job.owner.gid.to_string());
    let mut filler = Command::new("setpriv")
        .args(["--reuid", &uid, "--regid", &gid, "--clear-groups", "perl", "-e", FILLER])
        .arg(&tmpdir)
        .arg(running.pid().to_string())
        .spawn()
        .expect("perl");
    fs::write(job.work().join("go"), "").expect("written");
    let out = running.end();
    let _ = filler.kill();
    let _ = filler.wait();
    out.expect_finished(0);
}

fn a_tmpdir_that_another_user_made_is_not_taken_over(case: &Case) {
    let (mut job, tmpdir) = with_tmpdir(case);
    let bob = oxherd_tests::accounts::bob();
    scratch::directory(&tmpdir, Some(&bob), 0o777);
    scratch::file(&tmpdir.join("bobs"), "bob\n", Some(&bob), 0o644);
    job.script("echo $TMPDIR; echo secret >$TMPDIR/secret\n");
    job.run().expect_finished(0);
    let used = job.stdout().trim().to_owned();
    assert!(used.starts_with(&format!("{}.", tmpdir.display())), "{used}");
    assert!(!Path::new(&used).exists(), "{used} is left");
    assert_eq!(fs::read_dir(&tmpdir).expect("there").count(), 1, "something of the job's is with bob");
    assert_eq!(fs::metadata(&tmpdir).expect("there").uid(), bob.uid);
}

/// Delegated file staging names files in TMPDIR: in the one that was made, not in the one that was wanted.
fn staged_output_does_not_go_to_a_tmpdir_of_another_users(case: &Case) {
    let (mut job, tmpdir) = with_tmpdir(case);
    let bob = oxherd_tests::accounts::bob();
    scratch::directory(&tmpdir, Some(&bob), 0o777);
    let out = job.in_work("out");
    job.set("fs_stdout_file_staging", "1").set("fs_stdout_path", &out).set("stdout_path", &out);
    job.script("echo secret\n");
    let _ = job.run();
    let with_bob: Vec<_> = fs::read_dir(&tmpdir).expect("there").flatten().map(|e| e.path()).collect();
    assert!(with_bob.is_empty(), "the job's output is with bob: {with_bob:?}");
}

fn a_link_in_the_place_of_a_new_tmpdir_is_not_followed(case: &Case) {
    let (mut job, tmpdir) = with_tmpdir(case);
    let victim = job.root().join("victim");
    scratch::directory(&victim, None, 0o755);
    let canary = Canary::new(&victim.join("file"));
    symlink(&victim, &tmpdir).expect("linked");
    job.script("echo x >$TMPDIR/x; echo $TMPDIR\n");
    job.run().expect_finished(0);
    canary.assert_alive();
    let metadata = fs::metadata(&victim).expect("there");
    assert_eq!((metadata.uid(), metadata.permissions().mode() & 0o777), (0, 0o755), "given away");
    assert_eq!(fs::read_dir(&victim).expect("there").count(), 1);
    assert!(fs::symlink_metadata(&tmpdir).is_ok_and(|m| m.is_symlink()), "what was there stays");
}
