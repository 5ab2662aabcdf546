//! Thousands of jobs one after the other, and jobs of thousands of processes: nothing grows and nothing is left.
//!
//! `OXHERD_SOAK` is how many jobs follow each other (10000 for the full run).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use oxherd_tests::cluster::all_groups;
use oxherd_tests::process::{self, Process};
use oxherd_tests::scratch::directory;
use oxherd_tests::wait::poll;
use oxherd_tests::{Case, JobDir, Running, Stopwatch, both, millis, ours_only, secs, spawn, wait_until};

both![jobs_one_after_the_other_leave_nothing_and_grow_nothing];
ours_only![
    two_thousand_short_children_are_reaped_and_orphans_counted,
    two_hundred_nested_forks_are_reaped_and_counted,
    two_hundred_levels_of_living_processes_end_with_the_job,
];

/// Jobs of the normal run; `OXHERD_SOAK` asks for another number.
const JOBS: usize = 300;
/// Between two looks at everything.
const STRIDE: usize = 50;
/// Jobs at the beginning and at the end whose shepherd's memory is measured.
const MEASURED: usize = 20;
/// Memory in kB that `first` may become: which pages of files a process finds mapped differs from run to run.
const fn same(first: u64) -> u64 {
    first + first / 16
}

/// The tests of this process share its descriptors, so only one of them runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A job directory that is made, used and removed again and again, as execd does.
struct Soak {
    job: JobDir,
    template: PathBuf,
}

impl Soak {
    /// Lets the harness write the directory once, and keeps what execd writes.
    fn new(case: &Case) -> Self {
        let mut job = case.job();
        job.command("/bin/true", &[], true);
        job.run().expect_finished(0);
        let template = job.root().join("template");
        directory(&template, None, 0o755);
        for name in ["config", "environment", "pe_hostfile"] {
            fs::rename(job.path().join(name), template.join(name)).expect("keep the file");
        }
        empty(&job.path());
        // Output of the first run; all others append to the same files.
        Self { job, template }
    }

    fn tmpdir(&self) -> PathBuf {
        self.job.config.get("tmpdir").into()
    }

    fn prepare(&self) {
        let (admin, owner) = (&self.job.admin, &self.job.owner);
        for entry in fs::read_dir(&self.template).expect("the template").flatten() {
            let path = self.job.path().join(entry.file_name());
            fs::copy(entry.path(), &path).expect("copy the file");
            chown(&path, Some(admin.uid), Some(admin.gid)).expect("chown");
        }
        directory(&self.tmpdir(), Some(owner), 0o755);
    }

    fn start(&self) -> Child {
        let mut command = Command::new(self.job.shepherd.path());
        command.arg0(format!("sge_shepherd-{}", self.job.id())).current_dir(self.job.path()).env_clear();
        command
            .env("PATH", "/usr/bin:/bin")
            .env("SGE_ROOT", "/var/lib/gridengine")
            .env("SGE_CELL", "default");
        command.env("OXHERD_TEST", self.job.root());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        spawn::as_execd(&mut command, &self.job.admin);
        command.spawn().expect("start the shepherd")
    }

    /// One job from its directory to the end; the largest memory of its shepherd in kB if `measured`.
    fn once(&self, measured: bool) -> u64 {
        self.prepare();
        let child = self.start();
        let pid = i32::try_from(child.id()).expect("a pid");
        let end = waited(child);
        let mut memory = 0;
        let status = if measured {
            // Up to the last look before its end. What wait4 tells begins with the memory of the test it was forked from.
            loop {
                memory = high_water(pid).unwrap_or(memory);
                match end.recv_timeout(millis(0)) {
                    Err(RecvTimeoutError::Timeout) => {}
                    status => break status,
                }
            }
        } else {
            end.recv_timeout(secs(45))
        };
        let status = status.expect("the shepherd ends");
        let exit_status = fs::read_to_string(self.job.path().join("exit_status"));
        assert_eq!((status.code(), exit_status.ok().as_deref()), (Some(0), Some("0\n")), "the end of a job");
        fs::remove_dir(self.tmpdir()).expect("the TMPDIR is empty");
        memory
    }

    /// The names in the job directory, which is empty then.
    fn clear(&self) -> BTreeSet<String> {
        empty(&self.job.path())
    }

    fn look(&self) -> Look {
        let gid = self.job.id();
        let mut processes = process::carrying(gid);
        processes.extend(process::marked(&self.job.marker()));
        let name = format!("/oxherd-{gid}-");
        let groups = all_groups().into_iter().filter(|group| group.to_string_lossy().contains(&name));
        Look {
            descriptors: fs::read_dir("/proc/self/fd").expect("/proc").count(),
            processes: processes.iter().map(|process| format!("{process:?}")).collect(),
            groups: groups.collect(),
            objects: objects(self.job.owner.uid),
            files: tree(self.job.root()),
        }
    }
}

impl Drop for Soak {
    /// Only a test that failed has anything to end here.
    fn drop(&mut self) {
        let left = || {
            let mut left = process::marked(&self.job.marker());
            left.extend(process::carrying(self.job.id()));
            left
        };
        let _best_effort = poll(secs(5), || {
            let left = left();
            left.iter().for_each(|process| drop(spawn::kill(process.pid, libc::SIGKILL)));
            left.is_empty().then_some(())
        });
    }
}

/// What must be the same after a job as before.
#[derive(Debug, PartialEq, Eq)]
struct Look {
    descriptors: usize,
    processes: Vec<String>,
    groups: Vec<PathBuf>,
    objects: BTreeSet<String>,
    files: BTreeSet<PathBuf>,
}

/// Waits for the shepherd in a thread, so that a hang is found.
fn waited(mut child: Child) -> Receiver<ExitStatus> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        if let Ok(status) = child.wait() {
            let _the_test_may_have_failed = tell.send(status);
        }
    });
    told
}

/// Removes the files of a directory; their names.
fn empty(dir: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(dir).expect("the job directory").flatten() {
        fs::remove_file(entry.path()).expect("nothing but files in the job directory");
        names.insert(entry.file_name().to_string_lossy().into_owned());
    }
    names
}

fn tree(dir: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![dir.to_owned()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
            found.insert(entry.path());
        }
    }
    found
}

/// The System V objects a user has made.
fn objects(uid: u32) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for kind in ["shm", "sem", "msg"] {
        let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let Some(owner) = lines.next().and_then(|head| head.iter().position(|name| *name == "cuid")) else {
            continue;
        };
        let uid = uid.to_string();
        found.extend(
            lines.filter(|row| row.get(owner) == Some(&uid.as_str())).map(|row| format!("{kind} {row:?}")),
        );
    }
    found
}

/// The largest resident memory of a process so far in kB.
fn high_water(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// How many keys root has in the kernel: a session keyring that outlives its job would add one for each.
fn keys() -> i64 {
    let users = fs::read_to_string("/proc/key-users").unwrap_or_default();
    let line = users.lines().find_map(|line| line.trim_start().strip_prefix("0:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.split('/').next()?.parse().ok()).unwrap_or(0)
}

#[allow(clippy::print_stdout)] // what the run is for besides passing
fn figures(line: &str) {
    println!("{line}");
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

fn jobs_one_after_the_other_leave_nothing_and_grow_nothing(case: &Case) {
    let _alone = alone();
    let wanted: usize = std::env::var("OXHERD_SOAK").map_or(JOBS, |text| text.parse().expect("a number"));
    // The stock shepherd takes many times as long for each and only shows that the expectation is a fair one.
    let jobs = if case.ours() { wanted } else { wanted.min(JOBS) };
    assert!(jobs >= 2 * MEASURED, "OXHERD_SOAK is at least {}", 2 * MEASURED);
    let soak = Soak::new(case);
    // The TMPDIR comes and goes with each job.
    fs::remove_dir(soak.tmpdir()).expect("the TMPDIR is empty");
    let (mut first, mut last) = (Vec::new(), Vec::new());
    soak.once(false);
    let names = soak.clear();
    let before = soak.look();
    assert!(before.processes.is_empty() && before.groups.is_empty(), "{before:#?}");
    let keys_before = keys();
    let watch = Stopwatch::start();
    for number in 0..jobs {
        let memory = soak.once(number < MEASURED || number >= jobs - MEASURED);
        if number < MEASURED {
            first.push(memory);
        } else if number >= jobs - MEASURED {
            last.push(memory);
        }
        assert_eq!(soak.clear(), names, "the files of job {number}");
        if number % STRIDE == STRIDE - 1 || number == jobs - 1 {
            // The guardian may outlive its shepherd by an instant, and the kernel removes objects when it finds time.
            if poll(secs(10), || (soak.look() == before).then_some(())).is_none() {
                assert_eq!(soak.look(), before, "after {} jobs", number + 1);
            }
        }
    }
    let took = watch.elapsed().as_secs_f64();
    let output =
        fs::metadata(soak.job.in_work(&format!("sim.o{}", soak.job.id()))).map_or(0, |file| file.len());
    assert_eq!(output, 0, "the jobs write nothing");
    let (first, last, more_keys) = (median(first), median(last), keys() - keys_before);
    figures(&format!(
        "{:?}: {jobs} jobs in {took:.1} s, {:.0} a second with all checks; shepherd {first} kB, at the end {last} kB; \
         {more_keys} more keys of root, {} descriptors",
        case.shepherd,
        f64::from(u32::try_from(jobs).expect("not that many")) / took,
        before.descriptors,
    ));
    assert!(last <= same(first), "the memory of the shepherd: {first} kB at first, {last} kB at last");
    assert!(more_keys < i64::try_from(jobs / 2).expect("not that many"), "{more_keys} more keys of root");
}

/// Children of the shepherd that have ended and were not waited for.
fn zombies(running: &Running<'_>) -> usize {
    let pid = running.pid();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children: Vec<i32> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    children.into_iter().filter(|pid| Process::read(*pid).is_none()).count()
}

/// The job's CPU time by the report in seconds.
fn cpu(outcome: &oxherd_tests::Outcome) -> f64 {
    outcome.usage_number("ru_utime") + outcome.usage_number("ru_stime")
}

#[track_caller]
fn nothing_left(job: &JobDir) {
    let left = || {
        let mut left = process::carrying(job.id());
        left.extend(process::marked(&job.marker()));
        left
    };
    if poll(secs(10), || left().is_empty().then_some(())).is_none() {
        panic!("left: {:#?}", left());
    }
    let name = format!("/oxherd-{}-", job.id());
    let groups = || all_groups().into_iter().filter(|group| group.to_string_lossy().contains(&name)).count();
    wait_until("the control group to be gone", secs(10), || groups() == 0);
}

fn two_thousand_short_children_are_reaped_and_orphans_counted(case: &Case) {
    let _alone = alone();
    let mut job = case.job();
    // 1960 children, half of them orphans, and 40 orphans that use 0.05 s each and leave a file.
    let orphan = job.procedure(
        "orphan",
        "exec perl -e 'for (;;) { my ($u, $s) = times; last if $u + $s >= 0.05 } open F, \">done.$ARGV[0]\"' $1",
    );
    job.script(&format!(
        "echo ready >seen; until [ -e go ]; do sleep 0.05; done\n\
         i=0; while [ $i -lt 980 ]; do /bin/true & (/bin/true &); i=$((i+1)); [ $((i % 50)) = 0 ] && wait; done\n\
         i=0; while [ $i -lt 40 ]; do (setsid {orphan} $i &); i=$((i+1)); done\n\
         i=0; while [ $i -lt 40 ]; do if [ -e done.$i ]; then i=$((i+1)); else sleep 0.05; fi; done\n\
         echo all >>seen; until [ -e stop ]; do sleep 0.05; done; exit 4\n"
    ));
    let mut running = job.start_ready();
    let before = high_water(running.pid()).expect("the shepherd runs");
    let watch = Stopwatch::start();
    fs::write(job.in_work("go"), "").expect("let it go");
    // 2000 forks on a host with other work.
    wait_until("all children", secs(120), || job.lines("seen").iter().any(|line| line == "all"));
    let took = watch.elapsed().as_secs_f64();
    wait_until("the orphans to be reaped while the job runs", secs(10), || zombies(&running) == 0);
    let after = high_water(running.pid()).expect("the shepherd runs");
    fs::write(job.in_work("stop"), "").expect("let it end");
    let outcome = running.end();
    outcome.expect_finished(4);
    figures(&format!(
        "2000 children in {took:.1} s: {:.2} s of CPU; shepherd {before} kB, then {after} kB",
        cpu(&outcome)
    ));
    assert!(cpu(&outcome) >= 0.95 * 40.0 * 0.05, "the CPU time of the orphans counts: {outcome:#?}");
    assert!(after <= same(before), "the memory of the shepherd: {before} kB, then {after} kB");
    nothing_left(&job);
}

/// Each level uses 0.01 s, forks the next and ends: 200 orphans in a row.
const CHAIN: &str = "exec perl -e 'for my $n (1..200) { for (;;) { my ($u, $s) = times; last if $u + $s >= 0.01 } \
                     my $p = fork; defined $p or die; exit if $p } open F, \">bottom\"; sleep 1 until -e \"stop\"'";

fn two_hundred_nested_forks_are_reaped_and_counted(case: &Case) {
    let _alone = alone();
    let mut job = case.job();
    let chain = job.procedure("chain", CHAIN);
    job.script(&format!("{chain} & until [ -e stop ]; do sleep 0.05; done; exit 5\n"));
    let mut running = job.start();
    wait_until("the last level", secs(120), || Path::new(&job.in_work("bottom")).exists());
    wait_until("the levels above to be reaped while the job runs", secs(10), || zombies(&running) == 0);
    fs::write(job.in_work("stop"), "").expect("let it end");
    let outcome = running.end();
    outcome.expect_finished(5);
    figures(&format!("200 orphans in a row: {:.2} s of CPU", cpu(&outcome)));
    assert!(cpu(&outcome) >= 0.95 * 200.0 * 0.01, "the CPU time of the orphans counts: {outcome:#?}");
    nothing_left(&job);
}

fn two_hundred_levels_of_living_processes_end_with_the_job(case: &Case) {
    let _alone = alone();
    let mut job = case.job();
    let levels = job.procedure(
        "levels",
        "[ $1 = 0 ] && { echo bottom >seen; exec sleep 300; }\n[ $(($1 % 10)) = 0 ] && new=setsid\n\
         $new $0 $(($1 - 1)) & wait",
    );
    job.script(&format!("{levels} 200\n"));
    let mut running = job.start();
    wait_until("the last level", secs(60), || job.lines("seen") == ["bottom"]);
    let alive = running.processes().len();
    assert!(alive >= 200, "{alive} processes of the job");
    running.order_kill();
    let outcome = running.end();
    outcome.expect_usage("signal", "9");
    nothing_left(&job);
}
