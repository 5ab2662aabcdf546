//! Leases of additional group ids.
//!
//! The id marks a job's processes, and whoever kills by it kills everything that carries it: two masters on a host
//! must never use the same one. A lease is an exclusive flock on a file named after the id, and it is taken only if
//! no process carries the id, so that the job of a master that died is safe as well.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The default `gid_range`. Never stock's 65400-65500: both may run on one host.
pub const DEFAULT_RANGE: RangeInclusive<u32> = 64_000..=64_999;

/// An additional group id that nobody else uses as long as this value lives.
#[derive(Debug)]
pub struct GidLease {
    gid: u32,
    _lock: File,
}

/// Why there is no id.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("cannot lease an additional group id in {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("all additional group ids from {first} to {last} are in use")]
    Exhausted { first: u32, last: u32 },
}

impl GidLease {
    /// Takes a free id of the range, the first one tried being `start` places behind the range's beginning.
    ///
    /// `carried` tells which ids the host's processes carry; see [`carried_groups`]. It is asked after a lock is held.
    ///
    /// # Errors
    /// The directory cannot be used, or every id is leased or carried.
    pub fn take(
        run_dir: &Path,
        range: &RangeInclusive<u32>,
        start: u32,
        mut carried: impl FnMut() -> io::Result<HashSet<u32>>,
    ) -> Result<Self, LeaseError> {
        let dir = run_dir.join("gid");
        let failed = |path: &Path, source| LeaseError::File { path: path.to_owned(), source };
        std::fs::create_dir_all(&dir).map_err(|error| failed(&dir, error))?;
        let (first, last) = (*range.start(), *range.end());
        let count = last.saturating_sub(first).saturating_add(1);
        for place in 0..count {
            let gid = first + (start % count + place) % count;
            let path = dir.join(gid.to_string());
            let mut options = OpenOptions::new();
            options.create(true).truncate(false).write(true).mode(0o600);
            let lock = options.open(&path).map_err(|error| failed(&path, error))?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => return Err(failed(&path, error)),
            }
            if !carried().map_err(|error| failed(Path::new("/proc"), error))?.contains(&gid) {
                return Ok(Self { gid, _lock: lock });
            }
        }
        Err(LeaseError::Exhausted { first, last })
    }

    /// The id.
    #[must_use]
    pub const fn gid(&self) -> u32 {
        self.gid
    }
}

/// Every supplementary group of every process of this host.
///
/// # Errors
/// `/proc` cannot be listed. Processes that end meanwhile are no error.
pub fn carried_groups() -> io::Result<HashSet<u32>> {
    let mut groups = HashSet::new();
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        let Ok(status) = std::fs::read(entry.path().join("status")) else { continue };
        let status = String::from_utf8_lossy(&status);
        let line = status.lines().find_map(|line| line.strip_prefix("Groups:"));
        groups
            .extend(line.into_iter().flat_map(str::split_whitespace).filter_map(|id| id.parse::<u32>().ok()));
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nobody() -> io::Result<HashSet<u32>> {
        Ok(HashSet::new())
    }

    #[test]
    fn an_id_is_leased_once_and_free_again_afterwards() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let range = 64_000..=64_001;
        let first = GidLease::take(dir.path(), &range, 1, nobody).expect("free");
        let second = GidLease::take(dir.path(), &range, 1, nobody).expect("free");
        assert_eq!((first.gid(), second.gid()), (64_001, 64_000));
        let error = GidLease::take(dir.path(), &range, 0, nobody).expect_err("exhausted");
        assert_eq!(error.to_string(), "all additional group ids from 64000 to 64001 are in use");
        drop(first);
        assert_eq!(GidLease::take(dir.path(), &range, 0, nobody).expect("free").gid(), 64_001);
    }

    #[test]
    fn an_id_that_a_process_carries_is_passed_over() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let lease = GidLease::take(dir.path(), &(64_000..=64_009), 0, || Ok((64_000..64_003).collect()));
        assert_eq!(lease.expect("free").gid(), 64_003);
    }

    #[test]
    fn a_directory_that_cannot_be_used_is_named() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let file = dir.path().join("file");
        std::fs::write(&file, "").expect("written");
        let error = GidLease::take(&file, &DEFAULT_RANGE, 0, nobody).expect_err("no directory");
        assert!(error.to_string().ends_with("file/gid"), "{error}");
    }

    #[test]
    fn the_groups_of_this_host_can_be_read() {
        carried_groups().expect("readable");
    }
}
