//! The life of a job as a pure state machine: events and the time in, actions out.
//!
//! No process, file or clock is touched here, so that every order of events can be tested by feeding it. What the
//! phases are and what is skipped when follows sge_shepherd 8.1.9 as observed; the differences on purpose are listed
//! in docs/deviations.md.

use std::time::Duration;

use oxherd_handoff::ExitState;

use crate::limit;

mod checkpoint;
mod event;
mod orders;
mod plan;
mod time;

pub use event::{Action, Event, JobEnd, Order, Scope};
pub use oxherd_handoff::usage::End;
pub use plan::*;

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
    /// The step that was killed has not ended.
    kill_again_at: Option<Duration>,
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
            kill_again_at: None,
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
        // A kill can fail for want of a descriptor or of memory, and nobody gives the order a second time.
        if self.out.iter().any(|action| matches!(action, Action::Kill | Action::SignalProcedure(KILL))) {
            self.kill_again_at = Some(now + orders::KILL_AGAIN);
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
            self.kill_again_at,
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
            // For a child that hangs before exec; once the program runs, its time begins.
            self.start_clocks(now);
        }
        self.out.push(Action::Start(step));
    }

    /// The limits count from the moment at which the job's program runs: never early.
    fn start_clocks(&mut self, now: Duration) {
        self.job_started_at = now;
        let at = |limit: Option<Duration>| limit.map(|limit| later(now, limit));
        self.s_rt_at = at(self.plan.s_rt);
        self.h_rt_at = at(self.plan.h_rt);
        self.sample_at = self.plan.limits.any().then(|| later(now, limit::SHORTEST));
        self.checkpoint_at = at(self.plan.checkpointing.as_ref().and_then(|c| c.interval));
    }

    fn started(&mut self, now: Duration) {
        self.started = true;
        if self.phase == Phase::Running(Step::Job) {
            self.start_clocks(now);
            for order in std::mem::take(&mut self.waiting) {
                self.order(order, now);
            }
        }
    }

    fn refused(&mut self, state: Option<ExitState>, text: String) {
        let Phase::Running(step) = self.phase else { return };
        self.refused = true;
        // The codes of a child's own (26, 27, 28, …) have the job started again or put into error: not one that ran.
        let state = state.filter(|_| !matches!(step, Step::PeStop | Step::Epilog));
        // A procedure that cannot be executed is the queue's fault: 27 would put one job after the other into error.
        let state = state.filter(|state| step == Step::Job || *state != ExitState::Shell);
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
        self.kill_again_at = None;
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
            } else if self.migrate && self.plan.checkpointing.is_some() {
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
}

#[cfg(test)]
mod tests;
