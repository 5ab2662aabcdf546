//! What a hostile or broken `config` can do.

use oxherd_tests::{Case, JobDir, both, ours_only};

both![a_key_injected_by_an_argument_is_not_obeyed];

ours_only![
    a_key_injected_by_any_user_value_is_refused,
    a_missing_mandatory_key_is_no_fault_of_the_host,
    a_doubled_key_is_refused,
    a_key_out_of_place_is_refused,
    a_limit_that_is_no_number_is_told_or_ignored,
    extra_keys_of_our_execd_at_the_end_are_read_over,
];

/// A job with a line that would make root touch a file, hidden in the value of `key`.
fn injected(case: &Case, key: &str, head: &str) -> (JobDir, std::path::PathBuf) {
    let mut job = case.job();
    let trap = job.root().join("made-by-root");
    job.args(&["x"]);
    let value = format!("{head}\nprolog=root@/usr/bin/touch {}\nfoo=", trap.display());
    job.set(key, &value);
    (job, trap)
}

fn a_key_injected_by_an_argument_is_not_obeyed(case: &Case) {
    let (job, trap) = injected(case, "job_arg1", "x");
    let outcome = job.run();
    if case.ours() {
        // Either refused as the job's own fault, or passed on as one argument of several lines.
        assert!(matches!(outcome.code(), 0 | 30), "{outcome:#?}");
        assert!(!trap.exists(), "an argument became a command of root");
    } else {
        assert!(trap.exists(), "the stock shepherd obeys the last line with a key");
    }
}

/// The stock shepherd sets what happened to be in memory: no limit, an absurd one, or one that kills the child (D17).
fn a_limit_that_is_no_number_is_told_or_ignored(case: &Case) {
    for key in ["h_fsize", "h_vmem", "h_cpu", "s_descriptors"] {
        let mut job = case.job();
        job.set(key, "abc").script("exit 3\n");
        let outcome = job.run();
        match outcome.code() {
            0 => drop(outcome.expect_usage("exit_status", "3")),
            11 => assert!(!outcome.error.is_empty(), "a refusal says why: {outcome:?}"),
            _ => panic!("{key}: {outcome:?}"),
        }
    }
}

fn a_key_injected_by_any_user_value_is_refused(case: &Case) {
    let keys = [
        ("cwd", "/tmp"),
        ("stdout_path", "/dev/null"),
        ("stderr_path", "/dev/null"),
        ("stdin_path", "/dev/null"),
    ];
    let more = [("shell_path", "/bin/sh"), ("mail_list", "root"), ("job_arg1", "x\nepilog=/x")];
    for (key, head) in keys.into_iter().chain(more) {
        let (job, trap) = injected(case, key, head);
        let outcome = job.run();
        assert!(!trap.exists(), "`{key}` became a command of root");
        if key != "job_arg1" {
            outcome.expect_code(30);
            assert!(!outcome.error.is_empty(), "{key}: {outcome:#?}");
        }
    }
}

fn a_missing_mandatory_key_is_no_fault_of_the_host(case: &Case) {
    for key in ["job_owner", "prolog", "pe", "job_id", "admin_user", "stdout_path", "h_cpu", "script_file"] {
        let mut job = case.job();
        job.config.remove(key);
        let code = job.run().code();
        assert!(!matches!(code, 7 | 34 | 36), "without `{key}`: {code} would take the whole host down");
    }
}

fn a_doubled_key_is_refused(case: &Case) {
    for (after, key, value) in [("job_owner", "job_owner", "root"), ("epilog", "prolog", "root@/bin/true")] {
        let mut job = case.job();
        job.config.insert(after, key, value);
        job.run().expect_code(30);
    }
}

fn a_key_out_of_place_is_refused(case: &Case) {
    for (after, key) in [("mail_options", "coshepherd"), ("cwd", "qrsh_pid_file"), ("pty", "ckpt_command")] {
        let mut job = case.job();
        job.config.insert(after, key, "/bin/true");
        job.run().expect_code(30);
    }
}

fn extra_keys_of_our_execd_at_the_end_are_read_over(case: &Case) {
    let mut job = case.job();
    job.config.insert("default_domain", "ox_nothing_known", "1");
    job.script("echo ran\n");
    let outcome = job.run();
    assert!(matches!(outcome.code(), 0 | 30), "{outcome:#?}");
}
