//! SIGKILL, the kernel's out-of-memory killer, a crash: the shepherd dies at every point of a job's life, and its
//! guardian ends what is left of the job. Stock leaves the job running.

use std::fs;

use oxherd_tests::faults::{
    COUNTED, Fault, ORPHAN_LIMIT, Run, Scenario, deaths, record, run_all, strandings,
};
use oxherd_tests::process::{self, Process};
use oxherd_tests::wait::poll;
use oxherd_tests::{Case, JobDir, Shepherd, millis, require, secs, spawn, wait_for, wait_until};

/// The job ends before its shepherd does.
const SHORT: Scenario = Scenario {
    name: "short",
    roles: "guardian,job",
    prepare: short,
    killed: false,
    tmpdir: false,
    hung: None,
    namespaces: &[],
};

/// The job is still there when its shepherd dies; the order is what ends those whose shepherd did not.
const LONG: Scenario = Scenario {
    name: "long",
    roles: "guardian,job",
    prepare: long,
    killed: true,
    tmpdir: false,
    hung: None,
    namespaces: &[],
};

/// Without a cgroup the additional group alone leads to what is left.
const BARE: Scenario = Scenario {
    name: "bare",
    roles: "guardian,prolog,job",
    prepare: bare,
    killed: true,
    tmpdir: false,
    hung: None,
    namespaces: &[],
};

/// The same with a prolog that runs until the order comes.
const SLOW_PROLOG: Scenario =
    Scenario { name: "prolog", roles: "guardian,prolog", prepare: slow_prolog, ..BARE };

fn slow_prolog(job: &mut JobDir) {
    bare(job);
    let prolog = job.procedure("slow", "echo ran >>runs; exec sleep 300");
    job.set("prolog", &prolog);
}

fn bare(job: &mut JobDir) {
    let (uid, gid) = (job.owner.uid.to_string(), job.owner.gid.to_string());
    for (key, value) in [("ox_cgroup", "none"), ("ox_groups", &gid), ("ox_gid", &gid), ("ox_uid", &uid)] {
        job.config.insert("default_domain", key, value);
    }
    let prolog = job.procedure("prolog", "exit 0");
    job.set("prolog", &prolog);
    long(job);
}

fn short(job: &mut JobDir) {
    job.script(&format!("{COUNTED}exit 0\n"));
}

fn long(job: &mut JobDir) {
    job.script(&format!("{COUNTED}setsid sleep 300 &\nexec sleep 300\n"));
}

fn full() -> bool {
    std::env::var("OXHERD_FAULTS").as_deref() == Ok("full")
}

/// What execd concludes of a dead shepherd: nothing was written yet, or what was written holds.
fn conclusion_fits(run: &Run) -> bool {
    let failed = run.failed;
    let signalled = run
        .outcome
        .usage
        .as_ref()
        .is_some_and(|usage| usage.get("signal").is_some_and(|signal| signal != "0"));
    match run.outcome.exit_status.first() {
        // A signal in usage overrides every code.
        _ if signalled => failed == 100,
        Some(_) => failed == 0,
        None => failed == if run.has_exit_status { 19 } else { 7 },
    }
}

fn matrix(scenario: &Scenario, cases: impl Fn(&Run) -> Vec<Fault>) {
    if let Ok(wanted) = std::env::var("OXHERD_FAULT") {
        let (name, fault) = wanted.split_once('/').expect("OXHERD_FAULT is SCENARIO/FAULT");
        if name == scenario.name {
            let run = scenario.run(Some(&Fault::parse(fault).expect("a fault like shepherd:write#1=kill")));
            record(&format!("{}\n{:#?}", run.line(), run.outcome));
            assert_eq!(run.broken(), Vec::<String>::new());
        }
        return;
    }
    let clean = scenario.run(None);
    assert_eq!(clean.broken(), Vec::<String>::new(), "{}", clean.line());
    let (runs, mut broken) = run_all(scenario, cases(&clean));
    for run in &runs {
        record(&format!("{} gone after {:?}", run.line(), run.gone_after));
        if run.met && !conclusion_fits(run) {
            broken.push(format!("execd concludes something else than the files say\n    {}", run.line()));
        }
    }
    let slowest = runs.iter().map(|run| run.gone_after).max().unwrap_or_default();
    record(&format!("{}: {} deaths, the job was gone after {slowest:?} at most", scenario.name, runs.len()));
    assert!(broken.is_empty(), "{} of {} deaths:\n{}", broken.len(), runs.len(), broken.join("\n"));
}

#[test]
fn the_shepherd_of_a_running_job_may_die_at_any_call() {
    require!(root);
    matrix(&LONG, |clean| deaths(clean, full()));
}

#[test]
fn the_shepherd_of_a_short_job_may_die_at_any_call() {
    require!(root);
    matrix(&SHORT, |clean| deaths(clean, full()));
}

/// Whoever watches over the child must not give up while it can still become the job.
#[test]
fn a_job_on_its_way_to_exec_never_outlives_its_shepherd() {
    require!(root);
    matrix(&BARE, |clean| strandings(clean, "job"));
}

#[test]
fn a_prolog_on_its_way_to_exec_never_outlives_its_shepherd() {
    require!(root);
    matrix(&SLOW_PROLOG, |clean| strandings(clean, "prolog"));
}

/// The processes of a test that are not its shepherd.
fn job_of(remains: Vec<Process>, shepherd: i32) -> Vec<Process> {
    remains.into_iter().filter(|process| process.pid != shepherd).collect()
}

fn guardian_of(shepherd: i32) -> i32 {
    wait_for("the guardian", secs(5), || {
        let below = process::tree(shepherd);
        below.into_iter().find(|process| process.name == "oxherd-guardian").map(|process| process.pid)
    })
}

/// A fork for every millisecond, each in a session of its own, the parent gone at once; ends by itself.
const CHAIN: &str = "perl -e '$end = time + 20; open F, \">>seen\"; print F \"ready\\n\"; close F; \
                     while (time < $end) { $p = fork; exit 0 if $p; syscall(112); \
                     select undef, undef, undef, 0.001 }' &";

#[test]
fn a_job_that_forks_without_end_dies_with_its_shepherd() {
    require!(root);
    for cgroup in ["auto", "none"] {
        let mut job = JobDir::new(Shepherd::Ours);
        job.config.insert("default_domain", "ox_compat", "none");
        job.config.insert("default_domain", "ox_cgroup", cgroup);
        job.script(&format!("{CHAIN}\nexec sleep 300\n"));
        let mut running = job.start_ready();
        guardian_of(running.pid());
        spawn::kill(running.pid(), libc::SIGKILL).expect("the shepherd runs");
        assert!(running.ends_within(secs(5)).is_some());
        wait_until(&format!("the chain to be gone (cgroup {cgroup})"), ORPHAN_LIMIT, || {
            job_of(running.remains(), running.pid()).is_empty()
        });
    }
}

#[test]
fn the_death_of_the_guardian_changes_nothing_for_the_job() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    job.script("echo ready >seen; until [ -e stop ]; do sleep 0.05; done; exit 5\n");
    let mut running = job.start_ready();
    let guardian = guardian_of(running.pid());
    spawn::kill(guardian, libc::SIGKILL).expect("the guardian runs");
    wait_until("the guardian to be gone", secs(5), || !process::alive(guardian));
    assert!(running.is_running() && !running.processes().is_empty(), "the job goes on");
    oxherd_tests::trapper::stop(&job);
    running.end().expect_finished(5);
    assert!(job_of(running.remains(), running.pid()).is_empty());
}

#[test]
fn a_job_is_deleted_as_usual_after_its_guardian_died() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    job.script("setsid sleep 300 &\necho ready >seen; exec sleep 300\n");
    let mut running = job.start_ready();
    spawn::kill(guardian_of(running.pid()), libc::SIGKILL).expect("the guardian runs");
    running.order_kill();
    running.end().expect_finished(137);
    assert!(job_of(running.remains(), running.pid()).is_empty());
}

#[test]
fn a_stopped_job_dies_with_its_shepherd() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    job.script("echo ready >seen; exec sleep 300\n");
    let mut running = job.start_ready();
    running.order_suspend();
    let pid = running.job_pid();
    wait_until("the job to be stopped", secs(5), || process::stopped(pid));
    spawn::kill(running.pid(), libc::SIGKILL).expect("the shepherd runs");
    assert!(running.ends_within(secs(5)).is_some());
    wait_until("the job to be gone", ORPHAN_LIMIT, || job_of(running.remains(), running.pid()).is_empty());
}

/// A child that waits in an open has not become the job yet, but it is the job's already.
#[test]
fn a_job_that_cannot_open_its_output_yet_dies_with_its_shepherd() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    let fifo = oxherd_tests::faults::fifo(&job, "out");
    job.set("stdout_path", &fifo);
    job.script(COUNTED);
    let mut running = job.start();
    wait_until("the child to be marked", secs(5), || !running.processes().is_empty());
    guardian_of(running.pid());
    spawn::kill(running.pid(), libc::SIGKILL).expect("the shepherd runs");
    assert!(running.ends_within(secs(5)).is_some());
    wait_until("the child to be gone", ORPHAN_LIMIT, || job_of(running.remains(), running.pid()).is_empty());
    assert_eq!(job.read("runs"), "");
}

#[test]
fn a_prolog_dies_with_its_shepherd() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    let prolog = job.procedure("prolog", "echo ready >>seen; exec sleep 300");
    job.set("prolog", &prolog).script(COUNTED);
    let mut running = job.start_ready();
    spawn::kill(running.pid(), libc::SIGKILL).expect("the shepherd runs");
    assert!(running.ends_within(secs(5)).is_some());
    wait_until("the prolog to be gone", ORPHAN_LIMIT, || job_of(running.remains(), running.pid()).is_empty());
    assert_eq!(job.read("runs"), "", "the job was not started");
}

/// For comparison: why there is a guardian.
#[test]
fn the_stock_shepherd_leaves_its_job_running() {
    require!(root, peer);
    if !Shepherd::Theirs.selected() {
        return;
    }
    let case = Case { shepherd: Shepherd::Theirs };
    let mut job = case.job();
    job.script("echo ready >seen; exec sleep 300\n");
    let mut running = job.start_ready();
    let pid = running.job_pid();
    spawn::kill(running.pid(), libc::SIGKILL).expect("the shepherd runs");
    assert!(running.ends_within(secs(5)).is_some());
    oxherd_tests::wait::stays("the job runs on", millis(1500), || process::alive(pid));
    assert_eq!(fs::read_to_string(job.path().join("exit_status")).unwrap_or_default(), "");
    assert!(poll(millis(0), || process::alive(pid).then_some(())).is_some());
}
