//! `oxherd abandon`: the administrator's way out of a job whose processes do not end.
//!
//! A shepherd waits until nothing of its job is left, however long that takes, and the slot stays taken. Where a
//! process hangs in the kernel the administrator may decide otherwise: the shepherd then names what is left in the
//! job's record, reports the job and goes.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use oxherd_handoff::files;
use oxherd_sys::process::{self, Pid};

/// SIGPWR, which no execd sends and no person sends by accident.
const ABANDON: i32 = 30;

/// Why a job was not abandoned.
#[derive(Debug, thiserror::Error)]
pub enum AbandonError {
    #[error("cannot read {}: no such job directory, or its shepherd has not started", .0.display())]
    NoPid(PathBuf),
    #[error("process {pid} is not the shepherd of {}: it is gone, and nothing has to be abandoned", directory.display())]
    NotRunning { pid: i32, directory: PathBuf },
    #[error("cannot signal the shepherd, process {pid}")]
    Signal { pid: i32, source: io::Error },
}

/// Tells the shepherd of a job directory to stop waiting. Only while it waits does that mean anything; its trace
/// says so otherwise.
///
/// # Errors
/// [`AbandonError`].
pub fn abandon(directory: &Path) -> Result<Pid, AbandonError> {
    let number = files::read_number(directory, files::PID).ok().flatten();
    let pid = number.and_then(|number| i32::try_from(number).ok()).and_then(Pid::new);
    let pid = pid.ok_or_else(|| AbandonError::NoPid(directory.join(files::PID)))?;
    let gone = || AbandonError::NotRunning { pid: pid.number(), directory: directory.to_owned() };
    // The handle first: what is looked at next then cannot become another process on the way to the signal.
    let handle = process::open(pid).map_err(|_| gone())?;
    let working = std::fs::read_link(format!("/proc/{pid}/cwd"));
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    let ours = std::fs::canonicalize(directory)
        .ok()
        .is_some_and(|directory| working.is_ok_and(|cwd| cwd == directory));
    if !ours || name.is_ok_and(|name| !name.starts_with("sge_shep")) {
        return Err(gone());
    }
    process::signal(handle.as_fd(), ABANDON)
        .map_err(|source| AbandonError::Signal { pid: pid.number(), source })?;
    Ok(pid)
}
