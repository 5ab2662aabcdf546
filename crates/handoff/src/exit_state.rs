//! The codes of `exit_status`: what went wrong, in the numbers execd and qmaster act upon (observed on 8.1.9).

/// The result of a job's life as the shepherd reports it. The first one recorded decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ExitState {
    /// The job ran to its end, whatever its exit code but 99 and 100.
    Finished = 0,
    /// A fault of the host: every queue instance of the host is put into error. The last resort.
    BeforeProlog = 7,
    /// The prolog failed, or could not be started.
    Prolog = 8,
    /// `start_proc_args` could not be started.
    BeforePeStart = 9,
    PeStart = 10,
    /// The job could not be started for a reason that is the queue's.
    BeforeJob = 11,
    /// `stop_proc_args` could not be started.
    BeforePeStop = 12,
    PeStop = 13,
    /// The epilog could not be started.
    BeforeEpilog = 14,
    Epilog = 15,
    /// The job or a procedure ended with 99: run again.
    Again = 25,
    /// stdin, stdout or stderr cannot be opened.
    InputOutputFile = 26,
    /// Shell, starter or program not found.
    Shell = 27,
    /// The working directory cannot be entered.
    WorkingDirectory = 28,
    Afs = 29,
    /// The job or a procedure ended with 100, or the job's description was refused.
    ApplicationError = 30,
    /// A limit was exceeded, and enforced by the shepherd.
    Limit = 37,
    /// The additional group cannot be set.
    AdditionalGroup = 38,
    /// The job is over, but what is left of it was abandoned by the administrator.
    AfterJob = 100,
}

impl ExitState {
    /// The number in the file, also the shepherd's own exit code.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }
}

impl From<ExitState> for i32 {
    fn from(state: ExitState) -> Self {
        Self::from(state.code())
    }
}

/// What accounting says for a `failed` number, in our words.
#[must_use]
pub const fn describe(failed: u32) -> &'static str {
    match failed {
        0 => "finished",
        1 => "could not be started by the daemon",
        2 => "failed in the shepherd before it was set up",
        3 => "its description could not be written",
        4 => "the shepherd did not record its process id",
        5 => "its description could not be read",
        6 | 16 => "processor set could not be handled",
        7 => "failed before the prolog: a fault of the host",
        8 => "the prolog failed",
        9 => "the parallel start procedure could not be started",
        10 => "the parallel start procedure failed",
        11 => "the job could not be started",
        12 => "the parallel stop procedure could not be started",
        13 => "the parallel stop procedure failed",
        14 => "the epilog could not be started",
        15 => "the epilog failed",
        17 => "the shepherd was ended by a signal",
        18 => "the shepherd ended with an error",
        19 => "the shepherd left no exit status",
        20 => "the shepherd reported an error without a code",
        21 => "the job was not recognised",
        22 => "removed by hand",
        24 => "migrates to another host",
        25 => "asked to be run again",
        26 => "an input or output file could not be opened",
        27 => "shell or program not found",
        28 => "the working directory could not be entered",
        29 => "AFS is not available",
        30 => "reported an application error",
        37 => "exceeded a limit",
        38 => "the additional group could not be set",
        100 => "ended by a signal",
        _ => "ended in an unknown state",
    }
}
