//! Directories by descriptor: opening below one without following anything, listing, making, removing.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::{check, check_long};

/// Opens a directory named by one component below another. Symbolic links, other file systems (bind mounts
/// included) and whatever is no directory are refused by the kernel.
///
/// # Errors
/// `EXDEV` for a mount point, `ELOOP` for a symbolic link, `ENOTDIR`, `ENOENT`, `EACCES`.
pub fn open_below(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: an all-zero `open_how` is a valid value of this plain C struct.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    how.flags = u64::from(flags.unsigned_abs());
    how.resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_XDEV;
    let size = size_of::<libc::open_how>();
    // SAFETY: the parent is open, the name terminated, the struct valid for its size.
    let fd = check_long(unsafe {
        libc::syscall(libc::SYS_openat2, parent.as_raw_fd(), name.as_ptr(), &raw const how, size)
    })?;
    let fd = libc::c_int::try_from(fd).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    // SAFETY: the call made a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Opens a directory by path, following what the administrator's path follows.
///
/// # Errors
/// Those of open(2).
pub fn open(path: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the path is terminated.
    let fd =
        check(unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) })?;
    // SAFETY: the call made a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a directory below another; an existing name is an error whatever it is.
///
/// # Errors
/// `EEXIST`, `EACCES`, `ENOSPC`.
pub fn make(parent: BorrowedFd<'_>, name: &CStr, mode: u32) -> io::Result<()> {
    // SAFETY: the parent is open, the name terminated.
    check(unsafe { libc::mkdirat(parent.as_raw_fd(), name.as_ptr(), mode) })?;
    Ok(())
}

/// Gives an open file or directory to a user and group.
///
/// # Errors
/// `EPERM`.
pub fn give(fd: BorrowedFd<'_>, uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: the descriptor is open.
    check(unsafe { libc::fchown(fd.as_raw_fd(), uid, gid) })?;
    Ok(())
}

/// Owner, mode and number of links of an open file.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    pub uid: u32,
    pub gid: u32,
    pub mode: u32,
    pub links: u64,
}

/// Looks at an open file.
///
/// # Errors
/// `EIO` and the like.
pub fn facts(fd: BorrowedFd<'_>) -> io::Result<Facts> {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the descriptor is open, the pointer valid.
    check(unsafe { libc::fstat(fd.as_raw_fd(), stat.as_mut_ptr()) })?;
    // SAFETY: filled by the successful call.
    let stat = unsafe { stat.assume_init() };
    Ok(Facts { uid: stat.st_uid, gid: stat.st_gid, mode: stat.st_mode, links: stat.st_nlink })
}

/// Removes a name that is no directory.
///
/// # Errors
/// `EISDIR`, `EACCES`, `EPERM`, `EBUSY` for a mount point.
pub fn remove_file(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: the parent is open, the name terminated.
    check(unsafe { libc::unlinkat(parent.as_raw_fd(), name.as_ptr(), 0) })?;
    Ok(())
}

/// Removes an empty directory.
///
/// # Errors
/// `ENOTEMPTY`, `ENOTDIR`, `EACCES`, `EBUSY` for a mount point.
pub fn remove_directory(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: the parent is open, the name terminated.
    check(unsafe { libc::unlinkat(parent.as_raw_fd(), name.as_ptr(), libc::AT_REMOVEDIR) })?;
    Ok(())
}

/// Makes a directory accessible to its owner. Follows a link that was put in its place: use it only with the
/// identity of whoever owns the tree, where it can do no more than they can.
///
/// # Errors
/// `EPERM` for files of others.
pub fn open_up(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: the parent is open, the name terminated.
    check(unsafe { libc::fchmodat(parent.as_raw_fd(), name.as_ptr(), 0o700, 0) })?;
    Ok(())
}

/// Moves a name from one open directory to another.
///
/// # Errors
/// Those of renameat(2).
pub fn rename(from: BorrowedFd<'_>, name: &CStr, to: BorrowedFd<'_>, new: &CStr) -> io::Result<()> {
    // SAFETY: both directories are open, both names terminated.
    check(unsafe { libc::renameat(from.as_raw_fd(), name.as_ptr(), to.as_raw_fd(), new.as_ptr()) })?;
    Ok(())
}

/// Reads the next entries of an open directory: names without `.` and `..`, and whether each is surely a
/// directory. An empty list is the end.
///
/// # Errors
/// Those of getdents64(2).
pub fn list(directory: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Vec<(CString, bool)>> {
    loop {
        // SAFETY: the descriptor is open; pointer and length belong to the buffer.
        let filled = check_long(unsafe {
            libc::syscall(libc::SYS_getdents64, directory.as_raw_fd(), buffer.as_mut_ptr(), buffer.len())
        })?;
        let filled = usize::try_from(filled).unwrap_or(0).min(buffer.len());
        let mut entries = Vec::new();
        let mut rest = &buffer[..filled];
        // Each record: 8 bytes inode, 8 offset, 2 length of the record, 1 type, then the terminated name.
        while let [_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, low, high, kind, ..] = rest {
            let length = usize::from(u16::from_ne_bytes([*low, *high]));
            let Some(record) = rest.get(..length).filter(|record| record.len() > 19) else { break };
            if let Ok(name) = CStr::from_bytes_until_nul(&record[19..])
                && !matches!(name.to_bytes(), b"." | b"..")
            {
                entries.push((name.to_owned(), *kind == libc::DT_DIR));
            }
            rest = &rest[length..];
        }
        // A block that had only the two names is not the end.
        if filled == 0 || !entries.is_empty() {
            return Ok(entries);
        }
    }
}

/// Starts the listing of a directory from its beginning again.
///
/// # Errors
/// None in practice.
pub fn rewind(directory: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open.
    check_long(unsafe { libc::lseek(directory.as_raw_fd(), 0, libc::SEEK_SET) })?;
    Ok(())
}
