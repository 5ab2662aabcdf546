//! What the machine knows of a job: its steps, its commands, its limits.

use std::time::Duration;

use oxherd_handoff::ExitState;
use oxherd_model::method::Method;

use crate::limit::JobLimits;

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

    pub(super) const fn index(self) -> usize {
        self as usize
    }

    pub(super) const fn failed(self) -> ExitState {
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
