//! Descriptors: pipes, numbers that must be exact, and closing what nobody asked for.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use crate::check;

/// A pipe, both ends close-on-exec; reader first.
///
/// # Errors
/// `EMFILE`, `ENFILE`.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: the array has room for the two descriptors.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: the call succeeded: both numbers are open descriptors that nobody else owns.
    let reader = unsafe { OwnedFd::from_raw_fd(ends[0]) };
    // SAFETY: as above.
    let writer = unsafe { OwnedFd::from_raw_fd(ends[1]) };
    Ok((reader, writer))
}

/// Flag of open(2): neither the opening nor what follows waits.
pub const NONBLOCK: i32 = libc::O_NONBLOCK;

/// Makes reads and writes of a descriptor return at once.
///
/// # Errors
/// `EBADF`.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = flags(fd)?;
    set_flags(fd, flags | NONBLOCK)
}

/// Makes reads and writes of a descriptor wait.
///
/// # Errors
/// `EBADF`.
pub fn set_blocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = flags(fd)?;
    set_flags(fd, flags & !NONBLOCK)
}

fn flags(fd: BorrowedFd<'_>) -> io::Result<i32> {
    // SAFETY: the descriptor is open; F_GETFL takes no argument.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })
}

fn set_flags(fd: BorrowedFd<'_>, flags: i32) -> io::Result<()> {
    // SAFETY: the descriptor is open; F_SETFL takes an int.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags) })?;
    Ok(())
}

/// Closes every descriptor from `first` on, in one call (Linux 5.9), whatever RLIMIT_NOFILE is.
///
/// To be called before the program has opened anything of its own, or in a child right before exec.
///
/// # Errors
/// `ENOSYS` before Linux 5.9.
pub fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: closes numbers only; no object of ours owns one of them by the contract above.
    check_close(unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) })
}

/// Closes every descriptor from 3 on but some. Only for a child that never returns to the code that owns the others.
///
/// # Errors
/// `ENOSYS` before Linux 5.9.
pub fn close_all_but(kept: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut kept: Vec<u32> = kept.iter().map(|fd| fd.as_raw_fd().unsigned_abs()).collect();
    kept.sort_unstable();
    let mut first = 3;
    for number in kept {
        if number > first {
            // SAFETY: closes numbers only; their owners never run again in this process by the contract above.
            check_close(unsafe { libc::syscall(libc::SYS_close_range, first, number - 1, 0) })?;
        }
        first = first.max(number + 1);
    }
    close_from(first)
}

/// Marks every descriptor from `first` on close-on-exec.
///
/// # Errors
/// `ENOSYS` before Linux 5.9, `EINVAL` before 5.11.
pub fn cloexec_from(first: u32) -> io::Result<()> {
    // SAFETY: changes flags only.
    check_close(unsafe {
        libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    })
}

fn check_close(result: libc::c_long) -> io::Result<()> {
    crate::check_long(result).map(drop)
}

/// Makes `fd` available under the number `target` (0, 1 or 2), without close-on-exec.
///
/// # Errors
/// `EBADF`, `EBUSY`.
pub fn place(fd: BorrowedFd<'_>, target: RawFd) -> io::Result<()> {
    if fd.as_raw_fd() == target {
        // dup2 onto itself would leave close-on-exec set.
        // SAFETY: the descriptor is open; F_SETFD takes an int.
        check(unsafe { libc::fcntl(target, libc::F_SETFD, 0) })?;
        return Ok(());
    }
    // SAFETY: `fd` is open; what `target` named before is closed by the call, and only the three standard
    // descriptors, which no object owns, are ever named.
    check(unsafe { libc::dup2(fd.as_raw_fd(), target) })?;
    Ok(())
}

/// A copy of a descriptor with a number of at least 3, close-on-exec.
///
/// # Errors
/// `EMFILE`.
pub fn duplicate_high(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is open; F_DUPFD_CLOEXEC takes an int.
    let copy = check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: the call made a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Borrows one of the standard descriptors 0, 1 and 2.
#[must_use]
pub fn standard(number: RawFd) -> BorrowedFd<'static> {
    debug_assert!((0..3).contains(&number));
    // SAFETY: the standard descriptors are open for the whole life of the program ([`ensure_standard`]).
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// Opens `/dev/null` for each of 0, 1 and 2 that is closed, so that no file opened later gets such a number.
///
/// # Errors
/// Those of opening `/dev/null`.
pub fn ensure_standard() -> io::Result<()> {
    for number in 0..3 {
        // SAFETY: F_GETFD takes no argument and fails cleanly on a closed number.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
            let null = File::options().read(true).write(true).open("/dev/null")?;
            if null.as_raw_fd() == number {
                std::mem::forget(null);
            } else {
                place(std::os::fd::AsFd::as_fd(&null), number)?;
            }
        }
    }
    Ok(())
}
