//! `-notify`: a warning first, the real thing later.

use std::time::Duration;

use oxherd_tests::trapper::{self, seen, stop, wait_seen};
use oxherd_tests::wait::stays;
use oxherd_tests::{Case, JobDir, Stopwatch, both, millis, process, secs, wait_until};

both![
    a_kill_is_announced_by_usr2_and_comes_after_notify,
    a_second_kill_order_does_not_restart_the_time,
    a_suspend_is_announced_by_usr1_and_comes_after_notify,
    a_resume_cancels_an_announced_suspend,
    a_kill_order_replaces_an_announced_suspend,
    the_announcement_can_be_another_signal,
    without_an_announcing_signal_the_kill_comes_at_once,
    a_job_that_ends_within_notify_is_not_waited_for,
    other_signals_are_not_announced,
];

const NOTIFY: Duration = secs(2);
/// The stock shepherd counts whole seconds of an alarm.
const EARLY: Duration = millis(1900);

fn notified(case: &Case) -> JobDir {
    let mut job = case.job();
    job.script(trapper::SCRIPT).set("notify", "2");
    job
}

fn a_kill_is_announced_by_usr2_and_comes_after_notify(case: &Case) {
    let job = notified(case);
    let mut running = job.start_ready();
    let watch = Stopwatch::start();
    running.order_kill();
    wait_seen(&job, &["USR2"]);
    let outcome = running.end();
    let took = watch.elapsed();
    outcome.expect_finished(137);
    assert!(took >= EARLY && took < NOTIFY + secs(5), "{took:?}");
    assert_eq!(seen(&job), ["USR2"]);
}

fn a_second_kill_order_does_not_restart_the_time(case: &Case) {
    let job = notified(case);
    let mut running = job.start_ready();
    let watch = Stopwatch::start();
    running.order_kill();
    wait_seen(&job, &["USR2"]);
    wait_until("half of notify", secs(5), || watch.elapsed() > millis(1200));
    running.order_kill();
    let outcome = running.end();
    let took = watch.elapsed();
    outcome.expect_finished(137);
    assert!(took >= EARLY && took < millis(3100), "not restarted: {took:?}");
    assert_eq!(seen(&job), ["USR2"]);
}

fn a_suspend_is_announced_by_usr1_and_comes_after_notify(case: &Case) {
    let job = notified(case);
    let mut running = job.start_ready();
    let watch = Stopwatch::start();
    running.order_suspend();
    wait_seen(&job, &["USR1"]);
    running.wait_stopped(secs(7));
    assert!(watch.elapsed() >= EARLY, "{:?}", watch.elapsed());
    running.order_resume();
    wait_seen(&job, &["USR1", "CONT"]);
    stop(&job);
    running.end().expect_finished(0);
}

fn a_resume_cancels_an_announced_suspend(case: &Case) {
    let job = notified(case);
    let mut running = job.start_ready();
    let pid = running.job_pid();
    running.order_suspend();
    wait_seen(&job, &["USR1"]);
    running.order_resume();
    wait_seen(&job, &["USR1", "CONT"]);
    stays("the job runs on", NOTIFY + millis(700), || !process::stopped(pid));
    running.order_suspend();
    wait_seen(&job, &["USR1", "CONT", "USR1"]);
    running.wait_stopped(secs(7));
    running.order_resume();
    stop(&job);
    running.end().expect_finished(0);
}

fn a_kill_order_replaces_an_announced_suspend(case: &Case) {
    let job = notified(case);
    let mut running = job.start_ready();
    let pid = running.job_pid();
    running.order_suspend();
    wait_seen(&job, &["USR1"]);
    let watch = Stopwatch::start();
    running.order_kill();
    wait_seen(&job, &["USR1", "USR2"]);
    let mut was_stopped = false;
    wait_until("the end of the job", secs(8), || {
        was_stopped |= process::stopped(pid);
        !process::alive(pid)
    });
    assert!(watch.elapsed() >= EARLY, "{:?}", watch.elapsed());
    assert!(!was_stopped, "the suspend was dropped");
    running.end().expect_finished(137);
}

fn the_announcement_can_be_another_signal(case: &Case) {
    let mut job = notified(case);
    job.set("notify_kill_type", "0").set("notify_kill", "TERM");
    job.set("notify_susp_type", "0").set("notify_susp", "HUP");
    let mut running = job.start_ready();
    running.order_suspend();
    wait_seen(&job, &["HUP"]);
    running.order_kill();
    wait_seen(&job, &["HUP", "TERM"]);
    running.end().expect_finished(137);
}

fn without_an_announcing_signal_the_kill_comes_at_once(case: &Case) {
    let mut job = notified(case);
    job.set("notify_kill_type", "2").set("notify_kill", "none").set("notify", "30");
    let mut running = job.start_ready();
    running.order_kill();
    assert!(running.ends_within(secs(8)).is_some(), "no notify time without a signal");
    running.end().expect_finished(137);
    assert_eq!(seen(&job), Vec::<String>::new());
}

fn a_job_that_ends_within_notify_is_not_waited_for(case: &Case) {
    let mut job = notified(case);
    job.set("notify", "30").script("trap 'exit 5' USR2; echo ready >seen; while :; do sleep 0.05; done\n");
    let mut running = job.start_ready();
    running.order_kill();
    assert!(running.ends_within(secs(8)).is_some(), "the end of the job ends the wait");
    running.end().expect_finished(5);
}

fn other_signals_are_not_announced(case: &Case) {
    let job = notified(case);
    let mut running = job.start_ready();
    running.send(libc::SIGUSR2);
    wait_seen(&job, &["XCPU"]);
    stop(&job);
    running.end().expect_finished(0);
}
