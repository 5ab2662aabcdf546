//! The loop: waits for signals, children and time, tells the machine, and does what it says.

mod children;
mod figures;
mod session;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use oxherd_handoff::{ExitState, Key, files, signal};
use oxherd_sys::process::{self, Pid, Reaped, Rusage, Status};
use oxherd_sys::signals::SignalFd;
use oxherd_sys::{clock, poll};

use crate::cgroup::{self, Cgroup};
use crate::channel::{Channel, Notice};
use crate::containment::Containment;
use crate::guardian::Guardian;
use crate::job;
use crate::journal::Journal;
use crate::machine::{Action, Control, End, Event, KILL, Machine, Order, Scope, Step};
use crate::privilege::Privilege;
use crate::spec::{Refusal, Spec};
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
    /// Looks up the client's host: name services stay out of this process.
    Resolver,
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
    /// CPU time of its cgroup when the job started: that of the procedures before.
    cpu_before: Duration,
    /// What was reaped while the job was signalled.
    early: Vec<(Pid, Status, Rusage)>,
    started_at: Duration,
    sweeping: Option<Scope>,
    /// Something failed that is worth another try soon.
    look_again: bool,
    /// The client of an interactive job.
    channel: Option<Channel>,
    job_started: bool,
    /// The client has until then to confirm the end.
    closing: Option<Duration>,
    confirmed: bool,
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
            cpu_before: Duration::ZERO,
            early: Vec::new(),
            started_at: Duration::ZERO,
            sweeping: None,
            look_again: false,
            channel: None,
            job_started: false,
            closing: None,
            confirmed: false,
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
        // Whatever was reaped must not be spoken to by its number any more.
        self.reap();
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
        if self.sweeping.is_some() || std::mem::take(&mut self.look_again) {
            timeout = Some(timeout.map_or(SWEEP_PAUSE, |timeout| timeout.min(SWEEP_PAUSE)));
        }
        if let Some(at) = self.closing {
            let left = at.saturating_sub(now);
            timeout = Some(timeout.map_or(left, |timeout| timeout.min(left)));
        }
        let mut wishes = vec![poll::Interest::new(self.signals.as_fd(), true, false)];
        wishes
            .extend(self.reports.iter().map(|report| poll::Interest::new(report.pipe.as_fd(), true, false)));
        wishes.extend(self.channel.iter().flat_map(Channel::wishes));
        if let Err(error) = poll::wait(&wishes, timeout) {
            self.journal.trace(&format!("waiting failed: {error}"));
        }
        self.pump();
        self.read_signals();
        self.read_reports();
        self.reap();
        if self.sweeping.is_some() {
            self.sweep();
        }
        let now = clock::boottime();
        if self.machine.deadline().is_some_and(|at| at <= now) {
            self.feed(Event::Tick);
        }
        if self.closing.is_some_and(|at| at <= now) {
            if !self.confirmed {
                self.journal.trace("the client did not confirm the end of the session");
            }
            self.done = true;
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
                Ok(Some((number, sender, user))) => self.order(number, sender, user),
                Ok(None) => return,
                Err(error) => return self.journal.trace(&format!("reading signals failed: {error}")),
            }
        }
    }

    /// The signals by which execd speaks (spec: TSTP kill, TTIN see `signal`, USR2 XCPU, TTOU migrate), and those by
    /// which people do.
    fn order(&mut self, number: i32, sender: u32, user: u32) {
        // Within the session of execd anybody may send SIGCONT, which is an order to resume.
        if number == 18 && !self.privilege.obeys(user) {
            return self.journal.trace(&format!("signal {number} of user {user} ({sender}) is ignored"));
        }
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
            (Role::Step(step), []) => {
                self.job_started |= step == Step::Job;
                self.feed(Event::Started);
            }
            (Role::Resolver, lines) => {
                let text = String::from_utf8_lossy(lines).into_owned();
                let addresses = text.lines().filter_map(|line| line.parse().ok()).collect();
                if let Some(Notice::Lost(text)) = self.channel.as_mut().and_then(|c| c.connect(addresses)) {
                    self.journal.trace(&text);
                }
            }
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

    /// Signals the job's processes and reaps meanwhile; what ended is heard of by the next [`Self::reap`].
    fn signal(&mut self, number: i32) -> usize {
        let early = &mut self.early;
        self.containment.signal(number, &mut || collect(early))
    }

    /// The same with KILL.
    fn kill(&mut self, scope: Scope) {
        let early = &mut self.early;
        self.containment.kill(scope, &mut || collect(early));
    }

    fn reap(&mut self) {
        for (pid, status, usage) in std::mem::take(&mut self.early) {
            self.reaped(pid, status, &usage);
        }
        loop {
            match process::reap() {
                Ok(Reaped::Child(pid, status, usage)) => self.reaped(pid, status, &usage),
                Ok(Reaped::Running | Reaped::NoChildren) => return,
                Err(error) => {
                    // No signal comes a second time for it.
                    self.look_again = true;
                    return self.journal.trace(&format!("reaping failed: {error}"));
                }
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
                // Words of 8.1.9: sites search for them.
                self.journal.trace(&format!("wait3 returned {pid}"));
                self.journal.trace(&match end {
                    End::Exited(code) => format!("{} exited with exit status {code}", step.name()),
                    End::Signalled { signal, core } => {
                        let core = if core { ", with a core" } else { "" };
                        format!("{} exited due to signal {signal}{core}", step.name())
                    }
                });
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
            Role::Resolver => {}
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
            self.kill(scope);
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
                let told = self.signal(number);
                self.journal.trace(&format!("signal {number} to {told} processes of the job"));
            }
            Action::Kill => {
                self.journal.trace("killing the processes of the job");
                self.kill(Scope::Job);
            }
            Action::KillAgain => self.kill(Scope::Job),
            Action::SignalProcedure(number) if number == KILL => self.kill(Scope::Job),
            Action::SignalProcedure(number) => {
                self.signal(number);
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
            Action::Leave => self.leave(),
        }
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

/// Reaps without consequences.
fn collect(early: &mut Vec<(Pid, Status, Rusage)>) {
    while let Ok(Reaped::Child(pid, status, usage)) = process::reap() {
        early.push((pid, status, usage));
    }
}
