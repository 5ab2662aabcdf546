//! What happens to a job, and what is then to be done.

use std::time::Duration;

use oxherd_handoff::ExitState;
use oxherd_handoff::usage::End;

use super::plan::{Control, Step};
use crate::limit::Sample;

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
    /// The same for a kill that had no effect yet.
    KillAgain,
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
