//! Orders from a stock execd: delete, suspend, limits, and a restart of execd beside a running job.

use std::fmt::Debug;

use oxherd_tests::cluster::Record;
use oxherd_tests::process::{self, Process};
use oxherd_tests::{Case, Cluster, Stopwatch, accounts, both, millis, secs, trapper, wait_for, wait_until};

both![jobs_follow_their_orders, limits_end_jobs, jobs_outlive_execd];

/// Collects what is wrong, so that one cluster serves many expectations.
#[derive(Default)]
struct Findings(Vec<String>);

impl Findings {
    fn check<T: PartialEq + Debug>(&mut self, what: &str, found: T, expected: T) {
        if found != expected {
            self.0.push(format!("{what}: {found:?}, not {expected:?}"));
        }
    }

    #[track_caller]
    fn report(self) {
        assert!(self.0.is_empty(), "{:#?}", self.0);
    }
}

/// `failed` and `exit_status` of a record.
fn end(record: &Record) -> (String, String) {
    let first = |key: &str| {
        record.get(key).and_then(|value| value.split_whitespace().next()).unwrap_or("-").to_owned()
    };
    (first("failed"), first("exit_status"))
}

fn pair(failed: &str, exit_status: &str) -> (String, String) {
    (failed.to_owned(), exit_status.to_owned())
}

/// The additional group id of a running job, as its shepherd wrote it.
fn group(cluster: &Cluster, job: u32) -> u32 {
    let path = cluster.job_dir(job, 1).join("addgrpid");
    wait_for("the file addgrpid", secs(30), || std::fs::read_to_string(&path).ok()?.trim().parse().ok())
}

/// The processes of a job of this cluster; group ids repeat in other clusters, so the working directory counts too.
fn members(cluster: &Cluster, group: u32) -> Vec<Process> {
    let mut found = process::carrying(group);
    found.retain(|process| {
        std::fs::read_link(format!("/proc/{}/cwd", process.pid)).is_ok_and(|cwd| cwd == cluster.work())
    });
    found
}

/// A script that works in a directory of its own below the jobs' working directory.
fn own_directory(name: &str, script: &str) -> String {
    format!("mkdir {name}; cd {name}\n{script}")
}

fn jobs_follow_their_orders(case: &Case) {
    let cluster = Cluster::start(case.shepherd);
    let alice = accounts::alice();
    cluster.add_queue("all.q", &[]);
    cluster.add_queue("warned.q", &[("notify", "0:0:2")]);
    let mut findings = Findings::default();

    let script = "setsid sleep 300 & (setsid sleep 300 &)\necho ready >deleted; wait\n";
    let job = cluster.qsub_as(&alice, &["-q", "all.q"], script);
    cluster.wait_line("deleted", "ready");
    let gid = group(&cluster, job);
    wait_until("the sleepers", secs(10), || members(&cluster, gid).len() >= 3);
    cluster.q("qdel", &[&job.to_string()]);
    // The order needs a moment from qmaster to execd; what counts is that nothing is left.
    wait_until("a deleted job to be gone", secs(5), || members(&cluster, gid).is_empty());
    findings.check("record of a deleted job", end(&cluster.wait_gone(job)), pair("100", "137"));

    let job = cluster.qsub_as(
        &alice,
        &["-q", "all.q"],
        "echo ready >suspended; until [ -e go ]; do sleep 0.1; done\n",
    );
    cluster.wait_line("suspended", "ready");
    let gid = group(&cluster, job);
    let state = |wanted: bool| {
        let processes = members(&cluster, gid);
        !processes.is_empty() && processes.iter().all(|process| process::stopped(process.pid) == wanted)
    };
    cluster.q("qmod", &["-sj", &job.to_string()]);
    wait_until("all processes of a suspended job to be stopped", secs(15), || state(true));
    cluster.q("qmod", &["-usj", &job.to_string()]);
    wait_until("all processes of a resumed job to run", secs(15), || state(false));
    cluster.q("qmod", &["-sq", "all.q"]);
    wait_until("all processes in a suspended queue to be stopped", secs(15), || state(true));
    cluster.q("qdel", &[&job.to_string()]);
    findings.check("record of a job deleted while stopped", end(&cluster.wait_gone(job)), pair("100", "137"));
    cluster.q("qmod", &["-usq", "all.q"]);

    let job =
        cluster.qsub_as(&alice, &["-q", "warned.q", "-notify"], &own_directory("warned", trapper::SCRIPT));
    cluster.wait_line("warned/seen", "ready");
    cluster.q("qdel", &[&job.to_string()]);
    cluster.wait_line("warned/seen", "USR2");
    let watch = Stopwatch::start();
    findings.check("record of a warned job", end(&cluster.wait_gone(job)), pair("100", "137"));
    findings.check("the kill came after the notify time", watch.elapsed() >= millis(1500), true);

    let script = "setsid sh -c 'sleep 300; :' & sleep 300 &\nexit 0\n";
    let job = cluster.qsub_as(&alice, &["-q", "all.q"], script);
    findings.check("record of a job that left children", end(&cluster.wait_gone(job)), pair("0", "0"));
    let left: Vec<String> =
        (62000..62500).flat_map(|gid| members(&cluster, gid)).map(|process| process.name).collect();
    findings.check("what it left", left, Vec::new());
    findings.report();
}

fn limits_end_jobs(case: &Case) {
    let cluster = Cluster::start(case.shepherd);
    let alice = accounts::alice();
    cluster.add_queue("all.q", &[]);
    let spin = "trap 'echo XCPU >>xcpu' XCPU; ulimit -c 0\nwhile :; do :; done\n";
    let trapped =
        "trap 'echo USR1 >>usr1' USR1; i=0; while [ $i -lt 60 ]; do sleep 0.1; i=$((i+1)); done; exit 6\n";
    // What is asked for, the script, the end, and whether a record must say 37.
    let rows: [(&str, &str, (String, String)); 5] = [
        ("h_rt=3", "sleep 60\n", pair("37", "137")),
        ("s_rt=2", "sleep 60\n", pair("100", "138")),
        ("s_rt=2", trapped, pair("0", "6")),
        ("s_cpu=2,h_cpu=4", spin, pair("100", "137")),
        ("h_fsize=20K", "exec head -c 100000 /dev/zero >big\n", pair("100", "153")),
    ];
    let submit = |(limits, script, _): &(&str, &str, _)| {
        cluster.qsub_as(&alice, &["-q", "all.q", "-l", limits], script)
    };
    let jobs: Vec<u32> = rows.iter().map(submit).collect();
    let mut findings = Findings::default();
    for (job, (limits, script, expected)) in jobs.into_iter().zip(rows) {
        findings.check(&format!("{limits} with {script}"), end(&cluster.wait_gone(job)), expected);
    }
    findings.check("the warning of s_rt", cluster.lines("usr1").first().map(String::as_str), Some("USR1"));
    findings.check("the warning of s_cpu", cluster.lines("xcpu").first().map(String::as_str), Some("XCPU"));
    findings.report();
}

fn jobs_outlive_execd(case: &Case) {
    let cluster = Cluster::start(case.shepherd);
    let alice = accounts::alice();
    cluster.add_queue("all.q", &[]);
    let waiting =
        |name: &str| format!("echo ready >{name}.seen; until [ -e {name}.go ]; do sleep 0.1; done; exit 4\n");
    let go =
        |name: &str| std::fs::write(cluster.work().join(format!("{name}.go")), "").expect("let the job end");
    let during = cluster.qsub_as(&alice, &["-q", "all.q"], &waiting("during"));
    let after = cluster.qsub_as(&alice, &["-q", "all.q"], &waiting("after"));
    cluster.wait_line("during.seen", "ready");
    cluster.wait_line("after.seen", "ready");
    cluster.stop_execd();
    go("during");
    let exit_status = cluster.job_dir(during, 1).join("exit_status");
    wait_until("the job to end without execd", secs(10), || {
        std::fs::read_to_string(&exit_status).is_ok_and(|text| text == "0\n")
    });
    cluster.start_execd();
    let mut findings = Findings::default();
    findings.check("a job that ended while execd was down", end(&cluster.wait_gone(during)), pair("0", "4"));
    findings.check("the other one is still known", cluster.job_state(after).as_deref(), Some("r"));
    go("after");
    // Adopted jobs end without a SIGCHLD: execd looks once a minute.
    wait_until("execd to see the end of the adopted job", secs(90), || cluster.job_state(after).is_none());
    findings.check("a job that ended after the restart", end(&cluster.wait_gone(after)), pair("0", "4"));
    findings.report();
}
