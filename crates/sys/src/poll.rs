//! Waiting for descriptors.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::check;

/// Waits until one of the descriptors can be read (or its other end is gone), or the time is over.
/// Returns one flag for each descriptor; all false after the time.
///
/// # Errors
/// `EINVAL` where RLIMIT_NOFILE is below the number of descriptors. Interruption is not an error: all flags are false.
pub fn readable<const N: usize>(
    fds: [Option<BorrowedFd<'_>>; N],
    timeout: Option<Duration>,
) -> io::Result<[bool; N]> {
    // A negative descriptor is skipped by the kernel.
    let mut set = fds.map(|fd| libc::pollfd {
        fd: fd.map_or(-1, |fd| fd.as_raw_fd()),
        events: libc::POLLIN,
        revents: 0,
    });
    let limit = timeout.map(|timeout| libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let pointer = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the array has N valid entries; the time, if there is one, outlives the call; no mask is set.
    let result = unsafe { libc::ppoll(set.as_mut_ptr(), N as libc::nfds_t, pointer, std::ptr::null()) };
    match check(result) {
        Ok(_) => Ok(set.map(|entry| entry.revents != 0)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok([false; N]),
        Err(error) => Err(error),
    }
}

/// Lets time pass, for the rare loop that has nothing it could wait for.
///
/// # Errors
/// None in practice.
pub fn pause(time: Duration) -> io::Result<()> {
    readable::<0>([], Some(time)).map(drop)
}
