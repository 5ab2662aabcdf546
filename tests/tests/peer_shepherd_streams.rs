//! Working directory, stdin, stdout and stderr.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use oxherd_tests::scratch::directory;
use oxherd_tests::{Case, both};

both![
    a_missing_output_directory_is_a_job_error,
    a_missing_working_directory_is_a_job_error,
    merged_streams_keep_their_order,
    stdin_comes_from_the_named_file,
    output_is_appended,
    array_tasks_have_their_number_in_the_file_name,
    output_files_belong_to_the_owner,
    stdin_cannot_be_a_directory,
    a_missing_stdin_is_a_job_error,
    output_behind_a_closed_directory_is_a_job_error,
    output_in_an_unwritable_directory_is_a_job_error,
    streams_are_opened_with_the_owners_supplementary_groups,
    the_resolved_paths_are_variables,
];

fn a_missing_output_directory_is_a_job_error(case: &Case) {
    let mut job = case.job();
    job.set("stdout_path", "/nonexistent/x");
    let outcome = job.run();
    outcome.expect_code(26);
    outcome.expect_error(r#"error: can't open output file "/nonexistent/x": No such file or directory"#);
}

fn a_missing_working_directory_is_a_job_error(case: &Case) {
    let mut job = case.job();
    job.set("cwd", "/nonexistent");
    job.run().expect_code(28).expect_error("error: can't chdir to /nonexistent: No such file or directory");
}

fn merged_streams_keep_their_order(case: &Case) {
    let mut job = case.job();
    job.set("merge_stderr", "1")
        .script("echo one; echo two >&2; echo three; readlink /proc/$$/fd/1 /proc/$$/fd/2\n");
    job.run().expect_finished(0);
    let file = job.in_work(&format!("sim.o{}", job.id()));
    assert_eq!(job.stdout(), format!("one\ntwo\nthree\n{file}\n{file}\n"));
    assert!(!job.work().join(format!("sim.e{}", job.id())).exists());
}

fn stdin_comes_from_the_named_file(case: &Case) {
    let mut job = case.job();
    job.set("stdin_path", "/etc/hostname").script("cat\n");
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), fs::read_to_string("/etc/hostname").expect("a host name"));
}

fn output_is_appended(case: &Case) {
    let mut job = case.job();
    let path = job.in_work("same.txt");
    fs::write(&path, "before\n").expect("write");
    std::os::unix::fs::chown(&path, Some(job.owner.uid), Some(job.owner.gid)).expect("chown");
    job.set("stdout_path", &path).set("merge_stderr", "1").script("echo job\n");
    job.run().expect_finished(0);
    assert_eq!(job.read("same.txt"), "before\njob\n");
}

fn array_tasks_have_their_number_in_the_file_name(case: &Case) {
    let mut job = case.job();
    job.set("ja_task_id", "2").env("SGE_TASK_ID", "2").script("echo $SGE_TASK_ID; echo err >&2\n");
    job.run().expect_finished(0);
    assert_eq!(job.read(&format!("sim.o{}.2", job.id())), "2\n");
    assert_eq!(job.read(&format!("sim.e{}.2", job.id())), "err\n");
}

fn output_files_belong_to_the_owner(case: &Case) {
    let mut job = case.job();
    job.script("echo out\n");
    job.run().expect_finished(0);
    let file = fs::metadata(job.in_work(&format!("sim.o{}", job.id()))).expect("the output file");
    assert_eq!(
        (file.uid(), file.gid(), file.permissions().mode() & 0o777),
        (job.owner.uid, job.owner.gid, 0o644)
    );
}

fn stdin_cannot_be_a_directory(case: &Case) {
    let mut job = case.job();
    job.set("stdin_path", "/etc");
    job.run().expect_code(26).expect_error("is a directory not a file");
}

fn a_missing_stdin_is_a_job_error(case: &Case) {
    let mut job = case.job();
    job.set("stdin_path", "/nonexistent");
    job.run().expect_code(26).expect_error("as dummy input file");
}

fn output_behind_a_closed_directory_is_a_job_error(case: &Case) {
    let mut job = case.job();
    directory(&job.root().join("closed"), None, 0o700);
    let path = job.root().join("closed/out");
    job.set("stdout_path", path.to_str().expect("text"));
    job.run().expect_code(26).expect_error("can't stat()");
}

fn output_in_an_unwritable_directory_is_a_job_error(case: &Case) {
    let mut job = case.job();
    directory(&job.root().join("readonly"), None, 0o755);
    let path = job.root().join("readonly/out");
    job.set("stdout_path", path.to_str().expect("text"));
    job.run().expect_code(26).expect_error("can't open output file").expect_error("Permission denied");
}

fn streams_are_opened_with_the_owners_supplementary_groups(case: &Case) {
    let mut job = case.job();
    let shared = job.root().join("shared");
    directory(&shared, None, 0o770);
    let group = oxherd_tests::accounts::gid_of(oxherd_tests::accounts::EXTRA_GROUP);
    std::os::unix::fs::chown(&shared, None, Some(group)).expect("chgrp");
    job.set("stdout_path", shared.to_str().expect("text")).script("echo out\n");
    job.run().expect_finished(0);
    assert_eq!(fs::read_to_string(shared.join(format!("sim.o{}", job.id()))).expect("output"), "out\n");
}

fn the_resolved_paths_are_variables(case: &Case) {
    let mut job = case.job();
    job.script("echo $SGE_STDIN_PATH $SGE_STDOUT_PATH $SGE_STDERR_PATH $SGE_CWD_PATH\n");
    job.run().expect_finished(0);
    let (out, err) = (format!("sim.o{}", job.id()), format!("sim.e{}", job.id()));
    let work = job.work();
    let expected = format!("/dev/null {} {} {}\n", job.in_work(&out), job.in_work(&err), work.display());
    assert_eq!(job.stdout(), expected);
}
