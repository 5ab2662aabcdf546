//! A stopped master cannot tell anybody that it was stopped: SIGSTOP is not delivered. A second process looks at its
//! state and has the job suspended by the queue's method.
//!
//! The two share a pipe: a byte says that the master is about to stop, or goes on; its end, that the master is gone.
//! Only the watcher suspends and resumes, so that the two orders cannot overtake each other.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use oxherd_handoff::{files, signal};
use oxherd_sys::process::{self, Pid};
use oxherd_sys::{fd, poll};

/// What the process is called, and a program that is called so is one.
const PROCESS_NAME: &str = "oxherd-watch";
/// How often the master's state is read. Nothing in the kernel reports it to anybody but its parent.
const INTERVAL: Duration = Duration::from_millis(200);
const STOP: i32 = 19;
const TTIN: i32 = 21;
const CONT: i32 = 18;

/// What the master says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Word {
    Stopping = b's',
    Continued = b'c',
}

/// The master's side.
#[derive(Debug)]
pub(super) struct Watcher {
    process: Child,
    pipe: Option<File>,
}

impl Watcher {
    /// Starts `program`, which must call [`main`] when [`is_called`] says so.
    pub(super) fn start(program: &Path, shepherd: u32, dir: &Path) -> io::Result<Self> {
        let (reader, writer): (OwnedFd, OwnedFd) = fd::pipe()?;
        let mut command = Command::new(program);
        command.arg0(PROCESS_NAME).arg(std::process::id().to_string()).arg(shepherd.to_string()).arg(dir);
        // A group of its own: what stops the master's group must not stop this one.
        command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).env_clear();
        Ok(Self { process: command.spawn()?, pipe: Some(writer.into()) })
    }

    /// Says what the master does next; false if nobody listens any more.
    pub(super) fn say(&mut self, word: Word) -> bool {
        self.pipe.as_mut().is_some_and(|pipe| pipe.write_all(&[word as u8]).is_ok())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.pipe = None;
        let _ = self.process.wait();
    }
}

/// Whether a program called by this name is to be the watcher.
#[must_use]
pub fn is_called(argv0: &OsStr) -> bool {
    argv0 == PROCESS_NAME
}

/// Tells the shepherd to suspend the job.
pub(super) fn suspend(dir: &Path, tell: impl FnOnce(i32)) {
    if std::fs::write(dir.join(files::SIGNAL), signal::text(STOP)).is_ok() {
        tell(TTIN);
    }
}

/// The watcher: arguments are the process ids of master and shepherd, and the job directory. Ends with the master.
#[must_use]
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let mut number = || arguments.next()?.to_str()?.parse::<i32>().ok();
    let (Some(master), Some(shepherd)) = (number(), number().and_then(Pid::new)) else {
        return ExitCode::FAILURE;
    };
    let Some(dir) = arguments.next().map(PathBuf::from) else { return ExitCode::FAILURE };
    match watch(&PathBuf::from(format!("/proc/{master}/stat")), shepherd, &dir) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn watch(state: &Path, shepherd: Pid, dir: &Path) -> io::Result<()> {
    // A handle: the number may be another's by the time it is used.
    let shepherd = process::open(shepherd)?;
    let tell = |number| {
        // A shepherd that is gone needs no orders.
        let _ = process::signal(shepherd.as_fd(), number);
    };
    let mut pipe = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut suspended = false;
    loop {
        let stopped = is_stopped(&std::fs::read_to_string(state)?);
        // Read after the state: what the master says before it stops is heard before it is seen to be stopped.
        let timeout = if stopped && !suspended { Duration::ZERO } else { INTERVAL };
        let [readable] = poll::readable([Some(pipe.as_fd())], Some(timeout))?;
        let mut word = [0];
        let wanted = if readable {
            if pipe.read(&mut word)? == 0 {
                return Ok(());
            }
            word[0] == Word::Stopping as u8
        } else {
            stopped || suspended
        };
        match (suspended, wanted) {
            (false, true) => suspend(dir, tell),
            (true, false) => tell(CONT),
            _ => {}
        }
        suspended = wanted;
    }
}

/// The state in `/proc/PID/stat`, behind the name, which may contain anything.
fn is_stopped(stat: &str) -> bool {
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_stands_behind_the_name() {
        assert!(is_stopped("12 (a) T b) T 1 12"));
        assert!(!is_stopped("12 (a) T b) S 1 12"));
        assert!(!is_stopped(""));
    }
}
