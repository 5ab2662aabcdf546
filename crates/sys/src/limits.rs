//! Resource limits and nice values of the calling process.

use std::io;

use crate::check;

/// A resource of setrlimit(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    Cpu,
    AddressSpace,
    Stack,
    Data,
    FileSize,
    Core,
    Rss,
    Descriptors,
    Processes,
    MemoryLocked,
    Locks,
}

impl Resource {
    const fn number(self) -> libc::__rlimit_resource_t {
        match self {
            Self::Cpu => libc::RLIMIT_CPU,
            Self::AddressSpace => libc::RLIMIT_AS,
            Self::Stack => libc::RLIMIT_STACK,
            Self::Data => libc::RLIMIT_DATA,
            Self::FileSize => libc::RLIMIT_FSIZE,
            Self::Core => libc::RLIMIT_CORE,
            Self::Rss => libc::RLIMIT_RSS,
            Self::Descriptors => libc::RLIMIT_NOFILE,
            Self::Processes => libc::RLIMIT_NPROC,
            Self::MemoryLocked => libc::RLIMIT_MEMLOCK,
            Self::Locks => libc::RLIMIT_LOCKS,
        }
    }
}

/// Soft and hard limit; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub soft: Option<u64>,
    pub hard: Option<u64>,
}

fn raw(limit: Option<u64>) -> libc::rlim_t {
    limit.unwrap_or(libc::RLIM_INFINITY)
}

fn cooked(limit: libc::rlim_t) -> Option<u64> {
    (limit != libc::RLIM_INFINITY).then_some(limit)
}

/// Sets a limit.
///
/// # Errors
/// `EPERM` where the hard limit would rise without the right to, `EINVAL`.
pub fn set(resource: Resource, pair: Pair) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: raw(pair.soft), rlim_max: raw(pair.hard) };
    // SAFETY: `limit` is valid for the call.
    check(unsafe { libc::setrlimit(resource.number(), &raw const limit) })?;
    Ok(())
}

/// Reads a limit.
///
/// # Errors
/// `EINVAL` where the kernel does not know the resource.
pub fn get(resource: Resource) -> io::Result<Pair> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for the call.
    check(unsafe { libc::getrlimit(resource.number(), &raw mut limit) })?;
    Ok(Pair { soft: cooked(limit.rlim_cur), hard: cooked(limit.rlim_max) })
}

/// Sets the nice value of the calling process, -20 to 19 (20 counts as 19).
///
/// # Errors
/// `EACCES` where it would fall without the right to.
pub fn set_nice(value: i32) -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) })?;
    Ok(())
}
