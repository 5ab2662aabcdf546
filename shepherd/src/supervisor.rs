//! The loop: waits for signals, children and time, tells the machine, and does what it says.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use oxherd_handoff::{ExitState, Key, Usage, files, signal};
use oxherd_sys::process::{self, Fork, Pid, Reaped, Rusage, Status};
use oxherd_sys::signals::SignalFd;
use oxherd_sys::{clock, fd, poll};

use crate::cgroup::{self, Cgroup, Leaf};
use crate::containment::Containment;
use crate::guardian::Guardian;
use crate::job::{self, Child};
use crate::journal::Journal;
use crate::limit::Sample;
use crate::machine::{Action, Control, End, Event, JobEnd, KILL, Machine, Order, Scope, Step};
use crate::privilege::Privilege;
use crate::procfs;
use crate::spec::{Refusal, Spec};
use crate::step::credentials::Identity;
use crate::step::limits::Limits;
use crate::step::procedure;
use crate::tmpdir;

/// How long a sweep spins before it waits for the next ended child: chains that fork without end are outrun this way.
const SPIN: usize = 2_000;
/// When a sweep looks again although nothing was heard.
const SWEEP_PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Step(Step),
    Method(Control),
    Remover,
}

/// What a child says before exec.
struct Report {
    pipe: File,
    bytes: Vec<u8>,
    about: Role,
}

/// The shepherd of one job.
pub struct Supervisor {
    spec: Spec,
    limits: Limits,
    privilege: Privilege,
    journal: Journal,
    signals: SignalFd,
    containment: Containment,
    guardian: Option<Guardian>,
    /// Whether there is to be one.
    guarded: bool,
    machine: Machine,
    children: Vec<(Pid, Role)>,
    reports: Vec<Report>,
    job: Option<Pid>,
    job_exit: Option<u8>,
    /// What the job's reaped processes used.
    usage: Rusage,
    started_at: Duration,
    sweeping: Option<Scope>,
    /// A step was started before.
    children_ran: bool,
    done: bool,
}

impl std::fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Supervisor").field("machine", &self.machine).finish_non_exhaustive()
    }
}

impl Supervisor {
    /// Prepares a job; nothing of it runs yet.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn new(
        mut spec: Spec,
        privilege: Privilege,
        mut journal: Journal,
        signals: SignalFd,
    ) -> Result<Self, (Refusal, Journal)> {
        let prepared = (|| {
            let plan = spec.plan()?;
            spec.bind();
            let limits =
                Limits::parse(&spec).map_err(|text| Refusal { state: ExitState::BeforeJob, text })?;
            if plan.remove_tmpdir {
                tmpdir::make(&mut spec, privilege)?;
            }
            Ok((plan, limits))
        })();
        let (plan, limits) = match prepared {
            Ok(prepared) => prepared,
            Err(refusal) => return Err((refusal, journal)),
        };
        journal.set_fsync(spec.config.flag(Key::OxFsync, false).unwrap_or(false));
        let cgroup = if spec.switches.cgroup && plan.sweep {
            let name = cgroup::name(&spec.job_name(), Pid::current().number());
            match privilege.as_root(|| Cgroup::make(&name)) {
                Ok(cgroup) => {
                    journal.trace(&format!("cgroup {}", cgroup.path().display()));
                    Some(cgroup)
                }
                Err(lack) => {
                    journal.trace(&format!("no cgroup for the job: {lack}"));
                    None
                }
            }
        } else {
            None
        };
        let containment = Containment::new(privilege, cgroup, spec.add_grp_id(), plan.sweep);
        for remark in spec.remarks.iter().chain(&containment.remarks()) {
            journal.trace(remark);
        }
        Ok(Self {
            spec,
            limits,
            privilege,
            journal,
            signals,
            containment,
            guardian: None,
            guarded: plan.sweep,
            machine: Machine::new(plan),
            children: Vec::new(),
            reports: Vec::new(),
            job: None,
            job_exit: None,
            usage: Rusage::default(),
            started_at: Duration::ZERO,
            sweeping: None,
            children_ran: false,
            done: false,
        })
    }

    /// Runs the job to its end and returns the code that decides.
    pub fn run(mut self) -> ExitState {
        self.feed(Event::Begin);
        while !self.done {
            self.turn();
        }
        if let Some(guardian) = self.guardian.take() {
            guardian.dismiss(self.privilege);
        }
        self.containment.remove();
        let code = self.journal.first();
        self.journal.trace(&format!("shepherd ends with {}", code.code()));
        self.journal.finish()
    }

    fn turn(&mut self) {
        self.journal.flush();
        let now = clock::boottime();
        let mut timeout = self.machine.deadline().map(|at| at.saturating_sub(now));
        if self.sweeping.is_some() {
            timeout = Some(timeout.map_or(SWEEP_PAUSE, |timeout| timeout.min(SWEEP_PAUSE)));
        }
        let report = self.reports.first().map(|report| report.pipe.as_fd());
        let second = self.reports.get(1).map(|report| report.pipe.as_fd());
        match poll::readable([Some(self.signals.as_fd()), report, second], timeout) {
            Ok(_) => {}
            Err(error) => {
                self.journal.trace(&format!("waiting failed: {error}"));
            }
        }
        self.read_signals();
        self.read_reports();
        self.reap();
        if self.sweeping.is_some() {
            self.sweep();
        }
        if self.machine.deadline().is_some_and(|at| at <= clock::boottime()) {
            self.feed(Event::Tick);
        }
    }

    fn feed(&mut self, event: Event) {
        let actions = self.machine.step(clock::boottime(), event);
        for action in actions {
            self.perform(action);
        }
    }

    // ---- events ----

    fn read_signals(&mut self) {
        loop {
            match self.signals.take() {
                Ok(Some((number, sender))) => self.order(number, sender),
                Ok(None) => return,
                Err(error) => return self.journal.trace(&format!("reading signals failed: {error}")),
            }
        }
    }

    /// The signals by which execd speaks (spec: TSTP kill, TTIN see `signal`, USR2 XCPU, TTOU migrate), and those by
    /// which people do.
    fn order(&mut self, number: i32, sender: u32) {
        let order = match number {
            1 | 2 | 15 => Order::Kill,
            3 => Order::KillNow,
            20 => Order::Kill,
            21 => match std::fs::read(files::SIGNAL).ok().as_deref().map(signal::parse) {
                Some(Some(19)) => Order::Stop,
                Some(Some(18)) => Order::Continue,
                Some(Some(9)) => Order::Kill,
                Some(Some(other)) => Order::Signal(other),
                // 8.1.9 drops a 0 and passes TTIN on where the file cannot be read.
                Some(None) => {
                    return self.journal.trace("the file signal has no signal number: nothing is done");
                }
                None => Order::Signal(21),
            },
            12 => Order::Signal(24),
            18 => Order::Continue,
            22 => Order::Migrate,
            30 => Order::Abandon,
            10 | 28 => Order::Signal(number),
            // CHLD is seen by reaping; ALRM and PIPE mean nothing here.
            17 | 13 | 14 => return,
            other => return self.journal.trace(&format!("signal {other} from {sender} is ignored")),
        };
        self.journal.trace(&format!("signal {number} from {sender}: {order:?}"));
        self.feed(Event::Order(order));
    }

    fn read_reports(&mut self) {
        let mut index = 0;
        while index < self.reports.len() {
            let report = &mut self.reports[index];
            let mut buffer = [0_u8; 4096];
            match report.pipe.read(&mut buffer) {
                Ok(0) => {
                    let report = self.reports.remove(index);
                    self.reported(&report);
                }
                Ok(count) => report.bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => index += 1,
                Err(_) => {
                    self.reports.remove(index);
                }
            }
        }
    }

    /// The pipe is closed: either by exec, or behind the sentence that says why there was none.
    fn reported(&mut self, report: &Report) {
        let mut rest = report.bytes.as_slice();
        while let [job::TRACE, tail @ ..] = rest {
            let end = tail.iter().position(|byte| *byte == b'\n').unwrap_or(tail.len());
            self.journal.trace(&String::from_utf8_lossy(&tail[..end]));
            rest = tail.get(end + 1..).unwrap_or_default();
        }
        match (report.about, rest) {
            (Role::Step(_), []) => self.feed(Event::Started),
            (Role::Step(_), [code, text @ ..]) => {
                let text = String::from_utf8_lossy(text).into_owned();
                self.feed(Event::Refused(state(*code), text));
            }
            (Role::Method(control), [_, text @ ..]) => {
                let text = String::from_utf8_lossy(text).into_owned();
                self.journal.trace(&format!("the {} command could not be started: {text}", control.name()));
            }
            _ => {}
        }
    }

    fn reap(&mut self) {
        loop {
            match process::reap() {
                Ok(Reaped::Child(pid, status, usage)) => self.reaped(pid, status, &usage),
                Ok(Reaped::Running | Reaped::NoChildren) => return,
                Err(error) => return self.journal.trace(&format!("reaping failed: {error}")),
            }
        }
    }

    fn reaped(&mut self, pid: Pid, status: Status, usage: &Rusage) {
        let end = match status {
            Status::Exited(code) => End::Exited(code),
            Status::Signalled { signal, core } => End::Signalled { signal, core },
        };
        let role =
            self.children.iter().position(|(child, _)| *child == pid).map(|at| self.children.remove(at).1);
        if self.guardian.as_ref().is_some_and(|guardian| guardian.pid() == pid) {
            // Its number is nobody's now. Without it the job goes on; it gets another with its next process.
            self.journal.trace("the guardian is gone: starting another");
            self.guardian = None;
            self.guarded = true;
            self.start_guardian();
        }
        if self.job == Some(pid) {
            crate::startup::forget_job();
        }
        let apart = self.containment.is_apart(pid);
        self.containment.reaped(pid);
        // Orphans of the job come home here, so their usage is not lost.
        if matches!(role, Some(Role::Step(Step::Job))) || (role.is_none() && !apart && self.job.is_some()) {
            self.usage.add(usage);
        }
        let Some(role) = role else { return };
        // What it said before it ended comes first.
        self.read_reports();
        match role {
            Role::Step(step) => {
                self.journal.trace(&format!("{} ended: {end:?}", step.name()));
                if step == Step::Job {
                    self.job_exit = Some(end.status());
                } else {
                    let foreign = procedure::other_user(&self.spec, step).is_some();
                    self.containment.procedure_ended(foreign);
                }
                self.feed(Event::Ended(end));
            }
            Role::Method(control) => {
                self.journal.trace(&format!("reaped {} command: {end:?}", control.name()));
                self.feed(Event::MethodEnded(control, end == End::Exited(0)));
            }
            Role::Remover => {
                if end != End::Exited(0) {
                    self.journal.trace("TMPDIR could not be removed completely");
                }
                self.feed(Event::TmpdirRemoved);
            }
        }
    }

    fn sweep(&mut self) {
        let Some(scope) = self.sweeping else { return };
        for _ in 0..SPIN {
            self.reap();
            if self.containment.is_empty(scope) {
                self.sweeping = None;
                return self.feed(Event::Swept);
            }
            self.containment.kill(scope);
            // Whoever was killed needs a moment; the signal that a child ended wakes us.
            let fds = [Some(self.signals.as_fd())];
            if poll::readable(fds, Some(Duration::from_millis(1))).is_ok_and(|[ready]| !ready) {
                break;
            }
            // Orders have no meaning any more here, but KILL on a running method does.
            self.read_signals();
        }
    }

    // ---- actions ----

    fn perform(&mut self, action: Action) {
        match action {
            Action::Start(step) => self.start(step),
            Action::Signal(number) => {
                let told = self.containment.signal(number);
                self.journal.trace(&format!("signal {number} to {told} processes of the job"));
            }
            Action::Kill => {
                self.journal.trace("killing the processes of the job");
                self.containment.kill(Scope::Job);
            }
            Action::SignalProcedure(number) if number == KILL => self.containment.kill(Scope::Job),
            Action::SignalProcedure(number) => {
                self.containment.signal(number);
            }
            Action::Run(control, command) => self.run_method(control, &command),
            Action::StillRunning(control) => {
                let pid = self.method(control).map_or_else(String::new, |pid| pid.to_string());
                self.journal.trace(&format!(
                    "Skipped start of {}: previous command (pid= {pid}) is still active",
                    control.name()
                ));
            }
            Action::StopMethod(control) => self.stop_method(control),
            Action::Sweep(scope) => {
                self.sweeping = Some(scope);
                self.sweep();
            }
            Action::NameLeftovers => {
                let scope = self.sweeping.unwrap_or(Scope::Everything);
                let left = self.containment.describe(scope);
                self.journal.trace(&format!("still waiting for processes that do not end: {left}"));
            }
            Action::Abandon => {
                let scope = self.sweeping.take().unwrap_or(Scope::Everything);
                let left = self.containment.describe(scope);
                let text =
                    format!("abandoned by the administrator while processes of the job did not end: {left}");
                self.journal.problem(ExitState::AfterJob, &text);
            }
            Action::TakeSample => {
                let sample = self.sample();
                self.feed(Event::Sampled(sample));
            }
            Action::Usage(end) => self.write_usage(end),
            Action::Checkpointed(arena) => {
                self.journal.replace(files::CHECKPOINTED, if arena { b"1\n" } else { b"" });
            }
            Action::NotCheckpointed => self.journal.remove(files::CHECKPOINTED),
            Action::Problem(state, text) => self.journal.problem(state, &text),
            Action::Trace(text) => self.journal.trace(&text),
            Action::RemoveTmpdir => self.remove_tmpdir(),
            Action::Leave => self.done = true,
        }
    }

    /// Forks. In the child the closure runs and never returns.
    fn fork(&mut self, role: Role, leaf: Option<Leaf>, child: impl FnOnce(Child<'_>)) -> io::Result<Pid> {
        // Nothing that waits to be written may be written twice.
        self.journal.flush();
        // Side by side with the first child: each fork makes the pages written since the last one dear again.
        self.start_guardian();
        let (reader, writer) = fd::pipe()?;
        fd::set_nonblocking(reader.as_fd())?;
        let door = leaf.and_then(|leaf| {
            let cgroup = self.containment.cgroup()?;
            match self.privilege.as_root(|| cgroup.door(leaf)) {
                Ok(door) => Some(door),
                Err(error) => {
                    self.journal.trace(&format!("can't open the job's cgroup: {error}"));
                    None
                }
            }
        });
        match process::fork()? {
            Fork::Child => {
                crate::startup::in_child();
                drop(reader);
                // A child that hangs on its way must hold nothing of the shepherd's open, the guardian's pipe least of all.
                let writer = File::from(writer);
                let _ = match &door {
                    Some(door) => fd::close_all_but(&[writer.as_fd(), door.as_fd()]),
                    None => fd::close_all_but(&[writer.as_fd()]),
                };
                child(Child {
                    spec: &self.spec,
                    limits: &self.limits,
                    privilege: self.privilege,
                    door,
                    report: writer,
                    job_exit: self.job_exit,
                });
                // Every closure ends in exec or in an exit of its own.
                process::exit_now(1)
            }
            Fork::Parent(pid) => {
                drop::<OwnedFd>(writer);
                self.children.push((pid, role));
                self.reports.push(Report { pipe: reader.into(), bytes: Vec::new(), about: role });
                Ok(pid)
            }
        }
    }

    /// Nothing of the job runs before its guardian is there.
    fn start_guardian(&mut self) {
        if !std::mem::take(&mut self.guarded) {
            return;
        }
        match Guardian::start(self.privilege, self.containment.cgroup(), self.spec.add_grp_id()) {
            Ok(guardian) => {
                self.containment.add_helper(guardian.pid());
                self.guardian = Some(guardian);
            }
            Err(error) => self.journal.trace(&format!("no guardian for the job: {error}")),
        }
    }

    fn start(&mut self, step: Step) {
        if self.children_ran {
            // A prolog may have added to it (8.1.9 reads it for each step).
            if let Err(refusal) = self.spec.read_environment() {
                self.journal.trace(&refusal.text);
            }
        }
        self.children_ran = true;
        if step == Step::Job {
            // execd starts the job's clock and its usage when it finds this file.
            if self.spec.config.flag(Key::WriteOsjobId, true).unwrap_or(true) {
                let gid = self.spec.add_grp_id().unwrap_or(0);
                self.journal.replace(files::ADDGRPID, format!("{gid}\n").as_bytes());
            }
            self.started_at = clock::realtime();
        }
        let leaf = if step == Step::Job { Leaf::Job } else { Leaf::Procedures };
        let forked = self.fork(Role::Step(step), Some(leaf), |child| child.become_step(step));
        match forked {
            Ok(pid) => {
                self.journal.trace(&format!("started {} as process {pid}", step.name()));
                if step == Step::Job {
                    self.job = Some(pid);
                    self.containment.set_job(pid);
                    crate::startup::set_job(pid);
                    self.journal.replace(files::JOB_PID, format!("{pid}\n").as_bytes());
                }
            }
            Err(error) => {
                let text = format!("can't start a process for {}: {error}", step.name());
                self.feed(Event::Refused(None, text));
                self.feed(Event::Ended(End::Exited(1)));
            }
        }
    }

    fn run_method(&mut self, control: Control, command: &str) {
        let job = self.job;
        let forked = self
            .fork(Role::Method(control), Some(Leaf::Procedures), |child| child.become_method(command, job));
        match forked {
            Ok(pid) => {
                self.containment.add_helper(pid);
                self.journal.trace(&format!("starting {} command (pid= {pid}): {command}", control.name()));
            }
            Err(error) => {
                self.journal.trace(&format!(
                    "can't start the {} command: {error}: sending its signal",
                    control.name()
                ));
                self.feed(Event::MethodEnded(control, false));
                match control.signal() {
                    Some(KILL) => self.containment.kill(Scope::Job),
                    Some(number) => {
                        self.containment.signal(number);
                    }
                    None => {}
                }
            }
        }
    }

    fn method(&self, control: Control) -> Option<Pid> {
        self.children.iter().find(|(_, role)| *role == Role::Method(control)).map(|(pid, _)| *pid)
    }

    fn stop_method(&mut self, control: Control) {
        if let Some(pid) = self.method(control) {
            // It is our child and not reaped: the number is still its own, and so is its group's.
            self.privilege.as_root(|| {
                let _ = process::kill_group(pid, KILL);
                let _ = process::kill_child(pid, KILL);
            });
        }
    }

    fn remove_tmpdir(&mut self) {
        let Some(path) = self.spec.tmpdir.clone() else { return self.feed(Event::TmpdirRemoved) };
        let forked = self.fork(Role::Remover, None, |child| {
            let owner = Identity::of_owner(child.spec);
            let result = owner.and_then(|owner| tmpdir::remove(&path, &owner, child.privilege));
            child.end_remover(result)
        });
        match forked {
            Ok(pid) => self.containment.add_helper(pid),
            Err(error) => {
                self.journal.trace(&format!("can't start the removal of TMPDIR: {error}"));
                self.feed(Event::TmpdirRemoved);
            }
        }
    }

    // ---- figures ----

    fn sample(&self) -> Sample {
        let processes = self.containment.job_processes();
        self.privilege.as_root(|| {
            let cpu = self.containment.cgroup().and_then(Cgroup::cpu).unwrap_or_else(|| {
                let living: Duration = processes.iter().map(|pid| procfs::cpu(*pid)).sum();
                living + self.usage.user + self.usage.system
            });
            let memory = processes.iter().map(|pid| procfs::memory(*pid)).sum();
            Sample { cpu, memory, processes: processes.len() }
        })
    }

    fn write_usage(&mut self, job: JobEnd) {
        let end = match job.end {
            End::Exited(code) => oxherd_handoff::usage::End::Exited(code),
            End::Signalled { signal, core } => oxherd_handoff::usage::End::Signalled { signal, core },
        };
        let signal = match job.end {
            // A limit is told by its code; with a signal execd would make 100 of it.
            End::Signalled { signal, .. } if !job.limited => u32::from(signal),
            _ => 0,
        };
        let start = self.started_at.as_secs();
        let usage = Usage {
            wait_status: end.wait_status(),
            exit_status: u32::from(job.end.status()),
            signal,
            start_time: start,
            // The clock may have been set meanwhile: the length is measured with one that cannot be.
            end_time: (self.started_at + job.ran).as_secs(),
            ru_wallclock: (self.started_at + job.ran).as_secs() - start,
            ru_utime: self.usage.user.as_secs_f64(),
            ru_stime: self.usage.system.as_secs_f64(),
            ru_maxrss: self.usage.max_rss,
            ru_minflt: self.usage.minor_faults,
            ru_majflt: self.usage.major_faults,
            ru_inblock: self.usage.blocks_in,
            ru_oublock: self.usage.blocks_out,
            ru_nvcsw: self.usage.voluntary_switches,
            ru_nivcsw: self.usage.involuntary_switches,
        };
        self.journal.replace(files::USAGE, usage.text().as_bytes());
    }
}

/// The code in front of a child's sentence.
fn state(code: u8) -> Option<ExitState> {
    [
        ExitState::InputOutputFile,
        ExitState::Shell,
        ExitState::WorkingDirectory,
        ExitState::AdditionalGroup,
        ExitState::ApplicationError,
    ]
    .into_iter()
    .find(|state| state.code() == code)
}
