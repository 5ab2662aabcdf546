//! The life of a job as a pure state machine: events and the time in, actions out.
//!
//! No process, file or clock is touched here, so that every order of events can be tested by feeding it. What the
//! phases are and what is skipped when follows sge_shepherd 8.1.9 as observed; the differences on purpose are listed
//! in docs/deviations.md.

use std::time::Duration;

use oxherd_handoff::ExitState;
use oxherd_model::method::Method;

use crate::limit::{self, JobLimits, Sample};

/// A program of the job's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Prolog,
    PeStart,
    Job,
    PeStop,
    Epilog,
}

impl Step {
    pub const ALL: [Self; 5] = [Self::Prolog, Self::PeStart, Self::Job, Self::PeStop, Self::Epilog];

    /// The word in messages, as sites know it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prolog => "prolog",
            Self::PeStart => "pe_start",
            Self::Job => "job",
            Self::PeStop => "pe_stop",
            Self::Epilog => "epilog",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }

    const fn failed(self) -> ExitState {
        match self {
            Self::Prolog => ExitState::Prolog,
            Self::PeStart => ExitState::PeStart,
            Self::Job => ExitState::BeforeJob,
            Self::PeStop => ExitState::PeStop,
            Self::Epilog => ExitState::Epilog,
        }
    }
}

/// A command that runs beside the job: a method of queue_conf(5), or one of a checkpoint environment (checkpoint(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    Suspend,
    Resume,
    Terminate,
    Checkpoint,
    Migrate,
    Clean,
}

impl Control {
    pub const ALL: [Self; 6] =
        [Self::Suspend, Self::Resume, Self::Terminate, Self::Checkpoint, Self::Migrate, Self::Clean];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Suspend => "suspend",
            Self::Resume => "resume",
            Self::Terminate => "terminate",
            Self::Checkpoint => "checkpoint",
            Self::Migrate => "migrate",
            Self::Clean => "clean",
        }
    }

    /// The signal that the command replaces, if it does.
    #[must_use]
    pub const fn signal(self) -> Option<i32> {
        match self {
            Self::Suspend => Some(STOP),
            Self::Resume => Some(CONT),
            Self::Terminate | Self::Migrate => Some(KILL),
            Self::Checkpoint | Self::Clean => None,
        }
    }
}

pub const KILL: i32 = 9;
pub const USR1: i32 = 10;
pub const USR2: i32 = 12;
pub const TERM: i32 = 15;
pub const CONT: i32 = 18;
pub const STOP: i32 = 19;
pub const XCPU: i32 = 24;

/// A second KILL order within this time of the last one is the same order (observed on 8.1.9).
const KILL_REPETITION: Duration = Duration::from_secs(10);
/// How long a procedure that was told to end has before it is killed.
const PROCEDURE_GRACE: Duration = Duration::from_secs(10);

/// What execd, or a person, wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// End the job as the queue says.
    Kill,
    /// End the job at once, without notification and method.
    KillNow,
    Stop,
    Continue,
    /// End the job and have it started elsewhere.
    Migrate,
    /// Stop waiting for processes that do not end (`oxherd abandon`).
    Abandon,
    /// Deliver a signal.
    Signal(i32),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exited(u8),
    Signalled { signal: u8, core: bool },
}

impl End {
    /// The exit code, or 128 and the signal.
    #[must_use]
    pub const fn status(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled { signal, .. } => signal.saturating_add(128),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Begin,
    Order(Order),
    /// The step's process did not reach exec. `None` is the code of the phase.
    Refused(Option<ExitState>, String),
    /// The step's process became the program.
    Started,
    /// The step's process ended.
    Ended(End),
    /// The command ended, and whether with exit code 0.
    MethodEnded(Control, bool),
    /// What [`Action::Sweep`] asked for is done: nothing is left.
    Swept,
    /// The answer to [`Action::TakeSample`].
    Sampled(Sample),
    /// The answer to [`Action::RemoveTmpdir`].
    TmpdirRemoved,
    /// Time has passed.
    Tick,
}

/// What a sweep covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The job's processes, not what prolog or PE start left running.
    Job,
    /// Everything that ran as the job owner.
    Everything,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Start(Step),
    /// Deliver a signal to every process of the job, once each.
    Signal(i32),
    /// Kill every process of the job.
    Kill,
    /// Signal a running procedure and its children.
    SignalProcedure(i32),
    Run(Control, String),
    /// The method is wanted again while it runs.
    StillRunning(Control),
    StopMethod(Control),
    /// Kill what is left until nothing is; answered by [`Event::Swept`].
    Sweep(Scope),
    /// The sweep is not getting anywhere: name the processes.
    NameLeftovers,
    /// The sweep is given up: record what is left, and that it was an order.
    Abandon,
    TakeSample,
    /// The job ended, this is its `usage`.
    Usage(JobEnd),
    /// `checkpointed` says that the job is to be started again, and whether a checkpoint is in the arena.
    Checkpointed(bool),
    /// The job is over after all: it is not to be started again.
    NotCheckpointed,
    /// A line of `error` and of `exit_status`.
    Problem(ExitState, String),
    Trace(String),
    RemoveTmpdir,
    Leave,
}

/// What `usage` says of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobEnd {
    pub end: End,
    /// A limit was enforced: reported without a signal, see [`ExitState::Limit`].
    pub limited: bool,
    /// From the start of the job's process to its end.
    pub ran: Duration,
}

/// A checkpoint environment (checkpoint(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpointing {
    /// `application-level`: commands; else (`userdefined`, `transparent`) a signal.
    pub commands: bool,
    /// Sent at each regular checkpoint of the other two.
    pub signal: Option<i32>,
    pub command: Option<String>,
    pub migr_command: Option<String>,
    pub clean_command: Option<String>,
    /// Time between regular checkpoints.
    pub interval: Option<Duration>,
}

/// Everything of the job that its life depends on.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Which steps exist, in the order of [`Step`].
    pub steps: [bool; 5],
    /// Which of them run as another user than the job owner.
    pub foreign: [bool; 5],
    /// `-notify`: time between warning and STOP or KILL.
    pub notify: Option<Duration>,
    /// The warnings; `None` means that there is none and no waiting.
    pub notify_kill: Option<i32>,
    pub notify_susp: Option<i32>,
    /// In the order of [`Control`].
    pub methods: [Method; 3],
    pub procedure_timeout: Option<Duration>,
    pub method_timeout: Duration,
    /// KILL this long after a terminate method that had no effect.
    pub terminate_escalation: Option<Duration>,
    pub leftover_timeout: Duration,
    pub s_rt: Option<Duration>,
    pub h_rt: Option<Duration>,
    /// `s_rt` ends the job this long after its warning.
    pub s_rt_grace: Option<Duration>,
    pub limits: JobLimits,
    pub checkpointing: Option<Checkpointing>,
    pub forbid_reschedule: bool,
    pub forbid_apperror: bool,
    /// `enable_addgrp_kill`: whether more than the job's process group is killed.
    pub sweep: bool,
    pub remove_tmpdir: bool,
    /// Code of a prolog that cannot be started.
    pub prolog_not_startable: ExitState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running(Step),
    Sweeping(Scope),
    RemovingTmpdir,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Postponed {
    Stop,
    Kill,
}

/// A point in the future; one that no clock can show is never reached.
fn later(now: Duration, wait: Duration) -> Duration {
    now.checked_add(wait).unwrap_or(Duration::MAX)
}

/// The machine.
#[derive(Debug)]
pub struct Machine {
    plan: Plan,
    phase: Phase,
    /// The running step's process became its program.
    started: bool,
    refused: bool,
    /// The job shall not be started any more, or was ended by order.
    killed: bool,
    migrate: bool,
    /// Sentence on the limit that was exceeded, and when it is one of the shepherd's own.
    limit: Option<String>,
    job_end: Option<(End, Duration)>,
    job_started_at: Duration,
    epilog_allowed: bool,
    pe_stop_allowed: bool,
    swept: bool,
    /// What is left is not waited for any more.
    abandoned: bool,
    postponed: Option<(Postponed, Duration)>,
    last_kill: Option<Duration>,
    /// Orders that came before the job was there.
    waiting: Vec<Order>,
    /// Deadlines of running commands, in the order of [`Control`].
    methods: [Option<Duration>; 6],
    /// When the running procedure is told to end, and then killed.
    procedure_ends: Option<(Duration, bool)>,
    /// It was told because it took too long, not by an order.
    timed_out: bool,
    /// It was told by an order.
    ordered: bool,
    s_rt_at: Option<Duration>,
    s_rt_kill_at: Option<Duration>,
    h_rt_at: Option<Duration>,
    escalate_at: Option<Duration>,
    leftovers_at: Option<Duration>,
    sample_at: Option<Duration>,
    warned: limit::Warned,
    checkpoint_at: Option<Duration>,
    /// A checkpoint is in the arena.
    checkpointed: bool,
    cleaned: bool,
    out: Vec<Action>,
}

impl Machine {
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            phase: Phase::Running(Step::Prolog),
            started: false,
            refused: false,
            killed: false,
            migrate: false,
            limit: None,
            job_end: None,
            job_started_at: Duration::ZERO,
            epilog_allowed: true,
            pe_stop_allowed: true,
            swept: false,
            abandoned: false,
            postponed: None,
            last_kill: None,
            waiting: Vec::new(),
            methods: [None; 6],
            procedure_ends: None,
            timed_out: false,
            ordered: false,
            s_rt_at: None,
            s_rt_kill_at: None,
            h_rt_at: None,
            escalate_at: None,
            leftovers_at: None,
            sample_at: None,
            warned: limit::Warned::default(),
            checkpoint_at: None,
            checkpointed: false,
            cleaned: false,
            out: Vec::new(),
        }
    }

    /// Takes an event at a time of a clock that never goes back, and says what is to be done, in order.
    pub fn step(&mut self, now: Duration, event: Event) -> Vec<Action> {
        match event {
            Event::Begin => self.go(Step::Prolog, now),
            Event::Order(order) => self.order(order, now),
            Event::Refused(state, text) => self.refused(state, text),
            Event::Started => self.started(now),
            Event::Ended(end) => self.ended(end, now),
            Event::MethodEnded(control, success) => self.method_ended(control, success, now),
            Event::Swept => self.swept(now),
            Event::Sampled(sample) => self.sampled(sample, now),
            Event::TmpdirRemoved => self.leave(),
            Event::Tick => self.tick(now),
        }
        std::mem::take(&mut self.out)
    }

    /// When [`Event::Tick`] is wanted at the latest.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let single = [
            self.postponed.map(|(_, at)| at),
            self.procedure_ends.map(|(at, _)| at),
            self.s_rt_at,
            self.s_rt_kill_at,
            self.h_rt_at,
            self.escalate_at,
            self.leftovers_at,
            self.sample_at,
            self.checkpoint_at,
        ];
        single.into_iter().chain(self.methods).flatten().min()
    }

    fn has(&self, step: Step) -> bool {
        self.plan.steps[step.index()]
    }

    fn trace(&mut self, text: impl Into<String>) {
        self.out.push(Action::Trace(text.into()));
    }

    /// Starts a step, or the next one that is to run.
    fn go(&mut self, step: Step, now: Duration) {
        let mut step = step;
        loop {
            let (run, next) = match step {
                Step::Prolog => (true, Some(Step::PeStart)),
                // Without the job neither side of its parallel environment is wanted.
                Step::PeStart if self.killed => (false, Some(Step::Epilog)),
                Step::PeStart => (true, Some(Step::Job)),
                Step::Job => (!self.killed, Some(Step::PeStop)),
                Step::PeStop => (self.pe_stop_allowed, Some(Step::Epilog)),
                Step::Epilog => (self.epilog_allowed, None),
            };
            if run && self.has(step) {
                return self.start(step, now);
            }
            match next {
                Some(next) => step = next,
                None => return self.sweep(Scope::Everything, now),
            }
        }
    }

    fn start(&mut self, step: Step, now: Duration) {
        self.phase = Phase::Running(step);
        self.started = false;
        self.refused = false;
        self.timed_out = false;
        self.ordered = false;
        self.procedure_ends = match step {
            Step::Job => None,
            _ => self.plan.procedure_timeout.map(|timeout| (later(now, timeout), false)),
        };
        if step == Step::Job {
            self.job_started_at = now;
            let at = |limit: Option<Duration>| limit.map(|limit| later(now, limit));
            self.s_rt_at = at(self.plan.s_rt);
            self.h_rt_at = at(self.plan.h_rt);
            self.sample_at = self.plan.limits.any().then(|| later(now, limit::SHORTEST));
            self.checkpoint_at = at(self.plan.checkpointing.as_ref().and_then(|c| c.interval));
        }
        self.out.push(Action::Start(step));
    }

    fn started(&mut self, now: Duration) {
        self.started = true;
        if self.phase == Phase::Running(Step::Job) {
            for order in std::mem::take(&mut self.waiting) {
                self.order(order, now);
            }
        }
    }

    fn refused(&mut self, state: Option<ExitState>, text: String) {
        let Phase::Running(step) = self.phase else { return };
        self.refused = true;
        let state = state.unwrap_or(match step {
            Step::Prolog => self.plan.prolog_not_startable,
            Step::PeStart => ExitState::BeforePeStart,
            Step::Job => ExitState::BeforeJob,
            Step::PeStop => ExitState::BeforePeStop,
            Step::Epilog => ExitState::BeforeEpilog,
        });
        self.out.push(Action::Problem(state, text));
    }

    fn ended(&mut self, end: End, now: Duration) {
        let Phase::Running(step) = self.phase else { return };
        self.procedure_ends = None;
        match step {
            Step::Prolog => {
                let fine = self.procedure_result(step, end);
                // A prolog that never ran has nothing for the epilog to clean up (8.1.9).
                self.epilog_allowed = !self.refused;
                self.go(if fine { Step::PeStart } else { Step::Epilog }, now);
            }
            Step::PeStart => {
                let fine = self.procedure_result(step, end);
                self.pe_stop_allowed = !self.refused;
                self.go(if fine { Step::Job } else { Step::PeStop }, now);
            }
            Step::Job => {
                self.job_end = Some((end, now));
                self.s_rt_at = None;
                self.s_rt_kill_at = None;
                self.h_rt_at = None;
                self.escalate_at = None;
                self.sample_at = None;
                self.checkpoint_at = None;
                self.postponed = None;
                self.waiting.clear();
                self.sweep(Scope::Job, now);
            }
            Step::PeStop => {
                self.procedure_result(step, end);
                self.go(Step::Epilog, now);
            }
            Step::Epilog => {
                self.procedure_result(step, end);
                self.sweep(Scope::Everything, now);
            }
        }
    }

    /// Judges a procedure; true where the next regular step may come.
    fn procedure_result(&mut self, step: Step, end: End) -> bool {
        if self.refused {
            return false;
        }
        if self.timed_out && !self.started {
            // It never became its program: files or a directory of the job owner's did not answer.
            let text =
                format!("{} could not be started: its files or working directory do not answer", step.name());
            self.out.push(Action::Problem(ExitState::InputOutputFile, text));
            return false;
        }
        if self.timed_out {
            let limit = self.plan.procedure_timeout.unwrap_or_default().as_secs();
            let text =
                format!("{} did not end within script_timeout of {limit} s and was ended", step.name());
            self.out.push(Action::Problem(step.failed(), text));
            return false;
        }
        // It was ended by an order, however it took that: no fault of its own, and none of the queue's.
        if self.ordered {
            return step == Step::PeStart;
        }
        let state = match end.status() {
            0 => return true,
            99 => ExitState::Again,
            100 => ExitState::ApplicationError,
            _ => step.failed(),
        };
        self.out.push(Action::Problem(state, format!("exit_status of {} = {}", step.name(), end.status())));
        false
    }

    fn sweep(&mut self, scope: Scope, now: Duration) {
        if self.abandoned {
            self.phase = Phase::Sweeping(scope);
            return self.swept(now);
        }
        self.phase = Phase::Sweeping(scope);
        self.swept = false;
        self.leftovers_at = Some(later(now, self.plan.leftover_timeout));
        self.out.push(Action::Sweep(scope));
    }

    fn swept(&mut self, now: Duration) {
        match self.phase {
            Phase::Sweeping(Scope::Job) => {
                self.swept = true;
                self.leftovers_at = None;
                self.after_job(now);
            }
            Phase::Sweeping(Scope::Everything) => {
                self.leftovers_at = None;
                if self.plan.remove_tmpdir {
                    self.phase = Phase::RemovingTmpdir;
                    self.out.push(Action::RemoveTmpdir);
                } else {
                    self.leave();
                }
            }
            _ => {}
        }
    }

    fn leave(&mut self) {
        self.phase = Phase::Done;
        self.out.push(Action::Leave);
    }

    /// Once the job's processes are gone and no method runs any more, the job is over.
    fn after_job(&mut self, now: Duration) {
        if self.phase != Phase::Sweeping(Scope::Job)
            || !self.swept
            || self.methods.iter().any(Option::is_some)
        {
            return;
        }
        let Some((end, ended_at)) = self.job_end else { return };
        if self.clean_up(now) {
            return;
        }
        if !self.refused {
            let ran = ended_at.saturating_sub(self.job_started_at);
            let limit = self.limit.take();
            self.out.push(Action::Usage(JobEnd { end, limited: limit.is_some(), ran }));
            if let Some(text) = limit {
                self.out.push(Action::Problem(ExitState::Limit, text));
            } else if self.migrate {
                self.out.push(Action::Checkpointed(self.checkpointed));
            } else {
                if self.checkpointed {
                    self.out.push(Action::NotCheckpointed);
                }
                let state = match end {
                    End::Exited(99) if !self.plan.forbid_reschedule => Some(ExitState::Again),
                    End::Exited(100) if !self.plan.forbid_apperror => Some(ExitState::ApplicationError),
                    _ => None,
                };
                if let Some(state) = state {
                    let text = format!("exit_status of job start = {}", end.status());
                    self.out.push(Action::Problem(state, text));
                }
            }
        }
        self.go(Step::PeStop, now);
    }

    fn order(&mut self, order: Order, now: Duration) {
        match (self.phase, order) {
            (Phase::Sweeping(_), Order::Abandon) => {
                self.abandoned = true;
                self.out.push(Action::Abandon);
                self.swept(now);
            }
            (_, Order::Abandon) => self.trace("there is nothing to abandon: the job is not being waited for"),
            (Phase::Running(Step::Job), _) => self.job_order(order, now),
            (Phase::Running(step @ (Step::Prolog | Step::PeStart)), Order::Kill | Order::KillNow) => {
                self.killed = true;
                self.trace("the job is ended before it started");
                self.end_procedure(step);
            }
            (Phase::Running(step @ (Step::Prolog | Step::PeStart)), Order::Migrate) => {
                if !self.killed {
                    self.out.push(Action::Checkpointed(false));
                }
                self.killed = true;
                self.end_procedure(step);
            }
            (Phase::Running(Step::Prolog | Step::PeStart), _) => self.waiting.push(order),
            // The job is over; what is left of its life must not take longer than it has to.
            (Phase::Running(step), Order::Kill | Order::KillNow) if self.plan.foreign[step.index()] => {}
            (Phase::Running(_), Order::KillNow) => {
                self.ordered = true;
                self.out.push(Action::SignalProcedure(KILL));
            }
            (Phase::Running(step), Order::Kill) => {
                let at = later(now, PROCEDURE_GRACE);
                if self.procedure_ends.is_none_or(|(old, _)| old > at) {
                    self.trace(format!("{} has {} s to end", step.name(), PROCEDURE_GRACE.as_secs()));
                    self.procedure_ends = Some((at, false));
                    self.ordered = true;
                }
            }
            _ => {}
        }
    }

    /// Ends a procedure before the job at once. One of another user is waited for instead, as 8.1.9 does: the job's
    /// owner must not choose the moment at which an administrator's program is cut off.
    fn end_procedure(&mut self, step: Step) {
        if self.plan.foreign[step.index()] {
            return self.trace(format!("waiting for {}, which runs as another user", step.name()));
        }
        self.ordered = true;
        self.out.push(Action::SignalProcedure(KILL));
    }

    fn job_order(&mut self, order: Order, now: Duration) {
        match order {
            Order::KillNow => {
                self.killed = true;
                self.postponed = None;
                self.out.push(Action::Kill);
            }
            Order::Kill => {
                self.killed = true;
                if self.started { self.notify_kill(now) } else { self.out.push(Action::Kill) }
            }
            Order::Migrate => self.migrate(now),
            _ if !self.started => self.waiting.push(order),
            Order::Stop => self.notify_stop(now),
            Order::Continue => {
                if matches!(self.postponed, Some((Postponed::Stop, _))) {
                    self.postponed = None;
                }
                self.control(Control::Resume, now);
            }
            Order::Signal(number) => self.out.push(Action::Signal(number)),
            Order::Abandon => {}
        }
    }

    fn notify_stop(&mut self, now: Duration) {
        match (self.postponed, self.plan.notify, self.plan.notify_susp) {
            (Some(_), ..) => self.trace("ignoring repeated STOP notification"),
            (None, Some(wait), Some(signal)) => {
                self.out.push(Action::Signal(signal));
                self.postponed = Some((Postponed::Stop, later(now, wait)));
            }
            _ => self.control(Control::Suspend, now),
        }
    }

    fn notify_kill(&mut self, now: Duration) {
        match (self.postponed, self.plan.notify, self.plan.notify_kill) {
            (Some((Postponed::Kill, _)), ..) => self.trace("ignoring repeated KILL notification"),
            (_, Some(wait), Some(signal)) if self.last_kill.is_none() => {
                self.out.push(Action::Signal(signal));
                self.postponed = Some((Postponed::Kill, later(now, wait)));
            }
            _ => {
                self.postponed = None;
                self.deliver_kill(now);
            }
        }
    }

    fn deliver_kill(&mut self, now: Duration) {
        if self.last_kill.is_some_and(|last| now < later(last, KILL_REPETITION)) {
            return self.trace("ignored signal KILL: the last one is less than 10 s ago");
        }
        self.last_kill = Some(now);
        self.control(Control::Terminate, now);
        if self.plan.methods[Control::Terminate as usize] != Method::Default && self.escalate_at.is_none() {
            // A limit holds whatever the queue's method does; an order is escalated where that is configured.
            let always = self.limit.is_some().then_some(self.plan.method_timeout);
            self.escalate_at = self.plan.terminate_escalation.or(always).map(|wait| later(now, wait));
        }
    }

    /// Suspends, resumes or terminates as the queue says.
    fn control(&mut self, control: Control, now: Duration) {
        match self.plan.methods[control as usize].clone() {
            Method::Default => self.direct(control),
            Method::Signal(number) => self.out.push(Action::Signal(number)),
            Method::Command(command) => self.run(control, command, now),
        }
    }

    /// Runs a command beside the job, one of each kind at a time.
    fn run(&mut self, control: Control, command: String, now: Duration) {
        if self.methods[control as usize].is_some() {
            return self.out.push(Action::StillRunning(control));
        }
        let notify = self.plan.notify.unwrap_or_default();
        self.methods[control as usize] = Some(later(now, self.plan.method_timeout) + notify);
        self.out.push(Action::Run(control, command));
    }

    /// The usual signal.
    fn direct(&mut self, control: Control) {
        match control.signal() {
            Some(KILL) => self.out.push(Action::Kill),
            Some(number) => self.out.push(Action::Signal(number)),
            None => {}
        }
    }

    // ---- checkpointing ----

    /// A regular checkpoint.
    fn checkpoint(&mut self, now: Duration) {
        let Some(checkpointing) = self.plan.checkpointing.clone() else { return };
        self.checkpoint_at = checkpointing.interval.map(|interval| later(now, interval));
        if !checkpointing.commands {
            if let Some(signal) = checkpointing.signal {
                self.trace(format!("checkpoint: sending signal {signal}"));
                self.out.push(Action::Signal(signal));
            }
        } else if let Some(command) = checkpointing.command {
            self.run(Control::Checkpoint, command, now);
        }
    }

    /// The job is to go on elsewhere: its environment's migration command ends it, else a KILL does.
    fn migrate(&mut self, now: Duration) {
        self.migrate = true;
        let command =
            self.plan.checkpointing.as_ref().filter(|c| c.commands).and_then(|c| c.migr_command.clone());
        match command {
            Some(command) if self.started => self.run(Control::Migrate, command, now),
            _ => self.out.push(Action::Kill),
        }
    }

    fn method_ended(&mut self, control: Control, success: bool, now: Duration) {
        self.methods[control as usize] = None;
        match control {
            Control::Checkpoint | Control::Migrate if success && !self.checkpointed => {
                self.checkpointed = true;
                // Written now: if this shepherd dies, the job starts again from what there is.
                self.out.push(Action::Checkpointed(true));
            }
            _ => {}
        }
        if control == Control::Migrate
            && self.phase == Phase::Running(Step::Job)
            && self.escalate_at.is_none()
        {
            // Ending the job is the command's business (checkpoint(5)); one that forgot it must not keep the slot.
            self.escalate_at = Some(later(now, self.plan.method_timeout));
        }
        if self.phase == Phase::Sweeping(Scope::Job) && self.swept {
            // What the command left behind is the job's as well.
            return self.sweep(Scope::Job, now);
        }
        self.after_job(now);
    }

    /// `clean_command` of an application-level environment, unless the job goes on elsewhere. True while it runs.
    fn clean_up(&mut self, now: Duration) -> bool {
        let command =
            self.plan.checkpointing.as_ref().filter(|c| c.commands).and_then(|c| c.clean_command.clone());
        match command {
            Some(command) if !self.migrate && !self.cleaned && !self.refused => {
                self.cleaned = true;
                self.run(Control::Clean, command, now);
                true
            }
            _ => false,
        }
    }

    /// A limit of the shepherd's own is exceeded: notify and method as for an order.
    fn limit_by_order(&mut self, text: String, now: Duration) {
        if self.limit.is_none() {
            self.trace(text.clone());
            self.limit = Some(text);
            self.killed = true;
            if self.started { self.notify_kill(now) } else { self.out.push(Action::Kill) }
        }
    }

    fn sampled(&mut self, sample: Sample, now: Duration) {
        if self.phase != Phase::Running(Step::Job) || self.limit.is_some() {
            return;
        }
        let verdict = self.plan.limits.judge(sample, &mut self.warned);
        for text in verdict.warnings {
            self.trace(text);
            self.out.push(Action::Signal(XCPU));
        }
        if let Some(text) = verdict.exceeded {
            // Memory and CPU are shared with others: no notification, no method, at once.
            self.trace(text.clone());
            self.limit = Some(text);
            self.killed = true;
            self.out.push(Action::Kill);
            self.sample_at = None;
        } else {
            self.sample_at = verdict.next.map(|wait| later(now, wait));
        }
    }

    fn tick(&mut self, now: Duration) {
        let due = |at: Option<Duration>| at.is_some_and(|at| at <= now);
        if let Some((what, at)) = self.postponed
            && at <= now
        {
            self.postponed = None;
            match what {
                Postponed::Stop => {
                    self.trace("delivering postponed signal STOP");
                    self.control(Control::Suspend, now);
                }
                Postponed::Kill => {
                    self.trace("delivering postponed signal KILL");
                    self.deliver_kill(now);
                }
            }
        }
        if due(self.s_rt_at) {
            self.s_rt_at = None;
            let limit = limit::seconds(self.plan.s_rt.unwrap_or_default());
            self.trace(format!("s_rt of {limit} exceeded: sending USR1"));
            self.out.push(Action::Signal(USR1));
            self.s_rt_kill_at = self.plan.s_rt_grace.map(|grace| later(now, grace));
        }
        for (at, name, limit) in
            [(self.h_rt_at, "h_rt", self.plan.h_rt), (self.s_rt_kill_at, "s_rt", self.plan.s_rt)]
        {
            if due(at) {
                let ran = limit::seconds(now.saturating_sub(self.job_started_at));
                let limit = limit::seconds(limit.unwrap_or_default());
                self.limit_by_order(
                    format!("{name} of {limit} exceeded: the job ran {ran} and was ended"),
                    now,
                );
            }
        }
        if due(self.h_rt_at) {
            self.h_rt_at = None;
        }
        if due(self.s_rt_kill_at) {
            self.s_rt_kill_at = None;
        }
        if due(self.escalate_at) {
            self.escalate_at = None;
            self.trace("the job did not end although it was told to: killing it");
            self.out.push(Action::Kill);
        }
        if due(self.checkpoint_at) {
            self.checkpoint(now);
        }
        self.tick_programs(now);
        if due(self.leftovers_at) {
            self.leftovers_at = Some(later(now, self.plan.leftover_timeout));
            self.out.push(Action::NameLeftovers);
        }
        if due(self.sample_at) {
            // The answer sets the next time.
            self.sample_at = None;
            self.out.push(Action::TakeSample);
        }
    }

    /// Methods and procedures that take too long.
    fn tick_programs(&mut self, now: Duration) {
        for control in Control::ALL {
            if self.methods[control as usize].is_some_and(|at| at <= now) {
                let name = control.name();
                self.trace(format!(
                    "{name}_method did not end in time: it is killed and the signal sent instead"
                ));
                self.methods[control as usize] = None;
                self.out.push(Action::StopMethod(control));
                if matches!(self.phase, Phase::Running(Step::Job)) {
                    self.direct(control);
                }
                self.after_job(now);
            }
        }
        if let Some((at, told)) = self.procedure_ends
            && at <= now
        {
            self.timed_out = !self.ordered;
            self.procedure_ends = if told { None } else { Some((later(now, PROCEDURE_GRACE), true)) };
            self.out.push(Action::SignalProcedure(if told { KILL } else { TERM }));
        }
    }
}

#[cfg(test)]
mod tests;
