//! The name service. Look-ups load modules and talk to daemons: they belong into a child that ends, not into a
//! process that stays.

use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub name: OsString,
    pub uid: u32,
    pub gid: u32,
    pub home: OsString,
    pub shell: OsString,
}

fn owned(text: *const libc::c_char) -> OsString {
    if text.is_null() {
        return OsString::new();
    }
    // SAFETY: the name service returned a terminated string within the buffer that the caller still holds.
    OsString::from_vec(unsafe { CStr::from_ptr(text) }.to_bytes().to_vec())
}

/// Runs one of the two `getpw…_r` calls with a buffer that grows.
fn look_up(
    call: impl Fn(*mut libc::passwd, *mut libc::c_char, usize, *mut *mut libc::passwd) -> libc::c_int,
) -> io::Result<Option<User>> {
    let mut buffer = vec![0 as libc::c_char; 1024];
    loop {
        // SAFETY: an all-zero `passwd` is a valid value of this plain C struct.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut found = std::ptr::null_mut();
        match call(&raw mut entry, buffer.as_mut_ptr(), buffer.len(), &raw mut found) {
            0 if found.is_null() => return Ok(None),
            0 => {
                return Ok(Some(User {
                    name: owned(entry.pw_name),
                    uid: entry.pw_uid,
                    gid: entry.pw_gid,
                    home: owned(entry.pw_dir),
                    shell: owned(entry.pw_shell),
                }));
            }
            libc::ERANGE if buffer.len() < 1 << 22 => buffer.resize(buffer.len() * 4, 0),
            libc::EINTR => {}
            // What the various services return for "no such user".
            libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM => return Ok(None),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// Finds an account by name.
///
/// # Errors
/// Those of the name service; an unknown name is not an error.
pub fn by_name(name: &CStr) -> io::Result<Option<User>> {
    look_up(|entry, buffer, length, found| {
        // SAFETY: all pointers are valid for the call, the length is the buffer's.
        unsafe { libc::getpwnam_r(name.as_ptr(), entry, buffer, length, found) }
    })
}

/// Finds an account by number.
///
/// # Errors
/// Those of the name service; an unknown number is not an error.
pub fn by_uid(uid: u32) -> io::Result<Option<User>> {
    look_up(|entry, buffer, length, found| {
        // SAFETY: all pointers are valid for the call, the length is the buffer's.
        unsafe { libc::getpwuid_r(uid, entry, buffer, length, found) }
    })
}

/// The groups of an account, `gid` included.
///
/// # Errors
/// `EINVAL` for a name with a NUL byte, `E2BIG` for more than 65536 groups.
pub fn groups(name: &CStr, gid: u32) -> io::Result<Vec<u32>> {
    let mut groups: Vec<u32> = vec![0; 64];
    loop {
        let mut count =
            libc::c_int::try_from(groups.len()).map_err(|_| io::Error::from_raw_os_error(libc::E2BIG))?;
        // SAFETY: the vector has room for `count` entries; the name is terminated.
        let result = unsafe { libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &raw mut count) };
        let wanted = usize::try_from(count).unwrap_or(0);
        if result >= 0 {
            groups.truncate(wanted);
            return Ok(groups);
        }
        if groups.len() >= 65_536 {
            return Err(io::Error::from_raw_os_error(libc::E2BIG));
        }
        groups.resize(wanted.max(groups.len() * 2), 0);
    }
}

/// The number of a group by name.
///
/// # Errors
/// `EINVAL` for a name with a NUL byte.
pub fn group_by_name(name: &str) -> io::Result<Option<u32>> {
    let name = CString::new(name).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let mut buffer = vec![0 as libc::c_char; 4096];
    loop {
        // SAFETY: an all-zero `group` is a valid value of this plain C struct.
        let mut entry: libc::group = unsafe { std::mem::zeroed() };
        let mut found = std::ptr::null_mut();
        // SAFETY: all pointers are valid for the call, the length is the buffer's.
        let result = unsafe {
            libc::getgrnam_r(name.as_ptr(), &raw mut entry, buffer.as_mut_ptr(), buffer.len(), &raw mut found)
        };
        match result {
            0 if found.is_null() => return Ok(None),
            0 => return Ok(Some(entry.gr_gid)),
            libc::ERANGE if buffer.len() < 1 << 22 => buffer.resize(buffer.len() * 4, 0),
            libc::EINTR => {}
            libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM => return Ok(None),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}
