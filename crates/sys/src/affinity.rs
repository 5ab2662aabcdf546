//! Which processors a process may run on.

use std::io;

use crate::check;

/// Binds the calling process, and what it starts, to processors by the numbers of the operating system.
///
/// # Errors
/// `EINVAL` where none of them is there and allowed.
pub fn bind(processors: &[u32]) -> io::Result<()> {
    // SAFETY: an all-zero `cpu_set_t` is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for processor in processors {
        let index = usize::try_from(*processor).unwrap_or(usize::MAX);
        if index < libc::CPU_SETSIZE.unsigned_abs() as usize {
            // SAFETY: the index is within the set.
            unsafe { libc::CPU_SET(index, &mut set) };
        }
    }
    // SAFETY: 0 is the calling process, the set valid for its size.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) })?;
    Ok(())
}
