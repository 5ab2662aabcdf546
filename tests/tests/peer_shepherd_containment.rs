//! Nothing of a job is left over, at its end and when it is killed.
//!
//! The stock shepherd finds processes by their additional group in one pass over `/proc`, so a chain of forks gets
//! away from it more often than not (9 of 20 after a kill, 5 of 10 at the end of the job), and so do the children of
//! procedures, which do not carry the group. Those rows are asserted for ours alone.

use oxherd_tests::{Case, Running, both, ours_only, secs, wait_until};

both![
    children_in_other_sessions_end_with_the_job,
    children_in_other_sessions_end_with_a_kill_order,
    a_child_without_streams_and_parents_ends_with_the_job,
    without_addgrp_kill_a_detached_child,
];

ours_only![
    a_chain_of_forks_ends_with_a_kill_order,
    a_chain_of_forks_ends_with_the_job,
    a_tree_of_detached_sleepers_ends_with_a_kill_order,
    what_a_prolog_left_ends_with_the_job,
    a_terminate_method_is_not_swept_away_by_the_end_of_the_job,
];

/// A fork per millisecond, the parent gone each time, in ever new sessions; ends itself after 20 s.
const CHAIN: &str = "perl -e '$end = time + 20; while (time < $end) { $p = fork; exit 0 if $p; syscall(112); \
                     close STDIN; close STDOUT; close STDERR; select undef, undef, undef, 0.001 }'";

/// Twice forked, in its own session, without descriptors.
const DAEMON: &str = "perl -e 'fork and exit; syscall(112); fork and exit; close STDIN; close STDOUT; close STDERR; \
                      sleep 120'";

/// What carries the job's group id or its environment, apart from the shepherd.
fn remains(running: &Running<'_>) -> Vec<i32> {
    let mut pids: Vec<i32> = running.remains().into_iter().map(|process| process.pid).collect();
    pids.retain(|&pid| pid != running.pid());
    pids
}

fn sleepers_of(running: &Running<'_>) -> usize {
    let long = |pid: i32| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == b"sleep\x00120\x00")
    };
    running.processes().iter().filter(|process| long(process.pid)).count()
}

fn children_in_other_sessions_end_with_the_job(case: &Case) {
    let mut job = case.job();
    let sleepers = "setsid sleep 120 & sleep 120 & (setsid sleep 120 &)";
    job.script(&format!("{sleepers}\necho ready >seen; until [ -e stop ]; do sleep 0.05; done; exit 0\n"));
    let mut running = job.start_ready();
    // All of them run: the one pass of the stock shepherd may miss a process that is being made.
    wait_until("the sleepers", secs(5), || sleepers_of(&running) == 3);
    oxherd_tests::trapper::stop(&job);
    running.end().expect_finished(0);
    assert_eq!(remains(&running), Vec::<i32>::new());
}

fn children_in_other_sessions_end_with_a_kill_order(case: &Case) {
    let mut job = case.job();
    job.script("setsid sleep 120 & sleep 120 & (setsid sleep 120 &)\necho ready >seen; wait\n");
    let mut running = job.start_ready();
    wait_until("the sleepers", secs(5), || sleepers_of(&running) == 3);
    running.order_kill();
    wait_until("all of them to be gone", secs(1), || running.processes().is_empty());
    running.end().expect_finished(137);
}

fn a_child_without_streams_and_parents_ends_with_the_job(case: &Case) {
    let mut job = case.job();
    job.script(&format!("{DAEMON} &\nwait; echo ready >seen; exit 4\n"));
    let mut running = job.start();
    running.end().expect_finished(4);
    assert_eq!(remains(&running), Vec::<i32>::new());
}

fn without_addgrp_kill_a_detached_child(case: &Case) {
    let mut job = case.job();
    job.set("enable_addgrp_kill", "0");
    job.script("setsid sleep 120 &\nsleep 120 &\necho ready >seen; wait\n");
    let mut running = job.start_ready();
    wait_until("the sleepers", secs(5), || sleepers_of(&running) == 2);
    running.order_kill();
    running.end().expect_finished(137);
    if !case.ours() {
        let left: Vec<String> = running.processes().into_iter().map(|process| process.name).collect();
        assert_eq!(left, ["sleep"], "the one in a session of its own survives");
    }
}

fn a_chain_of_forks_ends_with_a_kill_order(case: &Case) {
    for _ in 0..3 {
        let mut job = case.job();
        job.script(&format!("{CHAIN} &\n{CHAIN} &\necho ready >seen; sleep 60\n"));
        let mut running = job.start_ready();
        wait_until("the chains", secs(5), || running.processes().len() >= 3);
        running.order_kill();
        running.end().expect_finished(137);
        assert_eq!(remains(&running), Vec::<i32>::new());
    }
}

fn a_chain_of_forks_ends_with_the_job(case: &Case) {
    for _ in 0..3 {
        let mut job = case.job();
        job.script(&format!("{CHAIN} &\n{CHAIN} &\nexit 0\n"));
        let mut running = job.start();
        running.end().expect_finished(0);
        assert_eq!(remains(&running), Vec::<i32>::new());
    }
}

fn a_tree_of_detached_sleepers_ends_with_a_kill_order(case: &Case) {
    let mut job = case.job();
    let script = "i=0; while [ $i -lt 60 ]; do setsid sh -c 'sleep 120; :' & i=$((i+1)); done; echo ready >seen; wait\n";
    job.script(script);
    let mut running = job.start_ready();
    wait_until("the sleepers", secs(20), || running.processes().len() > 120);
    running.order_kill();
    wait_until("all of them to be gone", secs(1), || running.processes().is_empty());
    running.end().expect_finished(137);
}

fn what_a_prolog_left_ends_with_the_job(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", "setsid sleep 120 </dev/null >/dev/null 2>&1 &");
    job.set("prolog", &prolog);
    let mut running = job.start();
    running.end().expect_finished(0);
    assert_eq!(remains(&running), Vec::<i32>::new());
}

fn a_terminate_method_is_not_swept_away_by_the_end_of_the_job(case: &Case) {
    let mut job = case.job();
    let method =
        job.procedure("method", "/bin/kill -9 -- -$1; sleep 1; echo done >>calls; setsid sleep 120 &");
    job.set("terminate_method", &format!("{method} $job_pid"));
    job.script("echo ready >seen; sleep 60\n");
    let mut running = job.start_ready();
    running.order_kill();
    running.end().expect_finished(137);
    assert_eq!(remains(&running), Vec::<i32>::new(), "nor is anything left of the method");
    assert_eq!(job.lines("calls"), ["done"]);
}
