//! The only crate of OXHERD with unsafe code: small, safe, boring wrappers around Linux.
//!
//! Each function is one operation of the system with its errors as [`std::io::Error`]. Nothing here decides
//! anything: policy, order and meaning belong to the callers.
#![allow(unsafe_code)]

pub mod affinity;
pub mod clock;
pub mod credentials;
pub mod directory;
pub mod exec;
pub mod fd;
pub mod limits;
pub mod net;
pub mod poll;
pub mod process;
pub mod pty;
pub mod rmtree;
pub mod signals;
pub mod users;

use std::io;

/// Turns the `-1` of a system call into the error it left.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The same for calls through `syscall(2)`.
fn check_long(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
