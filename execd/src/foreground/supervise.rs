//! Watching over the shepherd: the terminal's keys become its orders, its output goes where ours goes.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus};

use oxherd_handoff::ShepherdEnd;
use oxherd_sys::process::{self, Pid};
use oxherd_sys::signals::SignalFd;
use oxherd_sys::{fd, poll};

use super::watch::{Watcher, Word, suspend};
use super::{Master, RunError};
use crate::plan::HostFacts;

const HUP: i32 = 1;
const INT: i32 = 2;
const QUIT: i32 = 3;
const USR1: i32 = 10;
const TERM: i32 = 15;
const CHLD: i32 = 17;
const CONT: i32 = 18;
const STOP: i32 = 19;
const TSTP: i32 = 20;

/// What a signal to the master means for the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// As the queue says: notify, then the terminate method.
    Terminate,
    /// At once.
    Kill,
    /// By the suspend method; the master stops as well, so that the shell has its terminal back.
    Suspend,
    Resume,
    /// Passed on.
    Signal(i32),
    Reap,
}

/// The first signal that asks for the end does so in order, every further one at once.
fn order(number: i32, ends: &mut u32) -> Option<Order> {
    match number {
        INT | TERM | HUP => {
            *ends += 1;
            Some(if *ends == 1 { Order::Terminate } else { Order::Kill })
        }
        QUIT => {
            *ends += 1;
            Some(Order::Kill)
        }
        TSTP => Some(Order::Suspend),
        CONT => Some(Order::Resume),
        USR1 => Some(Order::Signal(USR1)),
        CHLD => Some(Order::Reap),
        _ => None,
    }
}

/// Starts the shepherd and stays until it has ended.
pub(super) fn supervise(
    master: &Master,
    name: &str,
    dir: &Path,
    pipes: bool,
    host: &HostFacts,
) -> Result<ShepherdEnd, RunError> {
    let watch = |source| RunError::Watch { source };
    // Signals are blocked already, and stay so in the shepherd: one that comes while it starts is kept for it.
    let mut signals = SignalFd::new().map_err(watch)?;
    let mut child = master
        .shepherd
        .start(name, dir, pipes, host)
        .map_err(|source| RunError::Shepherd { path: master.shepherd.path().to_owned(), source })?;
    // Without it everything works but a suspension by SIGSTOP.
    let mut watcher =
        master.watcher.as_ref().and_then(|program| Watcher::start(program, child.id(), dir).ok());
    let mut stdout = Pump::new(child.stdout.take().map(OwnedFd::from)).map_err(watch)?;
    let mut stderr = Pump::new(child.stderr.take().map(OwnedFd::from)).map_err(watch)?;
    let ignored = ignored(&std::fs::read_to_string("/proc/self/status").map_err(watch)?);
    let mut ends = 0;
    loop {
        let [signalled, out, err] =
            poll::readable([Some(signals.as_fd()), stdout.as_fd(), stderr.as_fd()], None).map_err(watch)?;
        if out {
            stdout.copy(&mut io::stdout().lock(), 1);
        }
        if err {
            stderr.copy(&mut io::stderr().lock(), 1);
        }
        if !signalled {
            continue;
        }
        while let Some((number, ..)) = signals.take().map_err(watch)? {
            // Who started us wants it so, `nohup` for one. A blocked signal is delivered all the same.
            if number != CHLD && ignored >> (number - 1) & 1 == 1 {
                continue;
            }
            match order(number, &mut ends) {
                Some(Order::Reap) => {
                    let Some(status) = child.try_wait().map_err(watch)? else { continue };
                    // What is still in the pipes was written by the job; who still holds them is not waited for.
                    stdout.copy(&mut io::stdout().lock(), usize::MAX);
                    stderr.copy(&mut io::stderr().lock(), usize::MAX);
                    return Ok(end(status));
                }
                Some(order) => carry_out(order, &child, dir, watcher.as_mut()),
                None => {}
            }
        }
    }
}

/// The set of signals that were ignored when this program was started, bit 0 being signal 1.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn end(status: ExitStatus) -> ShepherdEnd {
    let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    match (status.code(), status.signal()) {
        (Some(code), _) => ShepherdEnd::Exited(byte(code)),
        (_, Some(signal)) => ShepherdEnd::Signalled(byte(signal)),
        _ => ShepherdEnd::Unknown,
    }
}

/// Tells the shepherd. One that is gone needs no orders, so nothing here fails.
fn carry_out(order: Order, child: &Child, dir: &Path, watcher: Option<&mut Watcher>) {
    let tell = |number| {
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::new) {
            let _ = process::kill_child(pid, number);
        }
    };
    match order {
        Order::Terminate => tell(TERM),
        Order::Kill => tell(QUIT),
        Order::Signal(number) => tell(number),
        Order::Resume => {
            if !watcher.is_some_and(|watcher| watcher.say(Word::Continued)) {
                tell(CONT);
            }
        }
        Order::Suspend => {
            if !watcher.is_some_and(|watcher| watcher.say(Word::Stopping)) {
                suspend(dir, tell);
            }
            let _ = process::kill_child(Pid::current(), STOP);
        }
        Order::Reap => {}
    }
}

/// One of the job's streams on its way to ours.
struct Pump(Option<File>);

impl Pump {
    fn new(end: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(end) = &end {
            fd::set_nonblocking(end.as_fd())?;
        }
        Ok(Self(end.map(File::from)))
    }

    fn as_fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.0.as_ref().map(|file| file.as_fd())
    }

    /// Copies what is there, at most `rounds` buffers of it. Where our own stream is closed the job's is read on, so
    /// that the job is not stopped by it.
    fn copy(&mut self, to: &mut impl Write, rounds: usize) {
        let mut buffer = [0; 64 * 1024];
        for _ in 0..rounds {
            let Some(from) = &mut self.0 else { return };
            match from.read(&mut buffer) {
                Ok(0) => self.0 = None,
                Ok(count) => {
                    let _ = to.write_all(&buffer[..count]).and_then(|()| to.flush());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.0 = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        assert_eq!(ignored("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"), 0x1001);
        assert_eq!(ignored(""), 0);
    }

    #[test]
    fn the_first_request_to_end_is_in_order_and_the_next_at_once() {
        let mut ends = 0;
        assert_eq!(order(INT, &mut ends), Some(Order::Terminate));
        assert_eq!(order(TSTP, &mut ends), Some(Order::Suspend));
        assert_eq!(order(CONT, &mut ends), Some(Order::Resume));
        assert_eq!(order(TERM, &mut ends), Some(Order::Kill));
        assert_eq!(order(INT, &mut ends), Some(Order::Kill));
        assert_eq!(order(28, &mut ends), None);
        let mut ends = 0;
        assert_eq!(order(QUIT, &mut ends), Some(Order::Kill));
    }
}
