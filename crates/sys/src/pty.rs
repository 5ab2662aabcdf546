//! Pseudo terminals.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::check;

/// A terminal's size in characters and pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub rows: u16,
    pub columns: u16,
    pub x_pixels: u16,
    pub y_pixels: u16,
}

/// Makes a terminal: the master, and the path of the slave. Both are close-on-exec.
///
/// # Errors
/// Those of opening `/dev/ptmx`, `ENOSPC` where there are no more terminals.
pub fn open() -> io::Result<(File, CString)> {
    let flags = libc::O_NOCTTY | libc::O_CLOEXEC;
    let master = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/ptmx")?;
    let unlock: libc::c_int = 0;
    // SAFETY: the descriptor is open, the pointer valid; the request reads an int.
    check(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlock) })?;
    let mut number: libc::c_uint = 0;
    // SAFETY: the descriptor is open, the pointer valid; the request writes an unsigned int.
    check(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTN, &raw mut number) })?;
    let path = CString::new(format!("/dev/pts/{number}")).unwrap_or_default();
    Ok((master, path))
}

/// Opens the slave of a master, without going by a name that another could stand behind.
///
/// # Errors
/// `EIO` where the master is gone.
pub fn open_slave(master: BorrowedFd<'_>) -> io::Result<File> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the descriptor is open; the request takes flags by value and makes a descriptor.
    let fd = check(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, flags) })?;
    // SAFETY: the call made a new descriptor that nobody else owns.
    Ok(unsafe { <File as std::os::fd::FromRawFd>::from_raw_fd(fd) })
}

/// Makes a terminal the controlling one of the calling session's leader.
///
/// # Errors
/// `EPERM` where the session has one already, or the terminal another session.
pub fn control(slave: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open; the request takes a number by value.
    check(unsafe { libc::ioctl(slave.as_raw_fd(), libc::TIOCSCTTY, 0) })?;
    Ok(())
}

/// Sets the size; the programs on the terminal are told.
///
/// # Errors
/// `ENOTTY`.
pub fn resize(master: BorrowedFd<'_>, size: Size) -> io::Result<()> {
    let size = libc::winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: size.x_pixels,
        ws_ypixel: size.y_pixels,
    };
    // SAFETY: the descriptor is open, the pointer valid for the request.
    check(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) })?;
    Ok(())
}

/// Output is passed on as it is: the client's terminal adds the carriage returns.
///
/// # Errors
/// `ENOTTY`.
pub fn raw_output(terminal: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: an all-zero termios is a valid value of this plain C struct.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, the pointer valid.
    check(unsafe { libc::tcgetattr(terminal.as_raw_fd(), &raw mut settings) })?;
    settings.c_oflag &= !libc::ONLCR;
    // SAFETY: as above.
    check(unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, &raw const settings) })?;
    Ok(())
}

/// The owner and mode of a slave: its user alone may read it, others may write messages as the group `tty` allows.
///
/// # Errors
/// `EPERM`.
pub fn give(slave: &File, uid: u32) -> io::Result<()> {
    let gid = crate::directory::facts(slave.as_fd())?.gid;
    crate::directory::give(slave.as_fd(), uid, gid)
}
