//! Attacks on the word of the shepherd: a job that wants other results to be reported than its own, or other keys to be
//! read than the administrator's.

use std::fs;

use oxherd_tests::{Case, JobDir, both, ours_only, scratch};

both![
    an_argument_with_a_newline_is_no_key,
    a_job_cannot_write_its_own_results,
    results_of_an_earlier_run_are_not_this_ones,
    a_job_cannot_give_orders_in_execds_name,
];

ours_only![
    no_value_of_the_users_can_become_a_key,
    no_value_of_the_users_can_forge_a_line_of_the_record,
    a_path_with_a_newline_in_a_method_forges_nothing,
    a_job_cannot_look_into_its_shepherd,
    the_files_of_the_job_directory_cannot_be_changed_by_the_job,
    an_exit_code_of_the_owners_is_only_its_own,
];

/// Everything that would be worth forging.
const PAYLOADS: [&str; 9] = [
    "prolog=root@/bin/sh -c evil",
    "job_owner=root",
    "ox_uid=0",
    "ox_uid=0\nox_gid=0\nox_groups=0",
    "admin_user=root",
    "add_grp_id=0",
    "enable_addgrp_kill=0",
    "tmpdir=/etc",
    "njob_args=0",
];

fn evil(job: &JobDir) -> (String, String) {
    let told = job.in_work("pwned");
    (job.procedure("evil", &format!("id -u >{told}")), "pwned".to_owned())
}

fn an_argument_with_a_newline_is_no_key(case: &Case) {
    let mut job = case.job();
    let (evil, told) = evil(&job);
    job.args(&["one", &format!("x\nprolog=root@{evil}")]);
    job.script("printf '%s' \"$2\" >argument\n");
    let out = job.run();
    assert_eq!(job.read(&told), case.deviates("0\n", ""), "{out:#?}");
    if case.ours() {
        out.expect_code(30);
    }
}

fn no_value_of_the_users_can_become_a_key(case: &Case) {
    let keys = [
        "fs_stdin_path",
        "fs_stdout_path",
        "fs_stderr_path",
        "stdout_path",
        "stderr_path",
        "stdin_path",
        "shell_path",
        "script_file",
        "cwd",
        "mail_list",
        "job_name",
        "account",
    ];
    for key in keys.into_iter().chain(["argument"]) {
        for payload in PAYLOADS {
            let mut job = case.job();
            job.script("id -u >ran; exit 0\n");
            let told = job.in_work("pwned");
            let payload = payload.replace("evil", &format!("id>{told}"));
            if key == "argument" {
                job.args(&[&format!("x\n{payload}")]);
            } else {
                let value = format!("{}\n{payload}", job.config.get(key));
                job.set(key, &value);
            }
            let out = job.run();
            out.expect_code(30);
            assert_eq!(
                (job.read("pwned").as_str(), job.read("ran").as_str()),
                ("", ""),
                "{key}, {payload}: {out:#?}"
            );
        }
    }
}

fn a_job_cannot_write_its_own_results(case: &Case) {
    let mut job = case.job();
    job.script(
        "cd $SGE_JOB_SPOOL_DIR; for f in exit_status error usage trace; do echo 7 >>$f; done 2>/dev/null\n\
         echo 7 >exit_status; exit 0\n",
    );
    let out = job.run();
    if case.ours() {
        out.expect_finished(0);
        assert_eq!(out.exit_status, ["0"]);
    } else {
        // Code 7: every queue of the host is put into error.
        assert_eq!(out.exit_status.first().map(String::as_str), Some("7"), "{out:#?}");
    }
}

fn the_files_of_the_job_directory_cannot_be_changed_by_the_job(case: &Case) {
    let mut job = case.job();
    job.script(
        "cd $SGE_JOB_SPOOL_DIR || exit 1\nn=0\nfor f in * .new .usage.new signal checkpointed noresources; do\n\
         (echo forged >>$f) 2>/dev/null && n=$((n+1))\nchmod 777 $f 2>/dev/null && n=$((n+1))\n\
         mv -f $f x 2>/dev/null && n=$((n+1))\nrm -f $f 2>/dev/null && [ -e x ] && n=$((n+1))\n\
         ln -sf /etc/passwd $f 2>/dev/null && n=$((n+1))\ndone\nmkdir y 2>/dev/null && n=$((n+1))\nexit $n\n",
    );
    let out = job.run();
    out.expect_finished(0);
    assert!(!out.trace.contains("forged"), "{out:#?}");
    for entry in fs::read_dir(job.path()).expect("there").flatten() {
        let text = fs::read(entry.path()).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&text).contains("forged"), "{:?}", entry.path());
    }
}

fn results_of_an_earlier_run_are_not_this_ones(case: &Case) {
    let job = case.job();
    for (name, text) in [
        ("exit_status", "7\n"),
        ("error", "11/30/2026 10:00:00 [0:1]: forged\n"),
        ("usage", "exit_status=77\n"),
        ("checkpointed", "1\n"),
        ("signal", "9\n"),
    ] {
        scratch::file(&job.path().join(name), text, Some(&job.admin), 0o644);
    }
    let out = job.run();
    if case.ours() {
        out.expect_finished(0);
        assert_eq!(out.exit_status, ["0"]);
        assert!(!job.path().join("checkpointed").exists());
    } else {
        assert_eq!(out.exit_status.first().map(String::as_str), Some("7"), "8.1.9 appends {out:#?}");
    }
}

/// SIGTSTP and the like, and the file `signal`.
fn a_job_cannot_give_orders_in_execds_name(case: &Case) {
    let mut job = case.job();
    job.script(
        "n=0; for s in TSTP TTIN TTOU USR1 USR2 TERM INT QUIT KILL STOP CONT PWR; do kill -$s $PPID 2>/dev/null && \
         n=$((n+1)); done; echo 9 >$SGE_JOB_SPOOL_DIR/signal 2>/dev/null; exit $n\n",
    );
    let out = job.run();
    out.expect_finished(0);
    assert!(!out.trace.contains("signal 20 ") && !job.path().join("signal").exists(), "{out:#?}");
}

/// A line that looks like one of the shepherd's own.
const LINE: &str = "\n11/30/2026 10:00:00 [0:1]: exit_status of prolog = 7";

fn no_value_of_the_users_can_forge_a_line_of_the_record(case: &Case) {
    // Last in its file, so that nothing behind it is out of place: the newline itself is what is refused or shown.
    for key in ["stdout_path", "cwd", "shell_path", "job_name", "script_file"] {
        let mut job = case.job();
        job.set(key, &format!("/nowhere{LINE}"));
        let out = job.run();
        let record = fs::read_to_string(job.path().join("error")).expect("there");
        assert_eq!(record.lines().count(), out.exit_status.len(), "{key}: {record}");
        let forged = |text: &str| text.lines().any(|line| line.starts_with("11/30/2026 10:00:00 [0:1]"));
        assert!(!forged(&record) && !forged(&out.trace), "{key}: {out:#?}");
    }
    // Nor other control characters: a record is read in terminals.
    let mut job = case.job();
    job.set("stdout_path", "/nowhere/\x1b[2J\r\x07");
    let out = job.run();
    out.expect_code(26);
    let record = fs::read(job.path().join("error")).expect("there");
    assert!(!record.iter().any(|byte| *byte < 0x20 && *byte != b'\n'), "{out:#?}");
}

/// The name of a process is the job's word, too: it is written where the shepherd says what it waits for.
fn a_path_with_a_newline_in_a_method_forges_nothing(case: &Case) {
    let mut job = case.job();
    job.set("suspend_method", "/bin/true $job_name").set("job_name", "x\x1b[2J is taken: using y");
    job.script("echo ready >seen; sleep 300\n");
    let mut running = job.start_ready();
    running.order_suspend();
    oxherd_tests::wait_until("the method", oxherd_tests::secs(5), || {
        running.trace().contains("reaped suspend")
    });
    running.order_kill();
    let out = running.end();
    out.expect_code(0);
    assert!(!out.trace.bytes().any(|byte| byte < 0x20 && byte != b'\n'), "{out:#?}");
}

fn a_job_cannot_look_into_its_shepherd(case: &Case) {
    let mut job = case.job();
    job.script(
        "exec perl -e '$n = 0; opendir D, \"/proc\"; @p = ($ENV{SHEPHERD} || getppid); for $p (grep /^\\d+$/, readdir D) { \
         open C, \"<\", \"/proc/$p/comm\"; $c = <C>; push @p, $p if $c =~ /^oxherd-guard/ } \
         for $p (@p) { for $f (qw(mem environ maps fd/0 fd/3 fd/4 fd/5 cwd/exit_status root/etc/shadow)) { \
         for $m (\"<\", \">>\") { $n++ if open F, $m, \"/proc/$p/$f\" } } $n++ if syscall(101, 16, $p, 0, 0) == 0; \
         $n++ if syscall(101, 0x4206, $p, 0, 0) == 0; $n++ if syscall(434, $p, 0) >= 0 && \
         syscall(438, syscall(434, $p, 0), 3, 0) >= 0 } exit $n'\n",
    );
    job.run().expect_finished(0);
}

/// 99 and 100 have a meaning, everything else is a number; none is a failure of the queue.
fn an_exit_code_of_the_owners_is_only_its_own(case: &Case) {
    for (code, reported) in
        [(7, 0), (8, 0), (25, 0), (26, 0), (37, 0), (99, 25), (100, 30), (137, 0), (255, 0)]
    {
        let mut job = case.job();
        job.script(&format!("exit {code}\n"));
        let out = job.run();
        let first = out.exit_status.first().map(String::as_str);
        assert!(
            first == Some(reported.to_string().as_str()) || code == 99 || code == 100,
            "{code}: {out:#?}"
        );
        out.expect_usage("exit_status", &code.to_string());
    }
}
