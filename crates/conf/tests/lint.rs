//! Each lint finds what it is for and is silent about the template.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use oxherd_conf::attribute::ATTRIBUTES;
use oxherd_conf::lint::{LintContext, ProgramState, Programs, codes, lint_queue};
use oxherd_conf::queue::ClusterQueue;
use oxherd_model::host_group::HostGroups;

#[derive(Debug)]
struct Disk;

impl Programs for Disk {
    fn state(&self, path: &str) -> ProgramState {
        match path {
            "/bin/sh" | "/opt/ok" => ProgramState::Executable,
            "/etc/passwd" => ProgramState::NotExecutable,
            _ => ProgramState::Missing,
        }
    }

    fn is_directory(&self, path: &str) -> Option<bool> {
        Some(path == "/tmp")
    }
}

/// Codes found with these lines in place of the template's.
fn check(changes: &[(&str, &str)], expect: &[&str]) {
    let line = |a: &oxherd_conf::attribute::Attribute| {
        let own = if a.name == "hostlist" { "n1" } else { a.default };
        let change = changes.iter().find(|(name, _)| *name == a.name);
        format!("{:<22}{}\n", a.name, change.map_or(own, |(_, value)| value))
    };
    let text: String = ATTRIBUTES.iter().map(line).collect();
    let (queue, diagnostics) = ClusterQueue::read("lint", &text);
    let queue = queue.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let groups = HostGroups::new();
    let known: Vec<String> = ["make", "smp", "mpi", "night"].map(str::to_owned).into();
    let context = LintContext {
        groups: Some(&groups),
        programs: Some(&Disk),
        queues: Some(&known),
        calendars: Some(&known),
        parallel_environments: Some(&known),
        access_lists: Some(&known),
        ..LintContext::default()
    };
    let found = lint_queue(&queue, &context);
    let all: String = found.iter().map(|d| d.render(&text)).collect();
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), expect, "{changes:?}\n{all}");
    for diagnostic in found {
        assert!(codes::explain(diagnostic.code).is_some(), "{}", diagnostic.code);
        assert!(diagnostic.line() >= 1 && diagnostic.column() > 22, "{diagnostic}");
    }
}

#[test]
fn the_template_is_clean() {
    check(&[], &[]);
}

#[test]
fn limits() {
    check(&[("s_rt", "2:0:0"), ("h_rt", "1:0:0")], &["queue-soft-above-hard"]);
    check(&[("s_vmem", "2G,[n1=1G]"), ("h_vmem", "2G,[n1=500M]")], &["queue-soft-above-hard"]);
    check(&[("s_rt", "2:0:0,[n1=30:0]".replace("30:0", "0:30:0").as_str()), ("h_rt", "3:0:0")], &[]);
    check(&[("h_rt", "30")], &["queue-h-rt-below-notify"]);
    check(&[("h_vmem", "1M"), ("s_cpu", "1")], &["queue-limit-below-floor", "queue-limit-below-floor"]);
    check(&[("h_rt", "30m")], &["queue-time-suffix"]);
    check(&[("h_rss", "1G"), ("processors", "1-4")], &["queue-no-effect", "queue-no-effect"]);
    check(&[("suspend_thresholds", "np_load_avg=2"), ("nsuspend", "0")], &["queue-suspend-never"]);
}

#[test]
fn paths() {
    check(&[("tmpdir", "NONE")], &["queue-tmpdir"]);
    check(&[("tmpdir", "/missing")], &["queue-tmpdir"]);
    check(&[("shell", "/bin/sh -x")], &["queue-path-with-blank"]);
    check(
        &[("shell", "/bin/nosh"), ("prolog", "root@/etc/passwd x")],
        &["queue-program-missing", "queue-program-not-executable"],
    );
    check(
        &[("prolog", "relative $job_id"), ("starter_method", "x")],
        &["queue-relative-path", "queue-relative-path"],
    );
    check(&[("epilog", "/opt/ok $job_id $jobid $")], &["queue-unknown-variable", "queue-unknown-variable"]);
    check(&[("terminate_method", "/opt/ok $job_pid $processors")], &["queue-unknown-variable"]);
    check(&[("prolog", "/opt/$sge_cell/x")], &[]);
}

#[test]
fn references() {
    check(&[("load_thresholds", "np_load_av=1.75")], &["queue-threshold-unknown"]);
    check(&[("complex_values", "licence=3")], &["queue-complex-unknown"]);
    check(
        &[("load_thresholds", "np_load_avg=abc,mem_free=1GB")],
        &["queue-complex-value", "queue-complex-value"],
    );
    check(
        &[("pe_list", "smp foo"), ("calendar", "nite")],
        &["queue-unknown-reference", "queue-unknown-reference"],
    );
    check(&[("hostlist", "n1 @lost")], &["queue-unknown-group"]);
    check(&[("slots", "1,[n9=2]")], &["queue-override-unused"]);
    check(
        &[("subordinate_list", "template night=3")],
        &["queue-subordinate-self", "queue-subordinate-never"],
    );
    check(&[("subordinate_list", "slots=2(lost.q)")], &["queue-unknown-reference"]);
}

#[test]
fn unreachable_queues() {
    check(&[("slots", "0")], &["queue-no-slots"]);
    check(&[("slots", "0,[n1=1]")], &[]);
    check(&[("hostlist", "NONE")], &["queue-no-hosts"]);
    check(&[("qtype", "NONE"), ("pe_list", "NONE")], &["queue-no-type"]);
    check(&[("user_lists", "smp,mpi"), ("xuser_lists", "make mpi")], &["queue-access-both"]);
}
