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

/// What is wanted of a descriptor, and after [`wait`] what it can do.
#[derive(Debug, Clone, Copy)]
pub struct Interest<'a> {
    fd: BorrowedFd<'a>,
    read: bool,
    write: bool,
    end: bool,
}

/// What a descriptor can do now. An end that is gone counts as both: the next call says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready {
    pub read: bool,
    pub write: bool,
}

impl<'a> Interest<'a> {
    #[must_use]
    pub const fn new(fd: BorrowedFd<'a>, read: bool, write: bool) -> Self {
        Self { fd, read, write, end: false }
    }

    /// Of a socket: also wakes when the other side has sent all it will, although nothing is to be read now.
    #[must_use]
    pub const fn or_end(mut self) -> Self {
        self.end = true;
        self
    }
}

/// Waits until one of the wishes can be met, or the time is over; one answer for each wish.
///
/// # Errors
/// As [`readable`].
pub fn wait(wishes: &[Interest<'_>], timeout: Option<Duration>) -> io::Result<Vec<Ready>> {
    let mut set: Vec<libc::pollfd> = wishes
        .iter()
        .map(|wish| libc::pollfd {
            // Nothing is wanted: then its hang-up is not wanted either.
            fd: if wish.read || wish.write || wish.end { wish.fd.as_raw_fd() } else { -1 },
            events: if wish.read { libc::POLLIN } else { 0 }
                | if wish.write { libc::POLLOUT } else { 0 }
                | if wish.end { libc::POLLRDHUP } else { 0 },
            revents: 0,
        })
        .collect();
    let limit = timeout.map(|timeout| libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let pointer = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let count = libc::nfds_t::try_from(set.len()).unwrap_or(0);
    // SAFETY: the vector has `count` valid entries; the time, if there is one, outlives the call; no mask is set.
    let result = unsafe { libc::ppoll(set.as_mut_ptr(), count, pointer, std::ptr::null()) };
    let over = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL | libc::POLLRDHUP;
    match check(result) {
        Ok(_) => Ok(set
            .iter()
            .map(|entry| Ready {
                read: entry.revents & (libc::POLLIN | over) != 0,
                write: entry.revents & (libc::POLLOUT | over) != 0,
            })
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(vec![Ready::default(); wishes.len()]),
        Err(error) => Err(error),
    }
}
