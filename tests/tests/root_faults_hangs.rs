//! Something answers late or never: a file's open blocks, a procedure or a method does not end. The shepherd keeps
//! obeying orders.
//!
//! An open that nobody answers is a pipe with a name, a file server that is away is a FUSE mount that nobody serves. One
//! that does not even let SIGKILL through (NFS without `soft` on old kernels) is left to the rig's VM.

use std::path::Path;

use oxherd_tests::faults::{COUNTED, Scenario, fifo};
use oxherd_tests::require::skipped;
use oxherd_tests::{JobDir, Outcome, Running, Shepherd, Stopwatch, require, secs, wait_until};

/// From a kill order to the end of a shepherd whose job cannot resist.
const OBEYED: std::time::Duration = secs(1);

/// Waits for a child that carries the job's group: it is past everything but the opens.
fn child_waits(running: &Running<'_>) {
    wait_until("the child to be marked", secs(5), || !running.processes().is_empty());
}

fn killed_in_time(job: &JobDir, mut running: Running<'_>) -> Outcome {
    let watch = Stopwatch::start();
    running.order_kill();
    let outcome = running.end();
    let took = watch.elapsed();
    assert!(took < OBEYED, "the order was obeyed after {took:?}: {outcome:#?}");
    assert!(running.remains().is_empty(), "{:#?}", running.remains());
    assert!(job.lines("runs").len() <= 1);
    outcome
}

#[test]
fn a_job_whose_output_never_opens_can_be_deleted() {
    require!(root);
    for key in ["stdout_path", "stderr_path", "stdin_path"] {
        let mut job = JobDir::new(Shepherd::Ours);
        let fifo = fifo(&job, "pipe");
        job.set(key, &fifo).script(COUNTED);
        let running = job.start();
        child_waits(&running);
        let outcome = killed_in_time(&job, running);
        // It was ended by its order and not by a fault of the queue.
        outcome.expect_finished(137).expect_usage("signal", "9");
        assert_eq!(job.read("runs"), "", "{key}: the job did not run");
    }
}

#[test]
fn a_job_whose_output_opens_late_runs_once_the_other_side_is_there() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    let path = fifo(&job, "pipe");
    job.set("stdout_path", &path).script(&format!("{COUNTED}echo said\n"));
    let mut running = job.start();
    child_waits(&running);
    assert_eq!(job.read("runs"), "");
    let said = std::fs::read_to_string(&path).expect("the job writes");
    assert_eq!(said, "said\n");
    running.end().expect_finished(0);
    assert_eq!(job.lines("runs").len(), 1);
}

/// A procedure does not wait for the owner's pipe at all: the job is at fault and not the queue.
#[test]
fn an_output_of_a_prolog_that_never_opens_is_refused_at_once() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    let fifo = fifo(&job, "pipe");
    let prolog = job.procedure("prolog", "exit 0");
    job.set("prolog", &prolog).set("stdout_path", &fifo).script(COUNTED);
    let mut running = job.start();
    running.end().expect_code(26).expect_error(&fifo);
    assert!(running.remains().is_empty(), "{:#?}", running.remains());
    assert_eq!(job.read("runs"), "");
}

#[test]
fn a_prolog_that_hangs_ends_with_a_kill_order() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    let prolog = job.procedure("prolog", "trap '' TERM HUP INT; echo ready >seen; while :; do sleep 1; done");
    job.set("prolog", &prolog).script(COUNTED);
    let running = job.start_ready();
    killed_in_time(&job, running).expect_code(0);
    assert_eq!(job.read("runs"), "");
}

#[test]
fn a_prolog_that_hangs_ends_with_its_timeout() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    let prolog = job.procedure("prolog", "echo ready >seen; exec sleep 300");
    job.set("prolog", &prolog).set("script_timeout", "1").script(COUNTED);
    let mut running = job.start();
    running.end().expect_code(8).expect_error("script_timeout");
    assert_eq!(job.read("runs"), "");
    assert!(running.remains().is_empty());
}

#[test]
fn a_terminate_method_that_hangs_is_replaced_by_its_signal() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    let method = job.procedure("method", "trap '' TERM; echo method >>seen; while :; do sleep 1; done");
    job.set("terminate_method", &method);
    job.config.insert("default_domain", "ox_compat", "none");
    job.config.insert("default_domain", "ox_method_timeout", "1");
    job.script(&format!("{COUNTED}echo ready >seen; exec sleep 300\n"));
    let mut running = job.start_ready();
    running.order_kill();
    running.wait_line("seen", "method");
    running.end().expect_finished(137);
    assert!(running.remains().is_empty());
    assert_eq!(job.lines("runs").len(), 1);
}

#[test]
fn a_suspend_method_that_hangs_does_not_stop_a_deletion() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    let method = job.procedure("method", "echo method >>seen; exec sleep 300");
    job.set("suspend_method", &method);
    job.config.insert("default_domain", "ox_compat", "none");
    job.config.insert("default_domain", "ox_method_timeout", "2");
    job.script(&format!("{COUNTED}echo ready >seen; exec sleep 300\n"));
    let mut running = job.start_ready();
    running.order_suspend();
    running.wait_line("seen", "method");
    let pid = running.job_pid();
    running.order_kill();
    wait_until("the job to be gone", OBEYED, || !oxherd_tests::process::alive(pid));
    running.end().expect_finished(137);
    assert!(running.remains().is_empty());
}

/// A job that is deleted while its child waits for a file system that is away.
const AWAY: Scenario = Scenario {
    name: "away",
    roles: "guardian,job",
    prepare: cwd_away,
    killed: true,
    tmpdir: false,
    hung: Some("away"),
    namespaces: &[],
};

fn cwd_away(job: &mut JobDir) {
    let away = job.in_work("away");
    job.set("cwd", &away).script(COUNTED);
}

fn output_away(job: &mut JobDir) {
    let away = job.in_work("away/out");
    job.set("stdout_path", &away).script(COUNTED);
}

#[test]
fn a_job_whose_file_server_is_away_can_be_deleted() {
    require!(root);
    if !Path::new("/dev/fuse").exists() {
        return skipped("this kernel has no FUSE");
    }
    for prepare in [cwd_away, output_away] {
        let scenario = Scenario { prepare, ..AWAY };
        let watch = Stopwatch::start();
        let run = scenario.run(None);
        // The start and the tracer included.
        assert!(watch.elapsed() < secs(3), "{:?} {:#?}", watch.elapsed(), run.outcome);
        assert_eq!(run.broken(), Vec::<String>::new(), "{:#?}", run.outcome);
        assert_eq!((run.failed, run.runs), (100, 0), "{:#?}", run.outcome);
    }
}
