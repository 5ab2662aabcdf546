//! `oxherd abandon`: gives up on processes that do not end.

use std::path::PathBuf;
use std::process::ExitCode;

use oxherd_execd::foreground::directories::Directories;
use oxherd_execd::{abandon, account};
use oxherd_model::id::JobId;

use crate::failure::{BAD_INPUT, CANNOT_START, Failure};
use crate::output;
use crate::run::host_name;

/// Stop waiting for processes of an ended job that do not end.
///
/// A job is reported only when none of its processes is left; the trace of its directory names those that are waited
/// for. After this command the job is reported without them, and its record says so.
#[derive(Debug, clap::Args)]
pub(crate) struct AbandonArguments {
    /// Number of a job of `oxherd run`, or a job directory such as `…/active_jobs/4711.1`
    #[arg(value_name = "JOB|DIR")]
    job: String,
}

/// Runs the command.
pub(crate) fn main(arguments: &AbandonArguments) -> ExitCode {
    let result = directory(&arguments.job).and_then(|directory| {
        abandon::abandon(&directory).map_err(|error| Failure::new(CANNOT_START, error))
    });
    match result {
        Ok(pid) => {
            output::say(format!("told the shepherd of job {}, process {pid}", arguments.job));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            output::say(&failure);
            ExitCode::from(failure.code)
        }
    }
}

fn directory(job: &str) -> Result<PathBuf, Failure> {
    if let Ok(number) = job.parse() {
        let own = account::Account::own().map_err(|error| Failure::new(BAD_INPUT, error))?;
        let host = host_name()?;
        let directories = Directories::find(own.uid, &host, &own.home, |name| std::env::var_os(name));
        return Ok(directories.job_dir(JobId(number)));
    }
    if job.contains('/') {
        return Ok(PathBuf::from(job));
    }
    Err(Failure::text(BAD_INPUT, format!("expected a job number or a job directory, found `{job}`")))
}
