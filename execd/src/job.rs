//! A job as it is handed in: what is to run, for whom, and with which options.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use oxherd_model::id::JobId;

use crate::account::Account;
use crate::options::Options;

/// What is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A script, which is copied when the job is handed in (`-b n`).
    Script { path: PathBuf, text: Vec<u8> },
    /// A command, which is left where it is (`-b y`).
    Command(OsString),
}

impl Program {
    /// The last part of the path, which is the job's name unless `-N` gives one.
    #[must_use]
    pub fn base_name(&self) -> String {
        let path = match self {
            Self::Script { path, .. } => path.as_path(),
            Self::Command(command) => command.as_ref(),
        };
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }
}

/// Where the job is handed in: what qsub sends along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The caller's environment, for `-V`, `-v NAME` and the `SGE_O_*` variables.
    pub environment: Vec<(OsString, OsString)>,
    /// The caller's working directory.
    pub directory: PathBuf,
    pub host: String,
    /// Seconds since the epoch.
    pub time: u64,
}

impl Submission {
    /// A variable of the caller.
    #[must_use]
    pub fn variable(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.environment.iter().find(|(known, _)| known == name.as_ref()).map(|(_, value)| value.as_os_str())
    }
}

/// Everything about a job that its owner decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: JobId,
    pub owner: Account,
    pub program: Program,
    pub arguments: Vec<OsString>,
    /// Of the command line and the script together.
    pub options: Options,
    pub submission: Submission,
}
