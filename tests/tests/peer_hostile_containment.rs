//! Attacks on containment: a job that does not want to end, that hides, that kills whatever it can, or that reaches for
//! its shepherd.

use std::fs;
use std::os::unix::fs::chown;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use oxherd_tests::wait::poll;
use oxherd_tests::{Case, JobDir, Running, both, ours_only, secs, spawn, wait_for, wait_until};

both![
    a_job_that_stops_itself_can_be_deleted,
    a_child_that_ignores_every_signal_ends_with_a_deletion,
    the_program_before_exec_cannot_be_traced_or_read,
];

ours_only![
    a_process_that_the_terminate_method_left_ends_with_the_job,
    a_job_that_kills_all_it_can_reaches_neither_shepherd_nor_guardian,
    a_chain_of_forks_is_outrun_by_a_deletion,
    a_chain_of_forks_is_outrun_by_the_jobs_end,
    a_chain_of_forks_is_outrun_by_the_guardian,
    a_chain_of_forks_does_not_fill_the_hosts_process_table,
    a_chain_that_grows_downwards_ends_with_a_deletion,
    a_first_thread_that_ended_does_not_hide_a_process_from_the_guardian,
    a_name_that_is_no_text_does_not_hide_a_process_from_the_guardian,
    a_name_that_is_no_text_does_not_make_a_process_the_administrators,
    a_name_that_is_no_text_does_not_hide_memory,
    a_process_namespace_of_its_own_ends_with_the_job,
    a_subreaper_inside_the_job_keeps_nothing,
    a_sibling_made_by_clone_parent_ends_with_the_job,
    as_many_processes_as_are_allowed_end_with_a_deletion,
    what_a_prolog_of_the_owners_left_is_not_taken_for_the_administrators,
    a_method_cannot_resume_a_job_by_a_signal_to_its_shepherd,
    a_method_that_can_do_nothing_saves_the_job_only_until_the_escalation,
    a_prolog_cannot_leave_something_that_escapes_the_time_limit,
];

/// Adds keys of our own execd, in the order in which they are written.
fn ours(job: &mut JobDir, keys: &[(&str, &str)]) {
    for (key, value) in keys.iter().rev() {
        job.config.insert("default_domain", key, value);
    }
}

/// Without a cgroup, as on most hosts: only the descent and the additional group are left.
fn bare(job: &mut JobDir) {
    ours(job, &[("ox_cgroup", "none"), ("ox_compat", "none")]);
}

/// The job runs as a user id that nobody else has: it may then kill all that it can. Gives the id.
fn lonely(job: &mut JobDir, cgroup: &str) -> u32 {
    // Dead processes count in the limit of their user until they are reaped: no id is used twice.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed) % 1000;
    let uid = 1_000_000_000 + std::process::id() * 1000 + number;
    let text = uid.to_string();
    let keys = [("ox_uid", text.as_str()), ("ox_gid", &text), ("ox_groups", &text), ("ox_cgroup", cgroup)];
    ours(job, &keys);
    for place in [job.work(), job.config.get("tmpdir").into()] {
        chown(place, Some(uid), Some(uid)).expect("chown");
    }
    uid
}

/// Process ids of everything that runs as a user id: by the kernel's own word, whatever names and threads say.
fn of_user(uid: u32) -> Vec<i32> {
    let status = |pid: i32| fs::read(format!("/proc/{pid}/status")).unwrap_or_default();
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let text = String::from_utf8_lossy(&status(*pid)).into_owned();
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("");
        let dead = line("State:").trim_start().starts_with('Z') && line("Threads:").trim() == "1";
        !dead && line("Uid:").split_whitespace().next() == Some(uid.to_string().as_str())
    })
    .collect()
}

/// Ends what runs as a user id, also where the test failed.
struct Reap(u32);

impl Drop for Reap {
    fn drop(&mut self) {
        for _ in 0..500 {
            let left = of_user(self.0);
            if left.is_empty() {
                break;
            }
            for pid in left {
                let _ = spawn::kill(pid, libc::SIGKILL);
            }
        }
    }
}

#[track_caller]
fn assert_gone(uid: u32, limit: Duration, what: &str) {
    if poll(limit, || of_user(uid).is_empty().then_some(())).is_none() {
        let left: Vec<_> = of_user(uid)
            .iter()
            .map(|pid| {
                String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).unwrap_or_default())
                    .into_owned()
            })
            .collect();
        panic!("left of the job after {what}: {left:#?}");
    }
}

/// Starts the job and waits until it says so.
#[track_caller]
fn ready(job: &JobDir) -> Running<'_> {
    let running = job.start();
    let told = poll(secs(20), || job.lines("seen").iter().any(|line| line == "ready").then_some(()));
    assert!(told.is_some(), "the job is not ready: {}\n{}{}", running.trace(), job.stdout(), job.stderr());
    running
}

/// Kills the shepherd, and nothing but the guardian is left to end the job.
fn kill_shepherd(running: &mut Running<'_>) {
    spawn::kill(running.pid(), libc::SIGKILL).expect("killed");
    assert!(running.ends_within(secs(5)).is_some());
}

fn guardians(shepherd: i32) -> Vec<i32> {
    let children = oxherd_tests::process::tree(shepherd);
    children.iter().filter(|p| p.name.starts_with("oxherd-guard")).map(|p| p.pid).collect()
}

fn a_job_that_stops_itself_can_be_deleted(case: &Case) {
    let mut job = case.job();
    job.script("sleep 300 & echo ready >seen; kill -STOP $! $$; sleep 300\n");
    let mut running = ready(&job);
    running.wait_stopped(secs(5));
    running.order_kill();
    running.end().expect_code(0).expect_usage("signal", "9");
}

fn a_child_that_ignores_every_signal_ends_with_a_deletion(case: &Case) {
    let mut job = case.job();
    job.script(
        "perl -e '$SIG{$_} = \"IGNORE\" for keys %SIG; setpgrp; open S, \">>seen\"; print S \"ready\\n\"; close S; \
         sleep 120 while 1' &\nwait\n",
    );
    let mut running = ready(&job);
    running.order_kill();
    running.end().expect_code(0);
    assert!(running.processes().is_empty(), "{:#?}", running.processes());
}

/// The job's process hangs in the opening of its stdout and is the owner's already. It still is a copy of the shepherd.
fn the_program_before_exec_cannot_be_traced_or_read(case: &Case) {
    const TRACER: &str = "for my $p (@ARGV) { print \"attached\\n\" if syscall(101, 16, $p, 0, 0) == 0; \
                          for my $f (qw(mem environ fd/0 maps)) { print \"read $f\\n\" if open F, '<', \"/proc/$p/$f\" } }";
    let mut job = case.job();
    let pipe = job.in_work("pipe");
    assert!(Command::new("mkfifo").args(["-m", "666"]).arg(&pipe).status().expect("mkfifo").success());
    job.set("stdout_path", &pipe);
    let mut running = job.start();
    let owner = job.owner.uid;
    let child = wait_for("the job before exec", secs(10), || {
        let tree = oxherd_tests::process::tree(running.pid());
        tree.iter().find(|p| p.uid == owner && p.name.starts_with("sge_shepherd")).map(|p| p.pid)
    });
    let (uid, gid) = (owner.to_string(), job.owner.gid.to_string());
    let told = Command::new("setpriv")
        .args(["--reuid", &uid, "--regid", &gid, "--clear-groups", "perl", "-e", TRACER, &child.to_string()])
        .output()
        .expect("perl");
    assert_eq!(String::from_utf8_lossy(&told.stdout), "", "of the shepherd's copy, process {child}");
    drop(fs::File::open(&pipe).expect("the other end"));
    running.end();
}

fn a_process_that_the_terminate_method_left_ends_with_the_job(case: &Case) {
    let mut job = case.job();
    let method = job.procedure(
        "method",
        "setsid sleep 300 </dev/null >/dev/null 2>&1 &\nkill -9 $1; while kill -0 $1 2>/dev/null; do sleep 0.02; done; exit 0",
    );
    job.set("terminate_method", &format!("{method} $job_pid"));
    job.script("echo ready >seen; sleep 300\n");
    let mut running = ready(&job);
    running.order_kill();
    running.end().expect_code(0);
    assert!(running.remains().is_empty(), "{:#?}", running.remains());
}

fn a_job_that_kills_all_it_can_reaches_neither_shepherd_nor_guardian(case: &Case) {
    for cgroup in ["none", "auto"] {
        let mut job = case.job();
        let uid = lonely(&mut job, cgroup);
        let _reap = Reap(uid);
        job.script(
            "echo ready >seen; until [ -e go ]; do sleep 0.02; done\n\
                    exec perl -e '$n = 0; for $p (split / /, $ENV{VICTIMS} . `cat victims`) { \
                    for $s (1, 2, 3, 9, 15, 18, 19, 20, 21, 22, 30) { $n += kill $s, $p } } \
                    open T, \">told\"; print T $n; close T; kill 9, -1; kill 9, $$'\n",
        );
        let mut running = ready(&job);
        let guardians = guardians(running.pid());
        assert_eq!(guardians.len(), 1, "{}", running.trace());
        fs::write(job.work().join("victims"), format!("{} {}", running.pid(), guardians[0]))
            .expect("written");
        fs::write(job.work().join("go"), "").expect("written");
        running.end().expect_code(0).expect_usage("signal", "9");
        assert_eq!(job.read("told"), "0", "signals that reached shepherd or guardian");
        assert_gone(uid, secs(1), "its end");
    }
}

/// Four chains at once; each link ends as soon as it has made the next one, in a session of its own.
const CHAINS: &str = "exec perl -e 'for (1 .. 4) { last unless fork } $end = time + 12; \
                      while (time < $end) { $p = fork; exit 0 if $p; syscall(112) }'\n";

fn chains(case: &Case, cgroup: &str, leader: &str) -> (JobDir, u32) {
    let mut job = case.job();
    let uid = lonely(&mut job, cgroup);
    job.set("h_maxproc", "200").set("s_maxproc", "200");
    job.script(&format!("echo ready >seen\n{leader}"));
    (job, uid)
}

fn a_chain_of_forks_is_outrun_by_a_deletion(case: &Case) {
    for cgroup in ["none", "auto"] {
        let (job, uid) = chains(case, cgroup, &format!("({CHAINS}) & sleep 300\n"));
        let _reap = Reap(uid);
        let mut running = ready(&job);
        wait_until("the chains", secs(5), || of_user(uid).len() > 3);
        running.order_kill();
        running.end().expect_code(0).expect_usage("signal", "9");
        assert_gone(uid, Duration::ZERO, "the deletion");
    }
}

fn a_chain_of_forks_is_outrun_by_the_jobs_end(case: &Case) {
    for cgroup in ["none", "auto"] {
        let (job, uid) = chains(case, cgroup, CHAINS);
        let _reap = Reap(uid);
        ready(&job).end().expect_finished(0);
        assert_gone(uid, Duration::ZERO, "its end");
    }
}

fn a_chain_of_forks_is_outrun_by_the_guardian(case: &Case) {
    for cgroup in ["none", "auto"] {
        let (job, uid) = chains(case, cgroup, &format!("({CHAINS}) & sleep 300\n"));
        let _reap = Reap(uid);
        let mut running = ready(&job);
        wait_until("the chains", secs(5), || of_user(uid).len() > 3);
        kill_shepherd(&mut running);
        assert_gone(uid, secs(8), "the shepherd's death");
    }
}

/// Whoever is the parent of all orphans must reap them as fast as they come: the process table is everybody's. The limit
/// keeps this host alive where that fails.
fn a_chain_of_forks_does_not_fill_the_hosts_process_table(case: &Case) {
    const MOST: usize = 500;
    const TEXT: &str = "#include <unistd.h>\n#include <time.h>\nint main() { time_t end = time(0) + 12; close(0); close(1); close(2);\n\
        while (time(0) < end) { setsid(); int p = fork(); if (p > 0) _exit(0); if (p < 0) usleep(1000); } return 0; }\n";
    // Whether a walk over the children falls behind the chain is chance: once in three times.
    for cgroup in ["auto", "none", "none", "none", "none", "none", "none"] {
        let mut job = case.job();
        let uid = lonely(&mut job, cgroup);
        let _reap = Reap(uid);
        let program = compile(&job, "chain", TEXT);
        job.set("h_maxproc", "6000").set("s_maxproc", "6000");
        job.script(&format!("echo ready >seen; {program} & sleep 300\n"));
        let mut running = ready(&job);
        let children = format!("/proc/{0}/task/{0}/children", running.pid());
        let count = || fs::read_to_string(&children).unwrap_or_default().split_whitespace().count();
        let mut most = 0;
        // While it runs, and while it is ended.
        poll(Duration::from_millis(200), || {
            most = most.max(count());
            None::<()>
        });
        let before = most;
        running.order_kill();
        poll(secs(20), || {
            most = most.max(count());
            (!running.is_running()).then_some(())
        });
        running.end().expect_code(0);
        assert!(
            most < MOST,
            "{before} children of the shepherd before the deletion, {most} after it (cgroup {cgroup})"
        );
    }
}

/// Each link lives on and has one child: whoever kills from the top, one generation at a time, is as slow as it grows.
fn a_chain_that_grows_downwards_ends_with_a_deletion(case: &Case) {
    const TEXT: &str = "#include <unistd.h>\n#include <time.h>\nint main() { time_t end = time(0) + 20; close(0); close(1); close(2);\n\
        while (time(0) < end) { int p = fork(); if (p > 0) { sleep(20); return 0; } if (p < 0) usleep(100); } return 0; }\n";
    for cgroup in ["none", "auto"] {
        let mut job = case.job();
        let uid = lonely(&mut job, cgroup);
        let _reap = Reap(uid);
        let program = compile(&job, "down", TEXT);
        job.set("h_maxproc", "2000").set("s_maxproc", "2000");
        job.script(&format!("echo ready >seen; exec {program}\n"));
        let mut running = ready(&job);
        wait_until("the chain", secs(20), || of_user(uid).len() > 500);
        running.order_kill();
        let ended = running.ends_within(secs(2));
        assert!(ended.is_some(), "{} processes are left (cgroup {cgroup})", of_user(uid).len());
        running.end().expect_code(0);
        assert_gone(uid, Duration::ZERO, "the deletion");
    }
}

/// Compiles a program of the attacker's.
fn compile(job: &JobDir, name: &str, text: &str) -> String {
    let (source, program) = (job.root().join(format!("{name}.c")), job.root().join("bin").join(name));
    fs::write(&source, text).expect("written");
    let done = Command::new("cc").arg("-pthread").arg("-o").arg(&program).arg(&source).status();
    assert!(done.expect("a C compiler").success());
    program.to_str().expect("text").to_owned()
}

fn a_first_thread_that_ended_does_not_hide_a_process_from_the_guardian(case: &Case) {
    const TEXT: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n\
        void*f(void*a){for(;;)pause();}int main(){pthread_t t;pthread_create(&t,0,f,0);FILE*o=fopen(\"seen\",\"a\");\
        fprintf(o,\"ready\\n\");fclose(o);pthread_exit(0);}\n";
    let mut job = case.job();
    let uid = lonely(&mut job, "none");
    let _reap = Reap(uid);
    let program = compile(&job, "leaderless", TEXT);
    job.script(&format!("exec {program}\n"));
    let mut running = ready(&job);
    kill_shepherd(&mut running);
    assert_gone(uid, secs(3), "the shepherd's death");
}

/// A process whose name in `/proc/PID/status` is no UTF-8.
const NAMELESS: &str =
    "perl -e '$0 = \"\\xff\\xfe\"; open S, \">>seen\"; print S \"ready\\n\"; close S; sleep 300'";

fn a_name_that_is_no_text_does_not_hide_a_process_from_the_guardian(case: &Case) {
    let mut job = case.job();
    let uid = lonely(&mut job, "none");
    let _reap = Reap(uid);
    job.script(&format!("exec {NAMELESS}\n"));
    let mut running = ready(&job);
    kill_shepherd(&mut running);
    assert_gone(uid, secs(3), "the shepherd's death");
}

/// It comes home to the shepherd while a procedure of root's runs, like something that procedure left.
fn a_name_that_is_no_text_does_not_make_a_process_the_administrators(case: &Case) {
    let mut job = case.job();
    let uid = lonely(&mut job, "none");
    let _reap = Reap(uid);
    let left =
        format!("(until [ -e go ]; do sleep 0.02; done; {NAMELESS} & exit 0) </dev/null >/dev/null 2>&1 &");
    let prolog = job.procedure("prolog", &format!("{left}\nexit 0"));
    let root = job.procedure("start", ">go; until grep -q ready seen; do sleep 0.02; done; exit 0");
    job.pe("mpi", 1).set("prolog", &prolog).set("pe_start", &format!("root@{root}"));
    job.run().expect_finished(0);
    assert_gone(uid, secs(1), "its end");
}

fn a_name_that_is_no_text_does_not_hide_memory(case: &Case) {
    let mut job = case.job();
    let uid = lonely(&mut job, "none");
    let _reap = Reap(uid);
    job.config.insert("ox_cgroup", "ox_job_limits", "1");
    // The kernel's limit is per process: two of them together are above.
    let half = "perl -e '$0 = \"\\xff\\xfe\"; $x = \"x\" x 60000000; sleep 300' &";
    job.set("h_vmem", "150M").set("s_vmem", "150M");
    job.script(&format!("{half}\n{half}\nwait\n"));
    let mut running = job.start();
    assert!(running.ends_within(secs(6)).is_some(), "h_vmem of the job is not enforced");
    running.end().expect_code(37);
}

fn a_process_namespace_of_its_own_ends_with_the_job(case: &Case) {
    let mut job = case.job();
    let uid = lonely(&mut job, "none");
    let _reap = Reap(uid);
    job.script(
        "unshare -Urpf --mount-proc setsid sh -c '(setsid sleep 300 &) ; echo ready >seen; sleep 300' </dev/null \
         >/dev/null 2>&1 &\nuntil [ -e seen ] || ! kill -0 $!; do sleep 0.02; done; echo ready >>seen\n\
         until [ -e go ]; do sleep 0.02; done\n",
    );
    let mut running = ready(&job);
    fs::write(job.work().join("go"), "").expect("written");
    running.end().expect_finished(0);
    assert_gone(uid, Duration::ZERO, "its end");
}

fn a_subreaper_inside_the_job_keeps_nothing(case: &Case) {
    let mut job = case.job();
    let uid = lonely(&mut job, "none");
    let _reap = Reap(uid);
    job.script(
        "perl -e 'exit 0 if fork; syscall(157, 36, 1, 0, 0, 0); syscall(112); for (1 .. 3) { unless (fork) { fork and \
         exit; syscall(112); sleep 300 } } open S, \">>seen\"; print S \"ready\\n\"; close S; sleep 300'\n\
         until [ -s seen ]; do sleep 0.02; done\n",
    );
    ready(&job).end().expect_finished(0);
    assert_gone(uid, Duration::ZERO, "its end");
}

/// CLONE_PARENT makes a child of the caller's parent, here of the shepherd, without an orphan in between.
fn a_sibling_made_by_clone_parent_ends_with_the_job(case: &Case) {
    let mut job = case.job();
    let uid = lonely(&mut job, "none");
    let _reap = Reap(uid);
    job.script(
        "exec perl -e '$p = syscall(56, 0x8000 | 17, 0, 0, 0, 0); if ($p == 0) { syscall(112); sleep 300; exit } \
         open S, \">>seen\"; print S \"ready\\n\"; close S; exit 3'\n",
    );
    let out = ready(&job).end();
    out.expect_finished(3);
    assert_gone(uid, Duration::ZERO, "its end");
}

fn as_many_processes_as_are_allowed_end_with_a_deletion(case: &Case) {
    for cgroup in ["none", "auto"] {
        let mut job = case.job();
        let uid = lonely(&mut job, cgroup);
        let _reap = Reap(uid);
        job.set("h_maxproc", "400").set("s_maxproc", "400");
        job.script(
            "exec perl -e '$SIG{TERM} = \"IGNORE\"; while (1) { $p = fork; unless (defined $p) { unless (-e \"seen\") { \
             open S, \">seen\"; print S \"ready\\n\"; close S } select undef, undef, undef, 0.01 } }'\n",
        );
        let mut running = ready(&job);
        running.order_kill();
        running.end().expect_code(0);
        assert_gone(uid, Duration::ZERO, "the deletion");
    }
}

fn what_a_prolog_of_the_owners_left_is_not_taken_for_the_administrators(case: &Case) {
    let mut job = case.job();
    bare(&mut job);
    let prolog = job.procedure("prolog", "(setsid sleep 300 </dev/null >/dev/null 2>&1 &)\nexit 0");
    let root = job.procedure("root", "exit 0");
    let root = format!("root@{root}");
    job.pe("mpi", 1).set("prolog", &prolog).set("pe_start", &root).set("pe_stop", &root).set("epilog", &root);
    let mut running = job.start();
    running.end().expect_finished(0);
    assert!(running.remains().is_empty(), "{:#?}", running.remains());
}

/// Methods are in the shepherd's session, where SIGCONT needs no right, and SIGCONT is the order to resume. It would
/// reach every other shepherd of the same daemon as well, so that one user's method resumes everybody's jobs.
fn a_method_cannot_resume_a_job_by_a_signal_to_its_shepherd(case: &Case) {
    let mut job = case.job();
    job.set("suspend_method", "/bin/kill -STOP $job_pid; /bin/kill -CONT $PPID; echo told >told");
    job.script("echo ready >seen; sleep 300\n");
    let mut running = ready(&job);
    running.order_suspend();
    wait_until("the method", secs(5), || running.trace().contains("reaped suspend"));
    assert_eq!(job.read("told"), "told\n");
    // The deletion comes after whatever the signal did.
    running.order_kill();
    let out = running.end();
    if case.ours() {
        out.expect_code(0);
        assert!(!out.trace.contains("Continue"), "the job was resumed by its own method: {out:#?}");
    }
}

/// The job's owner has as many processes as allowed, so that the method can do nothing. The site's switch helps.
fn a_method_that_can_do_nothing_saves_the_job_only_until_the_escalation(case: &Case) {
    let mut job = case.job();
    let uid = lonely(&mut job, "none");
    let _reap = Reap(uid);
    job.config.insert("ox_cgroup", "ox_terminate_escalation", "1");
    let method = job.procedure("method", "/bin/kill -9 $1; exit 1");
    job.set("terminate_method", &format!("{method} $job_pid"));
    job.set("h_maxproc", "30").set("s_maxproc", "30");
    job.script(
        "exec perl -e 'while (defined($p = fork)) { unless ($p) { sleep 300; exit } } open S, \">>seen\"; \
         print S \"ready\\n\"; close S; sleep 300'\n",
    );
    let mut running = ready(&job);
    running.order_kill();
    running.end().expect_code(0).expect_usage("signal", "9");
    assert_gone(uid, Duration::ZERO, "the deletion");
}

/// What an owner's prolog leaves computes in the other half of the cgroup: it counts all the same.
fn a_prolog_cannot_leave_something_that_escapes_the_time_limit(case: &Case) {
    let mut job = case.job();
    let uid = lonely(&mut job, "auto");
    let _reap = Reap(uid);
    job.config.insert("ox_cgroup", "ox_job_limits", "1");
    let prolog = job.procedure("prolog", "perl -e 'fork; 1 while 1' </dev/null >/dev/null 2>&1 &\nexit 0");
    job.set("prolog", &prolog).set("h_cpu", "2").set("s_cpu", "2");
    job.script("sleep 300\n");
    let mut running = job.start();
    assert!(running.ends_within(secs(8)).is_some(), "h_cpu of the job is not enforced: {}", running.trace());
    running.end().expect_code(37);
}
