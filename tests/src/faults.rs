//! Faults on purpose: one system call of a job's life fails, is cut short, or is the shepherd's last.
//!
//! A run takes place in a process namespace of its own whose init is the tracer `faults.pl`, so nothing of a fault
//! outlives its test. A clean run gives the list of calls; the cases are made of it ([`cases`]), and each result is
//! judged from outside ([`Run::broken`]): by the rules execd draws its conclusion by, by what the job left, and by
//! what still runs. docs/decisions/003-faults.md says why the tracer is not strace.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use crate::job_dir::JobDir;
use crate::outcome::Outcome;
use crate::process::{self, Process};
use crate::program::Shepherd;
use crate::scratch::file;
use crate::spawn;
use crate::wait::{Stopwatch, poll, secs};

/// The tracer.
const TRACER: &str = include_str!("faults.pl");
/// A run that takes longer hangs: the slowest clean one takes half a second.
const LIMIT: Duration = secs(10);
/// What is left of a job has this long to end after the shepherd was killed.
pub const ORPHAN_LIMIT: Duration = secs(1);
/// The codes after which qmaster starts a job again, at once or when somebody clears its error state. A job that ran
/// must have none of them; 25 and 30 are what the job asks for, 15 is the contract of a failing epilog.
pub const NOT_RUN: [u32; 8] = [7, 8, 9, 10, 11, 26, 27, 28];
/// Every code that docs/handoff.md knows, and those execd concludes itself.
const DOCUMENTED: [u32; 22] =
    [0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 24, 25, 26, 27, 28, 29, 30, 37, 38];

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    Fails(i32),
    Short,
    Kill,
    KillAfter,
    /// The shepherd dies, and the process goes on when the guardian is gone.
    Strand,
}

/// The errors by name, as the cases are told.
const ERRORS: [(&str, i32); 10] = [
    ("ENOSPC", libc::ENOSPC),
    ("EIO", libc::EIO),
    ("EMFILE", libc::EMFILE),
    ("EAGAIN", libc::EAGAIN),
    ("EPERM", libc::EPERM),
    ("EINTR", libc::EINTR),
    ("EACCES", libc::EACCES),
    ("ENOMEM", libc::ENOMEM),
    ("EINVAL", libc::EINVAL),
    ("ENOENT", libc::ENOENT),
];

/// One call of one process, and what becomes of it. In text: `shepherd:openat#3=ENOSPC`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    pub role: String,
    pub call: String,
    pub nth: u32,
    pub deed: Deed,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}#{}=", self.role, self.call, self.nth)?;
        match self.deed {
            Deed::Fails(number) => {
                let name = ERRORS.iter().find(|(_, known)| *known == number).map_or("?", |(name, _)| name);
                f.write_str(name)
            }
            Deed::Short => f.write_str("short"),
            Deed::Kill => f.write_str("kill"),
            Deed::KillAfter => f.write_str("kill-after"),
            Deed::Strand => f.write_str("strand"),
        }
    }
}

impl Fault {
    /// Reads the text form.
    pub fn parse(text: &str) -> Option<Self> {
        let (role, rest) = text.split_once(':')?;
        let (call, rest) = rest.split_once('#')?;
        let (nth, deed) = rest.split_once('=')?;
        let deed = match deed {
            "short" => Deed::Short,
            "kill" => Deed::Kill,
            "kill-after" => Deed::KillAfter,
            "strand" => Deed::Strand,
            name => Deed::Fails(ERRORS.iter().find(|(known, _)| *known == name)?.1),
        };
        Some(Self { role: role.to_owned(), call: call.to_owned(), nth: nth.parse().ok()?, deed })
    }

    /// As the tracer reads it.
    fn order(&self) -> String {
        let deed = match self.deed {
            Deed::Fails(number) => number.to_string(),
            _ => self.to_string().rsplit('=').next().unwrap_or_default().to_owned(),
        };
        format!("{}:{}#{}={deed}", self.role, self.call, self.nth)
    }
}

/// A kind of job.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    pub name: &'static str,
    /// The shepherd's children in the order of their forks.
    pub roles: &'static str,
    pub prepare: fn(&mut JobDir),
    /// A kill order is sent when the job runs.
    pub killed: bool,
    /// The shepherd makes and removes TMPDIR.
    pub tmpdir: bool,
    /// A directory in the working directory whose file system never answers.
    pub hung: Option<&'static str>,
    /// Arguments of unshare: more namespaces.
    pub namespaces: &'static [&'static str],
}

/// What a job of every scenario does first: it counts its runs.
pub const COUNTED: &str = "echo ran >>runs\n";

/// One call of a clean run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub role: String,
    pub name: String,
    pub nth: u32,
    pub about: String,
}

/// What came of a run.
#[derive(Debug)]
pub struct Run {
    pub scenario: Scenario,
    pub fault: Option<Fault>,
    /// The fault was met; a call may not be made in every run.
    pub met: bool,
    /// The shepherd did not end by itself.
    pub hung: Option<String>,
    pub outcome: Outcome,
    /// What execd concludes.
    pub failed: u32,
    pub has_exit_status: bool,
    pub runs: usize,
    pub calls: Vec<Call>,
    /// What the spoiled call was about.
    pub about: String,
    /// What still runs when [`ORPHAN_LIMIT`] is over.
    pub left: Vec<Process>,
    /// How long it took until nothing of the job ran any more.
    pub gone_after: Duration,
    pub cgroups: Vec<PathBuf>,
    pub tmpdirs: Vec<PathBuf>,
}

/// The init of a namespace; all of it ends with this.
struct Namespace(Child);

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        if poll(secs(2), || self.0.try_wait().ok().flatten()).is_none() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

impl Scenario {
    /// Runs a job of this kind with one fault, or with none.
    pub fn run(&self, fault: Option<&Fault>) -> Run {
        let mut job = JobDir::new(Shepherd::Ours);
        // It stands in the way of the one the shepherd is to make.
        fs::remove_dir(job.config.get("tmpdir")).expect("the TMPDIR of the harness is empty");
        if !self.tmpdir {
            let path = PathBuf::from(job.config.get("tmpdir"));
            crate::scratch::directory(&path, Some(&job.owner), 0o755);
        }
        (self.prepare)(&mut job);
        write_files(&job);
        let (log, result) = (job.root().join("calls"), job.root().join("result"));
        let before = cgroups(job.id());
        let mut namespace = self.start(&job, fault, &log, &result);
        let mut ordered = !self.killed;
        let status = poll(LIMIT, || {
            let ready = || match self.hung {
                // Its child waits there or is on its way.
                Some(_) => !process::carrying(job.id()).is_empty(),
                None => !job.lines("runs").is_empty(),
            };
            if !ordered && ready() {
                ordered = shepherd(&job)
                    .is_some_and(|pid| spawn::signal_as_admin(pid, libc::SIGTSTP, &job.admin).is_ok());
            }
            read_result(&result).or_else(|| {
                // The tracer itself broke.
                namespace.0.try_wait().ok().flatten().map(|_| (ExitStatus::from_raw(0xff00), false))
            })
        });
        let hung = status.is_none().then(|| hang(&job));
        let watch = Stopwatch::start();
        let new_cgroups = || {
            let mut found = cgroups(job.id());
            found.retain(|path| !before.contains(path));
            found
        };
        let gone = poll(ORPHAN_LIMIT, || remains(&job).is_empty().then_some(()));
        let gone_after = watch.elapsed();
        let left = if gone.is_some() { Vec::new() } else { remains(&job) };
        let (status, met) = status.unwrap_or((ExitStatus::from_raw(9), fault.is_some()));
        let cgroups = new_cgroups();
        drop(namespace);
        for path in &cgroups {
            for directory in [path.join("job"), path.join("procedures"), path.clone()] {
                let _ = fs::remove_dir(directory);
            }
        }
        let (calls, about) = read_log(&log);
        let outcome = Outcome::read(&job.path(), status);
        Run {
            scenario: *self,
            fault: fault.cloned(),
            met,
            hung,
            has_exit_status: job.path().join("exit_status").exists(),
            failed: failed(&job.path(), &outcome),
            outcome,
            runs: job.lines("runs").len(),
            calls,
            about,
            left,
            gone_after,
            cgroups,
            tmpdirs: entries(&job.root().join("tmp")),
        }
    }

    fn start(&self, job: &JobDir, fault: Option<&Fault>, log: &Path, result: &Path) -> Namespace {
        let tracer = job.root().join("faults.pl");
        file(&tracer, TRACER, None, 0o644);
        let mut command = Command::new("unshare");
        command
            .args(self.namespaces)
            .args(["--fork", "--pid", "--mount-proc", "--kill-child", "perl"])
            .arg(&tracer);
        command
            .arg(format!("{}:{}", job.admin.uid, job.admin.gid))
            .arg(format!("{:016x}", spawn::EXECD_BLOCKED));
        command
            .arg(self.roles)
            .arg(fault.map_or_else(|| "none".to_owned(), Fault::order))
            .arg(log)
            .arg(result);
        command.arg(job.shepherd.path()).arg(format!("sge_shepherd-{}", job.id()));
        command.current_dir(job.path()).env_clear();
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("SGE_ROOT", "/var/lib/gridengine").env("SGE_CELL", "default");
        command.env("OXHERD_TEST", job.root());
        if let Some(name) = self.hung {
            let path = job.work().join(name);
            crate::scratch::directory(&path, Some(&job.owner), 0o755);
            command.env("OXHERD_HUNG", path);
        }
        let errors = fs::File::create(job.root().join("tracer.err")).expect("a file in the test's directory");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(errors);
        Namespace(command.spawn().unwrap_or_else(|error| panic!("start unshare: {error}")))
    }
}

/// What [`JobDir::start`] writes before it starts.
pub fn write_files(job: &JobDir) {
    let admin = Some(&job.admin);
    let host = process::host_name();
    file(&job.path().join("pe_hostfile"), &format!("{host} 1 all.q@{host} UNDEFINED\n"), admin, 0o644);
    let id = job.id().to_string();
    let spool = job.path().display().to_string();
    let home = job.owner.home.display().to_string();
    let pairs = [
        ("PATH", "/usr/local/bin:/bin:/usr/bin"),
        ("HOME", home.as_str()),
        ("SHELL", "/bin/sh"),
        ("USER", job.owner.name.as_str()),
        ("LOGNAME", job.owner.name.as_str()),
        ("JOB_ID", id.as_str()),
        ("TMPDIR", job.config.get("tmpdir")),
        ("TMP", job.config.get("tmpdir")),
        ("SGE_TASK_ID", "undefined"),
        ("SGE_JOB_SPOOL_DIR", spool.as_str()),
    ];
    let mut text: String = pairs.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    text.push_str(&job.marker());
    text.push('\n');
    file(&job.path().join("environment"), &text, admin, 0o644);
    file(&job.path().join("config"), &job.config.text(), admin, 0o644);
}

/// Everything of a test but the tracer and the tool that started it.
fn remains(job: &JobDir) -> Vec<Process> {
    let mut found = process::carrying(job.id());
    found.extend(process::marked(&job.marker()));
    found.sort_by_key(|process| process.pid);
    found.dedup_by_key(|process| process.pid);
    found.retain(|process| !matches!(process.name.as_str(), "unshare" | "perl"));
    found
}

fn shepherd(job: &JobDir) -> Option<i32> {
    process::marked(&job.marker())
        .into_iter()
        // The second name is that of a shepherd whose renaming failed.
        .find(|process| matches!(process.name.as_str(), "sge_shepherd" | "oxherd-shepherd"))
        .map(|process| process.pid)
}

/// What a shepherd that does not end is doing.
fn hang(job: &JobDir) -> String {
    let place = |process: Process| {
        let read = |name: &str| {
            fs::read_to_string(format!("/proc/{}/{name}", process.pid)).unwrap_or_default().trim().to_owned()
        };
        format!("{} {} {} [{}]", process.name, process.state, read("wchan"), read("syscall"))
    };
    remains(job).into_iter().map(place).collect::<Vec<_>>().join("; ")
}

fn read_result(path: &Path) -> Option<(ExitStatus, bool)> {
    let text = fs::read_to_string(path).ok()?;
    let (status, met) = text.trim().split_once(' ')?;
    Some((ExitStatus::from_raw(status.parse().ok()?), met == "1"))
}

fn read_log(path: &Path) -> (Vec<Call>, String) {
    let text = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let mut calls: Vec<Call> = Vec::new();
    let mut spoiled = String::new();
    for line in text.lines() {
        if line == "FAULT" {
            spoiled = calls.last().map(|call| call.about.clone()).unwrap_or_default();
            continue;
        }
        let mut words = line.splitn(4, ' ');
        let (Some(role), Some(name), Some(nth)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let Ok(nth) = nth.parse() else { continue };
        let about = words.next().unwrap_or_default().to_owned();
        calls.push(Call { role: role.to_owned(), name: name.to_owned(), nth, about });
    }
    (calls, spoiled)
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory)
        .map_or_else(|_| Vec::new(), |all| all.flatten().map(|entry| entry.path()).collect())
}

/// The cgroups that a job left, below that of the test.
fn cgroups(id: u32) -> Vec<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(below) = own.lines().find_map(|line| line.strip_prefix("0::/")) else { return Vec::new() };
    ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]
        .into_iter()
        .flat_map(|mount| entries(&Path::new(mount).join(below)))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with(&format!("oxherd-{id}-"))
        })
        .collect()
}

/// The `failed` that execd concludes (spec §5, observed).
pub fn failed(dir: &Path, outcome: &Outcome) -> u32 {
    let own = u32::try_from(outcome.status.code().unwrap_or(0)).unwrap_or(0);
    let first = outcome.exit_status.first().and_then(|line| line.trim().parse().ok());
    let mut failed = match first {
        Some(number) => number,
        None if own != 0 => own,
        None if dir.join("exit_status").exists() => 19,
        None => 7,
    };
    if failed == 0 && !outcome.error.is_empty() {
        failed = 20;
    }
    if failed == 0 || failed > 11 {
        match &outcome.usage {
            None if failed == 0 => failed = 100,
            Some(usage) if usage.get("signal").is_some_and(|signal| signal != "0") => failed = 100,
            _ => {}
        }
    }
    if dir.join("checkpointed").exists() { 24 } else { failed }
}

impl Run {
    fn shepherd_was_killed(&self) -> bool {
        let kills = |fault: &Fault| match fault.deed {
            Deed::Kill | Deed::KillAfter => fault.role == "shepherd",
            Deed::Strand => true,
            _ => false,
        };
        self.met && self.fault.as_ref().is_some_and(kills)
    }

    /// The promises of the shepherd that were not kept.
    pub fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        let failed = self.failed;
        let spoiled = |part: &str| self.met && self.about.contains(part);
        if let Some(hang) = &self.hung {
            broken.push(format!("the shepherd did not end within {LIMIT:?}: {hang}"));
        }
        let killed = self.shepherd_was_killed();
        if let Some(signal) = self.outcome.status.signal().filter(|_| self.hung.is_none() && !killed) {
            broken.push(format!("the shepherd died of signal {signal}"));
        }
        if !DOCUMENTED.contains(&failed) && failed != 100 {
            broken.push(format!("{failed} is no documented code"));
        }
        // A job that was deleted during its prolog has no usage, and execd words that itself.
        let deleted = self.outcome.trace.contains("the job is ended before it started");
        let worded = failed == 100 && (self.outcome.usage.is_some() || deleted);
        let silent = self.outcome.error.is_empty() && !worded;
        if failed != 0 && silent && !self.shepherd_was_killed() && !spoiled("/error") && failed != 24 {
            broken.push(format!("failed {failed} without a text"));
        }
        if self.runs > 1 {
            broken.push(format!("the job ran {} times", self.runs));
        }
        if failed == 0 && self.runs != 1 {
            broken.push(format!("success, and the job ran {} times", self.runs));
        }
        if self.runs > 0 && NOT_RUN.contains(&failed) {
            broken.push(format!("the job ran, and {failed} has it started again"));
        }
        if self.runs > 0 && self.scenario.roles.contains("job") && self.outcome.addgrpid.is_none() {
            // execd starts the job's clock when it finds this file: without it no h_rt holds (observed).
            broken.push("the job ran without addgrpid: execd enforces no limit".to_owned());
        }
        if !self.left.is_empty() {
            let left: Vec<String> = self.left.iter().map(|p| format!("{} {}", p.name, p.pid)).collect();
            broken.push(format!("{ORPHAN_LIMIT:?} after the shepherd there still is: {}", left.join(", ")));
        }
        // Without root, or where the removal itself fails, the empty directory stays.
        let privileges = self.met
            && self.fault.as_ref().is_some_and(|f| f.role == "shepherd" && f.call.starts_with("setres"));
        if !self.cgroups.is_empty()
            && !spoiled("/sys/fs/cgroup")
            && !privileges
            && !self.shepherd_was_killed()
        {
            broken.push(format!("cgroups are left: {:?}", self.cgroups));
        }
        // A removal that fails, or cannot be started, is told.
        let told = ["TMPDIR could not", "TMPDIR is not", "can't start the removal of TMPDIR"]
            .iter()
            .any(|sentence| self.outcome.trace.contains(sentence));
        let excused = killed || (self.met && told);
        if self.scenario.tmpdir && !self.tmpdirs.is_empty() && !excused {
            broken.push(format!("TMPDIR is left: {:?}", self.tmpdirs));
        }
        broken
    }

    /// One line for the table of results.
    pub fn line(&self) -> String {
        let fault = self.fault.as_ref().map_or_else(|| "none".to_owned(), Fault::to_string);
        let met = if self.met { "" } else { " (not met)" };
        format!(
            "{} {fault}{met} [{}] -> {} failed {} runs {} error {:?}",
            self.scenario.name,
            self.about,
            self.outcome.status,
            self.failed,
            self.runs,
            self.outcome.error.first(),
        )
    }
}

/// The calls that matter, and the errors that make sense for each.
pub fn errors_of(call: &str) -> &'static [i32] {
    use libc::{EACCES, EAGAIN, EINTR, EINVAL, EIO, EMFILE, ENOENT, ENOMEM, ENOSPC, EPERM};
    match call.split('@').next().unwrap_or(call) {
        "openat" | "openat2" => &[EMFILE, EIO, EACCES, ENOSPC, ENOENT],
        "read" => &[EIO, EINTR, EAGAIN],
        "write" => &[ENOSPC, EIO, EINTR, EAGAIN],
        "rename" | "renameat" | "renameat2" => &[ENOSPC, EIO, EACCES],
        "mkdir" | "mkdirat" => &[ENOSPC, EACCES, EIO],
        "unlink" | "unlinkat" | "rmdir" => &[EIO, EACCES],
        "clone" | "clone3" | "fork" | "vfork" => &[EAGAIN, ENOMEM],
        "pipe2" | "signalfd4" => &[EMFILE],
        "setresuid" | "setresgid" | "setreuid" | "setregid" | "setuid" | "setgid" => &[EPERM, EAGAIN],
        "setgroups" | "setsid" | "setpgid" | "setpriority" => &[EPERM],
        "prlimit64" | "setrlimit" => &[EPERM, EINVAL],
        "dup2" | "dup3" | "fcntl" => &[EMFILE, EINTR],
        "chdir" | "fchdir" => &[EACCES, EIO],
        "execve" => &[EAGAIN, ENOMEM, EACCES, EIO],
        "wait4" => &[EINTR, EINVAL],
        "ppoll" => &[EINTR, ENOMEM, EINVAL],
        "pidfd_open" => &[EMFILE, ENOMEM],
        "pidfd_send_signal" | "kill" => &[EPERM],
        "close_range" | "prctl" => &[EINVAL],
        "getdents64" => &[EIO],
        "fdatasync" | "fsync" => &[EIO, ENOSPC],
        "fchown" | "fchownat" | "fchmod" => &[EPERM, EIO],
        "statx" | "newfstatat" | "fstat" => &[EIO, EACCES],
        "socket" | "connect" => &[EMFILE],
        "getrandom" => &[EINTR],
        _ => &[],
    }
}

/// The cases of a clean run. Without `full` each call fails once, the errors taking turns, and what repeats itself
/// is met at its first, second and last time.
pub fn cases(clean: &Run, full: bool) -> Vec<Fault> {
    let mut last: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for call in &clean.calls {
        last.insert((&call.role, &call.name), call.nth);
    }
    let mut cases = Vec::new();
    let mut turn = 0;
    for call in &clean.calls {
        let fault = |deed| Fault { role: call.role.clone(), call: call.name.clone(), nth: call.nth, deed };
        let errors = errors_of(&call.name);
        let scan = call.name.ends_with("@proc");
        let final_one = last.get(&(call.role.as_str(), call.name.as_str())) == Some(&call.nth);
        if errors.is_empty() || (scan && call.nth > 2 && !final_one && !(full && call.nth <= 12)) {
            continue;
        }
        if full {
            cases.extend(errors.iter().map(|error| fault(Deed::Fails(*error))));
        } else {
            cases.push(fault(Deed::Fails(errors[turn % errors.len()])));
            turn += 1;
        }
        if call.name == "write" && (full || turn % 2 == 0) {
            cases.push(fault(Deed::Short));
        }
    }
    cases
}

/// The shepherd's death before and after every call of its own in a clean run.
pub fn deaths(clean: &Run, full: bool) -> Vec<Fault> {
    let mut cases = Vec::new();
    let shepherds = clean.calls.iter().filter(|call| call.role == "shepherd");
    for call in shepherds.filter(|call| !call.name.ends_with("@proc") || call.nth <= 2) {
        let fault = |deed| Fault { role: call.role.clone(), call: call.name.clone(), nth: call.nth, deed };
        cases.push(fault(Deed::KillAfter));
        // Before a call is after the last one, but for what other processes do meanwhile.
        if full || matches!(call.name.as_str(), "ppoll" | "exit_group") {
            cases.push(fault(Deed::Kill));
        }
    }
    cases
}

/// The shepherd's death while a child is on its way to exec, at each of its calls.
pub fn strandings(clean: &Run, role: &str) -> Vec<Fault> {
    let children = clean.calls.iter().filter(|call| call.role == role);
    let fault = |call: &Call| Fault {
        role: call.role.clone(),
        call: call.name.clone(),
        nth: call.nth,
        deed: Deed::Strand,
    };
    children.map(fault).collect()
}

/// Runs cases two at a time and returns what broke, with the line of each run for the record.
pub fn run_all(scenario: &Scenario, cases: Vec<Fault>) -> (Vec<Run>, Vec<String>) {
    let queue = Mutex::new(cases.into_iter());
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let next = queue.lock().expect("no worker panics with the lock").next();
            let Some(fault) = next else { return };
            let run = scenario.run(Some(&fault));
            done.lock().expect("no worker panics with the lock").push(run);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let runs = done.into_inner().expect("all workers are done");
    let broken = runs
        .iter()
        .flat_map(|run| {
            run.broken().into_iter().map(|what| format!("{what}\n    {}", run.line())).collect::<Vec<_>>()
        })
        .collect();
    (runs, broken)
}

/// Makes a pipe with a name in the working directory, of the job owner; who opens it waits for the other side.
pub fn fifo(job: &JobDir, name: &str) -> String {
    let path = job.work().join(name);
    let status = Command::new("mkfifo").arg("--mode=0600").arg(&path).status().expect("mkfifo is there");
    assert!(status.success(), "mkfifo {}", path.display());
    std::os::unix::fs::chown(&path, Some(job.owner.uid), Some(job.owner.gid)).expect("chown");
    path.display().to_string()
}

/// A line of a test's record; the runner shows it when the test fails.
#[allow(clippy::print_stdout)] // the table of what came of each case
pub fn record(text: &str) {
    println!("{text}");
}
