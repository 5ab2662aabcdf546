//! Identity: who the process acts as, and giving root up for good.

use std::io;

use crate::check;

/// Real, effective and saved ids of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ids {
    pub real: u32,
    pub effective: u32,
    pub saved: u32,
}

/// User ids of the process.
#[must_use]
pub fn user_ids() -> Ids {
    let (mut real, mut effective, mut saved) = (0, 0, 0);
    // SAFETY: three valid pointers; cannot fail with them.
    unsafe { libc::getresuid(&raw mut real, &raw mut effective, &raw mut saved) };
    Ids { real, effective, saved }
}

/// Group ids of the process.
#[must_use]
pub fn group_ids() -> Ids {
    let (mut real, mut effective, mut saved) = (0, 0, 0);
    // SAFETY: three valid pointers; cannot fail with them.
    unsafe { libc::getresgid(&raw mut real, &raw mut effective, &raw mut saved) };
    Ids { real, effective, saved }
}

const KEEP: u32 = u32::MAX;

/// Changes the effective user id alone.
///
/// # Errors
/// `EPERM`.
pub fn set_effective_user(uid: u32) -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::setresuid(KEEP, uid, KEEP) })?;
    Ok(())
}

/// Changes the effective group id alone.
///
/// # Errors
/// `EPERM`.
pub fn set_effective_group(gid: u32) -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::setresgid(KEEP, gid, KEEP) })?;
    Ok(())
}

/// Replaces the supplementary groups.
///
/// # Errors
/// `EPERM`, `EINVAL` for more than the kernel takes (65536).
pub fn set_groups(groups: &[u32]) -> io::Result<()> {
    // SAFETY: pointer and length belong to the slice.
    check(unsafe { libc::setgroups(groups.len(), groups.as_ptr()) })?;
    Ok(())
}

/// Supplementary groups of the process.
///
/// # Errors
/// None in practice.
pub fn groups() -> io::Result<Vec<u32>> {
    // SAFETY: a size of 0 only asks for the number.
    let count = check(unsafe { libc::getgroups(0, std::ptr::null_mut()) })?;
    let mut groups = vec![0; usize::try_from(count).unwrap_or(0)];
    // SAFETY: the vector has room for `count` entries.
    let count = check(unsafe { libc::getgroups(count, groups.as_mut_ptr()) })?;
    groups.truncate(usize::try_from(count).unwrap_or(0));
    Ok(groups)
}

/// Becomes a user for good: groups, then the three group ids, then the three user ids, then a check that nothing
/// of it can be undone. Must be called with effective user id 0; becoming uid 0 itself is allowed and keeps root.
///
/// # Errors
/// Those of the calls; `EPERM` also where root could be regained.
pub fn become_user(uid: u32, gid: u32, groups: &[u32]) -> io::Result<()> {
    set_groups(groups)?;
    // SAFETY: takes numbers only.
    check(unsafe { libc::setresgid(gid, gid, gid) })?;
    // SAFETY: takes numbers only.
    check(unsafe { libc::setresuid(uid, uid, uid) })?;
    let all = |ids: Ids, id| ids.real == id && ids.effective == id && ids.saved == id;
    if !all(user_ids(), uid) || !all(group_ids(), gid) {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    if uid != 0 && set_effective_user(0).is_ok() {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    Ok(())
}
