//! Names of the files in the job directory, and the three that hold a single number.

use std::io;
use std::path::Path;

pub const CONFIG: &str = "config";
pub const ENVIRONMENT: &str = "environment";
pub const PE_HOSTFILE: &str = "pe_hostfile";
pub const SIGNAL: &str = "signal";
pub const TRACE: &str = "trace";
pub const ERROR: &str = "error";
pub const EXIT_STATUS: &str = "exit_status";
pub const PID: &str = "pid";
pub const JOB_PID: &str = "job_pid";
pub const ADDGRPID: &str = "addgrpid";
pub const USAGE: &str = "usage";
pub const CHECKPOINTED: &str = "checkpointed";
pub const NORESOURCES: &str = "noresources";
pub const SHEPHERD_ABOUT_TO_EXIT: &str = "shepherd_about_to_exit";

/// Files of an earlier run in the same directory (KEEP_ACTIVE) that would be taken for this run's result.
/// Not `signal`: an order may have been written for this run already.
pub const STALE: [&str; 8] =
    [ERROR, EXIT_STATUS, USAGE, CHECKPOINTED, ADDGRPID, PID, JOB_PID, SHEPHERD_ABOUT_TO_EXIT];

/// Reads `pid`, `job_pid` or `addgrpid`: one decimal number and a newline. `None` as long as it is not complete.
///
/// # Errors
/// Those of reading the file, a missing file excepted.
pub fn read_number(dir: &Path, name: &str) -> io::Result<Option<u32>> {
    match std::fs::read(dir.join(name)) {
        Ok(text) => Ok(number(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The number in the content of such a file.
#[must_use]
pub fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.strip_suffix('\n')?.trim().parse().ok()
}
