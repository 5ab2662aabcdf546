//! Orders to the shepherd: kill, suspend, resume, and what passes straight through.

use oxherd_tests::trapper::{self, seen, stop, wait_seen};
use oxherd_tests::wait::stays;
use oxherd_tests::{Case, JobDir, both, millis, ours_only, process, secs, wait_until};

both![
    a_kill_order_ends_the_job,
    a_suspended_job_is_stopped_and_goes_on,
    a_suspended_job_can_be_killed,
    usr1_and_xcpu_pass_to_the_job,
    any_signal_passes_by_way_of_the_signal_file,
    a_second_kill_order_within_ten_seconds_is_no_harm,
    a_burst_of_different_signals,
    the_admin_user_can_signal_the_shepherd,
    sigpipe_does_not_end_the_shepherd,
];

ours_only![
    sigterm_to_the_shepherd_ends_the_job_in_order,
    sigint_and_sighup_to_the_shepherd_end_the_job_in_order,
    each_signal_is_delivered_once,
    a_suspend_order_during_the_prolog_stops_the_job,
    a_signal_during_the_prolog_reaches_the_job_at_its_start,
];

fn trapping(case: &Case) -> JobDir {
    let mut job = case.job();
    job.script(trapper::SCRIPT);
    job
}

fn a_kill_order_ends_the_job(case: &Case) {
    let job = trapping(case);
    let mut running = job.start_ready();
    running.order_kill();
    wait_until("all processes of the job to be gone", secs(2), || running.processes().is_empty());
    running.end().expect_finished(137).expect_usage("signal", "9").expect_usage("wait_status", "3727362");
    assert_eq!(seen(&job), Vec::<String>::new());
}

fn a_suspended_job_is_stopped_and_goes_on(case: &Case) {
    let job = trapping(case);
    let mut running = job.start_ready();
    let pid = running.job_pid();
    running.order_suspend();
    running.wait_stopped(secs(3));
    running.order_resume();
    wait_until("the job to go on", secs(3), || !process::stopped(pid));
    wait_seen(&job, &["CONT"]);
    stop(&job);
    running.end().expect_finished(0);
}

fn a_suspended_job_can_be_killed(case: &Case) {
    let job = trapping(case);
    let mut running = job.start_ready();
    running.order_suspend();
    running.wait_stopped(secs(3));
    running.order_kill();
    running.end().expect_finished(137);
}

fn usr1_and_xcpu_pass_to_the_job(case: &Case) {
    let job = trapping(case);
    let mut running = job.start_ready();
    running.send(libc::SIGUSR1);
    wait_seen(&job, &["USR1"]);
    running.send(libc::SIGUSR2);
    wait_seen(&job, &["USR1", "XCPU"]);
    stop(&job);
    running.end().expect_finished(0);
}

fn any_signal_passes_by_way_of_the_signal_file(case: &Case) {
    let job = trapping(case);
    let mut running = job.start_ready();
    running.order_signal(libc::SIGHUP);
    wait_seen(&job, &["HUP"]);
    running.order_signal(libc::SIGUSR2);
    wait_seen(&job, &["HUP", "USR2"]);
    stop(&job);
    running.end().expect_finished(0);
}

fn a_second_kill_order_within_ten_seconds_is_no_harm(case: &Case) {
    let job = trapping(case);
    let mut running = job.start_ready();
    running.order_kill();
    // Execd repeats a kill order while it has not seen the end.
    running.order_kill();
    running.end().expect_finished(137);
}

fn a_burst_of_different_signals(case: &Case) {
    let job = trapping(case);
    let mut running = job.start_ready();
    for signal in [libc::SIGUSR1, libc::SIGUSR2, libc::SIGCONT, libc::SIGUSR1] {
        running.send(signal);
    }
    wait_until("the job to see a signal", secs(5), || !seen(&job).is_empty());
    if case.ours() {
        // Each kind arrives at least once; the order between pending signals is the kernel's.
        wait_until(&format!("USR1, XCPU and CONT: {:?}", seen(&job)), secs(5), || {
            ["USR1", "XCPU", "CONT"].iter().all(|name| seen(&job).iter().any(|known| known == name))
        });
    }
    stop(&job);
    running.end().expect_finished(0);
}

fn the_admin_user_can_signal_the_shepherd(case: &Case) {
    let job = trapping(case);
    let mut running = job.start_ready();
    // `send` panics if the kernel refuses; do it in each phase of the privileges the shepherd may have.
    for _ in 0..20 {
        running.send(libc::SIGCONT);
    }
    wait_until("CONT", secs(5), || seen(&job).contains(&"CONT".to_owned()));
    stop(&job);
    running.end().expect_finished(0);
}

fn sigpipe_does_not_end_the_shepherd(case: &Case) {
    let job = trapping(case);
    let mut running = job.start_ready();
    running.send(libc::SIGPIPE);
    running.send(libc::SIGUSR1);
    wait_seen(&job, &["USR1"]);
    assert!(running.is_running());
    stop(&job);
    running.end().expect_finished(0);
}

/// The stock shepherd just dies of these and leaves the job running (D8).
fn ends_in_order(case: &Case, signal: i32) {
    let mut job = trapping(case);
    let epilog = job.procedure("epilog", "echo epilog $SGE_JOBEXIT_STAT");
    job.set("epilog", &epilog);
    let mut running = job.start_ready();
    running.send(signal);
    let outcome = running.end();
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    assert_eq!(job.stdout().lines().last(), Some("epilog 137"), "the epilog ran and knows the end");
    assert!(running.processes().is_empty());
    outcome.expect_usage("exit_status", "137");
}

fn sigterm_to_the_shepherd_ends_the_job_in_order(case: &Case) {
    ends_in_order(case, libc::SIGTERM);
}

fn sigint_and_sighup_to_the_shepherd_end_the_job_in_order(case: &Case) {
    ends_in_order(case, libc::SIGINT);
    ends_in_order(case, libc::SIGHUP);
}

fn each_signal_is_delivered_once(case: &Case) {
    let job = trapping(case);
    let mut running = job.start_ready();
    running.send(libc::SIGUSR1);
    wait_seen(&job, &["USR1"]);
    stays("one USR1 only", millis(500), || seen(&job) == ["USR1"]);
    stop(&job);
    running.end().expect_finished(0);
}

/// The stock shepherd delivers about ten seconds late (an alarm of its own).
fn a_suspend_order_during_the_prolog_stops_the_job(case: &Case) {
    let mut job = trapping(case);
    let prolog = job.procedure("prolog", "echo prolog >>seen; until [ -e go ]; do sleep 0.05; done");
    job.set("prolog", &prolog);
    let mut running = job.start();
    running.wait_line("seen", "prolog");
    running.order_suspend();
    std::fs::write(job.work().join("go"), "").expect("let the prolog end");
    running.wait_stopped(secs(2));
    running.order_resume();
    running.wait_line("seen", "ready");
    stop(&job);
    running.end().expect_finished(0);
}

fn a_signal_during_the_prolog_reaches_the_job_at_its_start(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", "echo prolog >>seen; until [ -e go ]; do sleep 0.05; done");
    job.set("prolog", &prolog).script("exec sleep 60\n");
    let mut running = job.start();
    running.wait_line("seen", "prolog");
    running.send(libc::SIGUSR1);
    std::fs::write(job.work().join("go"), "").expect("let the prolog end");
    running.end().expect_finished(138).expect_usage("signal", "10");
}
