//! The foreground master: runs one job under a shepherd, with no daemon before, beside or after it.
//!
//! The job gets a number, a plan, a job directory and a shepherd, which is then told what the terminal says. If the
//! master dies, the shepherd goes on and ends the job in order; its directory stays and tells what happened. If the
//! shepherd dies, the master ends what is left of the job.

pub mod directories;
mod orphans;
mod rerun;
mod shepherd;
mod spool;
mod supervise;
pub mod watch;

use std::io;
use std::path::PathBuf;

use oxherd_handoff::{ConfigError, Outcome, ShepherdEnd};
use oxherd_model::id::JobId;
use oxherd_model::queue_instance::QueueInstance;

use crate::account::AccountError;
use crate::gid_lease::{self, GidLease, LeaseError};
use crate::job::{Job, Program};
use crate::plan::{HostFacts, JobPlan, PlanError, Stream, WriteError, plan};
use directories::Directories;
use spool::Spool;

pub use rerun::Rerun;
pub use shepherd::Shepherd;

/// Everything the master needs besides the job.
#[derive(Debug)]
pub struct Master {
    pub directories: Directories,
    pub shepherd: Shepherd,
    /// Started as [`watch`], so that a job is suspended when its master is stopped; `None` does without.
    pub watcher: Option<PathBuf>,
    /// User id the master runs as.
    pub uid: u32,
    /// Leave the job directory and the copy of the script behind.
    pub keep: bool,
}

/// What became of a job.
#[derive(Debug)]
pub struct Finished {
    pub job_id: JobId,
    pub outcome: Outcome,
    pub shepherd: ShepherdEnd,
    /// Still there: it was to be kept.
    pub job_dir: Option<PathBuf>,
    /// What could not be cleaned up.
    pub leftover: Option<String>,
}

/// Why a job was not run. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Value(#[from] ConfigError),
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error("cannot {action} {}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot read {}", path.display())]
    Input { path: PathBuf, source: io::Error },
    #[error("{} does not hold a job number: `{found}`", path.display())]
    Counter { path: PathBuf, found: String },
    #[error(transparent)]
    Lease(#[from] LeaseError),
    #[error("cannot start the shepherd {}", path.display())]
    Shepherd { path: PathBuf, source: io::Error },
    #[error("cannot watch over the job")]
    Watch { source: io::Error },
    #[error("{} holds a job of `{owner}`; only that user and root can start it again", dir.display())]
    NotYours { dir: PathBuf, owner: String },
    #[error("{} is gone, and so is the script of the job in {}", script.display(), dir.display())]
    ScriptGone { script: PathBuf, dir: PathBuf },
}

impl RunError {
    /// 125 for bad input, 126 for what cannot be started, 127 for what is not there.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Plan(_)
            | Self::Value(_)
            | Self::Account(_)
            | Self::Input { .. }
            | Self::NotYours { .. } => 125,
            Self::ScriptGone { .. } => 127,
            _ => 126,
        }
    }
}

impl From<WriteError> for RunError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Value(error) => Self::Value(error),
            WriteError::File { path, source } => Self::File { action: "write", path, source },
        }
    }
}

impl Finished {
    /// The exit code of `oxherd run`: the job's own where there is one.
    ///
    /// A job that could not be started gives 126, one whose shell or program is missing 127. Where the job ended well
    /// and something after it failed, 1.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let job = self.outcome.usage.as_ref().map(|usage| u8::try_from(usage.exit_status).unwrap_or(u8::MAX));
        match (self.outcome.failed, job) {
            (27, _) => 127,
            // Refused before it ran; a job that ends with 100 itself has that code in its usage.
            (30, Some(100)) => 100,
            (1..=11 | 16..=19 | 26 | 28..=30 | 38, _) | (_, None) => 126,
            (0, Some(code)) => code,
            (_, Some(code)) => code.max(1),
        }
    }

    /// One line for people; `None` for a job that ran to its end, whatever its exit code.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        let Outcome { failed, reason, .. } = &self.outcome;
        if *failed == 0 {
            return None;
        }
        let mut text = format!("job {}: {}", self.job_id, self.outcome.description());
        if let Some(reason) = reason {
            text.push_str(": ");
            text.push_str(reason);
        }
        Some(text)
    }
}

impl Master {
    /// The plan a job would get, with the number it would have. Changes nothing.
    ///
    /// # Errors
    /// Those of the plan; the job number cannot be read.
    pub fn rehearse(
        &self,
        mut job: Job,
        queue: &QueueInstance,
        host: &HostFacts,
    ) -> Result<JobPlan, RunError> {
        job.id = self.directories.next_job_id()?;
        Ok(plan(&job, queue, host)?)
    }

    /// Runs a job to its end. `planned` is called with the final plan before anything is started.
    ///
    /// The caller is single-threaded: signals are blocked from here on and read by this function.
    ///
    /// # Errors
    /// [`RunError`]: the job did not run. What the job did, and that it failed, is no error.
    pub fn run(
        &self,
        mut job: Job,
        queue: &QueueInstance,
        host: &HostFacts,
        planned: impl FnOnce(&JobPlan),
    ) -> Result<Finished, RunError> {
        // Everything that can be refused is refused before a number is used.
        plan(&job, queue, host)?.config()?;
        block_signals()?;
        let mut spool = Spool::create(&self.directories)?;
        job.id = spool.job_id();
        let mut plan = plan(&job, queue, host)?;
        let lease = self.lease(spool.job_id())?;
        plan.add_grp_id = lease.as_ref().map(GidLease::gid);
        if let Program::Script { text, .. } = &job.program {
            spool.script(text)?;
        }
        plan.write_dir(spool.dir())?;
        planned(&plan);
        let own = plan.stdout.value == Stream::Own || plan.stderr.value == Stream::Own;
        let pipes = own && plan.owner.uid != self.uid;
        self.supervise(spool, plan.add_grp_id, pipes, host)
    }

    /// Starts the shepherd in a prepared job directory and cleans up after it.
    fn supervise(
        &self,
        mut spool: Spool,
        gid: Option<u32>,
        pipes: bool,
        host: &HostFacts,
    ) -> Result<Finished, RunError> {
        let name = format!("sge_shepherd-{}", spool.job_id());
        let end = supervise::supervise(self, &name, spool.dir(), pipes, host)?;
        let mut leftover = None;
        if matches!(end, ShepherdEnd::Signalled(_)) {
            leftover = orphans::clean_up(spool.dir(), gid);
        }
        let outcome = Outcome::read_dir(spool.dir(), end).map_err(|source| RunError::File {
            action: "read the result in",
            path: spool.dir().to_owned(),
            source,
        })?;
        let job_id = spool.job_id();
        let mut job_dir = None;
        if self.keep {
            job_dir = Some(spool.keep());
        } else if let Err(left) = spool.remove() {
            leftover.get_or_insert(left);
        }
        Ok(Finished { job_id, outcome, shepherd: end, job_dir, leftover })
    }

    /// Only root can give a process an additional group.
    fn lease(&self, job_id: JobId) -> Result<Option<GidLease>, RunError> {
        if self.uid != 0 {
            return Ok(None);
        }
        let range = gid_lease::DEFAULT_RANGE;
        Ok(Some(GidLease::take(&self.directories.run, &range, job_id.0, gid_lease::carried_groups)?))
    }
}

/// Seconds since the epoch: the submission time of a job that is handed in now.
#[must_use]
pub fn now() -> u64 {
    oxherd_sys::clock::realtime().as_secs()
}

/// From here on signals wait for [`supervise`]: none may end the master between the first file and the last.
fn block_signals() -> Result<(), RunError> {
    oxherd_sys::signals::set_mask(&oxherd_sys::signals::Set::full())
        .map_err(|source| RunError::Watch { source })
}
