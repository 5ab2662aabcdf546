//! Signals as a descriptor, and the clean state a job must start with.

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd};

use crate::check;

/// A set of signals.
#[derive(Clone, Copy)]
pub struct Set(libc::sigset_t);

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Set")
    }
}

impl Set {
    /// Every signal.
    #[must_use]
    pub fn full() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the pointer is valid; the call initialises the whole set.
        unsafe { libc::sigfillset(set.as_mut_ptr()) };
        // SAFETY: initialised by the call above.
        Self(unsafe { set.assume_init() })
    }

    /// No signal.
    #[must_use]
    pub fn empty() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the pointer is valid; the call initialises the whole set.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: initialised by the call above.
        Self(unsafe { set.assume_init() })
    }
}

/// Replaces the signal mask of the calling thread.
///
/// # Errors
/// None in practice.
pub fn set_mask(set: &Set) -> io::Result<()> {
    // SAFETY: the set is initialised; no old mask is asked for.
    check(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set.0, std::ptr::null_mut()) })?;
    Ok(())
}

/// The signals that this process ignores; `None` where the kernel does not say.
#[must_use]
pub fn ignored() -> Option<Vec<i32>> {
    // One read: the file is shorter, and its size is not known before.
    let mut buffer = [0; 4096];
    let length = File::open("/proc/self/status").ok()?.read(&mut buffer).ok()?;
    let status = String::from_utf8_lossy(&buffer[..length]);
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some((1..=64).filter(|number| mask >> (number - 1) & 1 == 1).collect())
}

/// Gives signals their default action. exec does that for handled signals, not for ignored ones: Rust's runtime
/// ignores SIGPIPE, and whoever started us may have ignored more.
pub fn reset(numbers: impl IntoIterator<Item = i32>) {
    for number in numbers {
        // SAFETY: SIG_DFL is a valid action for every signal; KILL, STOP and the two of the C library refuse it.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
}

/// Signals delivered by reading a descriptor.
#[derive(Debug)]
pub struct SignalFd(File);

impl SignalFd {
    /// All signals; they must be blocked.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE`.
    pub fn new() -> io::Result<Self> {
        let set = Set::full();
        // SAFETY: -1 asks for a new descriptor; the set is initialised.
        let fd =
            check(unsafe { libc::signalfd(-1, &raw const set.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })?;
        // SAFETY: the call made a new descriptor that nobody else owns.
        Ok(Self(unsafe { File::from_raw_fd(fd) }))
    }

    /// The next pending signal: its number, process id and user id of its sender; `None` when nothing is pending.
    ///
    /// # Errors
    /// Those of reading.
    pub fn take(&mut self) -> io::Result<Option<(i32, u32, u32)>> {
        let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
        match self.0.read(&mut info) {
            Ok(count) if count == info.len() => {
                // The first field is the number, the fourth and fifth the sender: all 32 bits wide, in host order.
                let word =
                    |at: usize| u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
                Ok(Some((i32::try_from(word(0)).unwrap_or(0), word(12), word(16))))
            }
            Ok(_) => Ok(None),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
