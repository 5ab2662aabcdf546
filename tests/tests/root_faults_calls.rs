//! Every system call that matters in a job's life fails once: the outcome is a documented code with a text, the job
//! is never run twice, and nothing is left.
//!
//! `OXHERD_FAULTS=full` takes every call with every error. `OXHERD_FAULT=rich/job:openat#3=EIO` runs a single case
//! and prints what came of it.

use oxherd_tests::JobDir;
use oxherd_tests::faults::{COUNTED, Fault, Run, Scenario, cases, record, run_all};
use oxherd_tests::require;

/// A batch job that leaves a detached process behind, below a stock execd.
const PLAIN: Scenario = Scenario {
    name: "plain",
    roles: "guardian,job",
    prepare: plain,
    killed: false,
    tmpdir: false,
    hung: None,
    namespaces: &[],
};

/// Procedures around the job and a TMPDIR of its own, below our execd.
const RICH: Scenario = Scenario {
    name: "rich",
    roles: "guardian,prolog,job,epilog,remover",
    prepare: rich,
    killed: false,
    tmpdir: true,
    hung: None,
    namespaces: &[],
};

/// A job that runs until it is deleted, without look-ups.
const KILLED: Scenario = Scenario {
    name: "killed",
    roles: "guardian,job",
    prepare: deleted,
    killed: true,
    tmpdir: false,
    hung: None,
    namespaces: &[],
};

/// The same without a cgroup.
const BARE: Scenario = Scenario {
    name: "bare",
    roles: "guardian,job",
    prepare: bare,
    killed: true,
    tmpdir: false,
    hung: None,
    namespaces: &[],
};

fn plain(job: &mut JobDir) {
    job.script(&format!("{COUNTED}setsid sleep 300 &\nexit 0\n"));
}

fn rich(job: &mut JobDir) {
    let procedure = job.procedure("procedure", "exit 0");
    job.set("prolog", &procedure).set("epilog", &procedure);
    job.config.insert("default_domain", "ox_compat", "none");
    job.config.insert("default_domain", "ox_fsync", "1");
    job.config.insert("default_domain", "ox_tmpdir", "1");
    known_owner(job);
    job.script(&format!("{COUNTED}echo x >$TMPDIR/file\nexit 0\n"));
}

/// As our execd writes it: nobody asks a name service.
fn known_owner(job: &mut JobDir) {
    let (uid, gid) = (job.owner.uid.to_string(), job.owner.gid.to_string());
    job.config.insert("default_domain", "ox_groups", &gid);
    job.config.insert("default_domain", "ox_gid", &gid);
    job.config.insert("default_domain", "ox_uid", &uid);
}

fn deleted(job: &mut JobDir) {
    known_owner(job);
    endless(job);
}

fn bare(job: &mut JobDir) {
    job.config.insert("default_domain", "ox_cgroup", "none");
    known_owner(job);
    endless(job);
}

fn endless(job: &mut JobDir) {
    job.script(&format!("{COUNTED}setsid sleep 300 &\nexec sleep 300\n"));
}

fn full() -> bool {
    std::env::var("OXHERD_FAULTS").as_deref() == Ok("full")
}

/// The case of `OXHERD_FAULT`, if it is of this scenario.
fn single(scenario: &Scenario) -> Option<Option<Fault>> {
    let wanted = std::env::var("OXHERD_FAULT").ok()?;
    let (name, fault) = wanted.split_once('/').expect("OXHERD_FAULT is SCENARIO/FAULT");
    Some((name == scenario.name).then(|| Fault::parse(fault).expect("a fault like shepherd:write#1=EIO")))
}

fn clean(scenario: &Scenario, failed: u32) -> Run {
    let run = scenario.run(None);
    assert_eq!(run.broken(), Vec::<String>::new(), "{}\n{:#?}", run.line(), run.outcome);
    assert_eq!(run.failed, failed, "{}\n{:#?}", run.line(), run.outcome);
    run
}

fn matrix(scenario: &Scenario, failed: u32) {
    if let Some(single) = single(scenario) {
        let Some(fault) = single else { return };
        let run = scenario.run(Some(&fault));
        record(&format!("{}\n{:#?}", run.line(), run.outcome));
        assert_eq!(run.broken(), Vec::<String>::new());
        return;
    }
    let clean = clean(scenario, failed);
    let (runs, broken) = run_all(scenario, cases(&clean, full()));
    for run in &runs {
        record(&run.line());
    }
    let met = runs.iter().filter(|run| run.met).count();
    record(&format!("{}: {} cases, {met} met", scenario.name, runs.len()));
    assert!(met * 10 > runs.len() * 8, "most calls of the clean run are made again");
    assert!(broken.is_empty(), "{} of {} cases:\n{}", broken.len(), runs.len(), broken.join("\n"));
}

#[test]
fn every_call_of_a_plain_job_may_fail() {
    require!(root);
    matrix(&PLAIN, 0);
}

#[test]
fn every_call_of_a_job_with_procedures_and_tmpdir_may_fail() {
    require!(root);
    matrix(&RICH, 0);
}

#[test]
fn every_call_of_a_deleted_job_may_fail() {
    require!(root);
    matrix(&KILLED, 100);
}

#[test]
fn every_call_of_a_deleted_job_without_cgroup_may_fail() {
    require!(root);
    matrix(&BARE, 100);
}
