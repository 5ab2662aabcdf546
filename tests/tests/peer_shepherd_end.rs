//! How the end of a job is reported.

use oxherd_tests::{Case, both, process};

both![
    an_exit_of_zero_is_a_success,
    an_exit_code_is_the_jobs_own,
    exit_99_asks_for_a_rerun,
    exit_99_is_an_ordinary_code_where_reschedule_is_forbidden,
    exit_100_puts_the_job_in_error,
    exit_100_is_an_ordinary_code_where_apperror_is_forbidden,
    death_by_kill_is_told_by_usage,
    death_by_segv_is_told_by_usage,
    death_by_usr1_is_told_by_usage,
    script_file_none_skips_the_job,
    the_files_of_an_ordinary_end_are_complete,
    the_shepherd_is_known_by_its_name_and_leads_its_group,
    cpu_time_of_the_job_is_in_usage,
];

fn an_exit_of_zero_is_a_success(case: &Case) {
    let job = case.job();
    let outcome = job.run();
    outcome.expect_finished(0).expect_usage("wait_status", "1").expect_usage("signal", "0");
    assert_eq!(outcome.addgrpid, Some(job.id()));
}

fn an_exit_code_is_the_jobs_own(case: &Case) {
    let mut job = case.job();
    job.script("exit 3\n");
    job.run().expect_finished(3).expect_usage("wait_status", "49");
}

fn exit_99_asks_for_a_rerun(case: &Case) {
    let mut job = case.job();
    job.script("exit 99\n");
    let outcome = job.run();
    outcome.expect_code(25).expect_error("exit_status of job start = 99");
    outcome.expect_usage("exit_status", "99").expect_usage("wait_status", "1585");
}

fn exit_99_is_an_ordinary_code_where_reschedule_is_forbidden(case: &Case) {
    let mut job = case.job();
    job.script("exit 99\n").set("forbid_reschedule", "1");
    job.run().expect_finished(99);
}

fn exit_100_puts_the_job_in_error(case: &Case) {
    let mut job = case.job();
    job.script("exit 100\n");
    job.run()
        .expect_code(30)
        .expect_error("exit_status of job start = 100")
        .expect_usage("exit_status", "100");
}

fn exit_100_is_an_ordinary_code_where_apperror_is_forbidden(case: &Case) {
    let mut job = case.job();
    job.script("exit 100\n").set("forbid_apperror", "1");
    job.run().expect_finished(100);
}

fn death_by_kill_is_told_by_usage(case: &Case) {
    let mut job = case.job();
    job.script("kill -9 $$\n");
    job.run().expect_finished(137).expect_usage("signal", "9").expect_usage("wait_status", "3727362");
}

fn death_by_segv_is_told_by_usage(case: &Case) {
    let mut job = case.job();
    job.script("kill -SEGV $$\n").set("h_core", "1k").set("s_core", "0");
    job.run().expect_finished(139).expect_usage("signal", "11");
}

fn death_by_usr1_is_told_by_usage(case: &Case) {
    let mut job = case.job();
    job.script("kill -USR1 $$\n");
    job.run().expect_finished(138).expect_usage("signal", "10").expect_usage("wait_status", "3813378");
}

fn script_file_none_skips_the_job(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", "echo prolog");
    let epilog = job.procedure("epilog", "echo epilog");
    job.set("script_file", "none").set("prolog", &prolog).set("epilog", &epilog);
    job.run().expect_code(0);
    assert_eq!(job.stdout(), "prolog\nepilog\n");
}

fn the_files_of_an_ordinary_end_are_complete(case: &Case) {
    let job = case.job();
    let outcome = job.run();
    outcome.expect_finished(0);
    assert_eq!(outcome.exit_status, ["0"]);
    for name in ["trace", "pid", "error", "exit_status", "job_pid", "addgrpid", "usage"] {
        assert!(job.path().join(name).exists(), "{name} exists");
    }
    let pid = outcome.pid.expect("a pid");
    assert!(outcome.job_pid.expect("a job pid") != pid);
    let (start, end) = (outcome.usage_number("start_time"), outcome.usage_number("end_time"));
    assert!(start > 1e9 && end >= start, "times: {outcome:#?}");
    for key in ["ru_wallclock", "ru_utime", "ru_stime", "ru_maxrss"] {
        assert!(outcome.usage_number(key) >= 0.0, "{key}: {outcome:#?}");
    }
    let line = outcome.trace.lines().next().expect("a trace line");
    let stamp: Vec<&str> = line.splitn(3, ' ').collect();
    let shape =
        |text: &str| text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect::<String>();
    assert_eq!(shape(stamp[0]), "99/99/9999", "{line}");
    assert_eq!(shape(stamp[1]), "99:99:99", "{line}");
    assert!(stamp[2].starts_with(&format!("[{}:{pid}]: ", job.admin.uid)), "{line}");
}

fn the_shepherd_is_known_by_its_name_and_leads_its_group(case: &Case) {
    let mut job = case.job();
    job.script("echo ready >seen; sleep 60\n");
    let running = job.start();
    running.wait_line("seen", "ready");
    let shepherd = process::Process::read(running.pid()).expect("the shepherd runs");
    assert!(
        shepherd.name.starts_with("sge_shep"),
        "execd's restart scan compares 8 letters: {}",
        shepherd.name
    );
    assert_eq!(shepherd.uid, 0, "real uid");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", running.pid())).expect("stat");
    let group = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(2)).expect("a group");
    assert_eq!(group, running.pid().to_string());
    let leader = process::Process::read(running.job_pid()).expect("the job runs");
    assert_eq!(leader.ppid, running.pid(), "the job is the shepherd's child");
}

fn cpu_time_of_the_job_is_in_usage(case: &Case) {
    let mut job = case.job();
    job.script("sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'\n");
    let outcome = job.run();
    outcome.expect_finished(0);
    assert!(outcome.usage_number("ru_utime") > 0.02, "{outcome:#?}");
}
