//! An additional group id per test: leased by a file lock, so that tests in other processes keep off it.

use std::fs::{self, File};
use std::path::PathBuf;

const RANGE: std::ops::RangeInclusive<u32> = 61000..=61999;

/// A group id nobody else uses while this lives.
#[derive(Debug)]
pub struct GidLease {
    pub gid: u32,
    _lock: File,
}

impl GidLease {
    pub fn take() -> Self {
        let dir = PathBuf::from("/tmp/oxherd-tests.gids");
        fs::create_dir_all(&dir).expect("the directory of the gid locks");
        // Start at a place of our own: neighbours then rarely meet.
        let span = RANGE.end() - RANGE.start() + 1;
        let first = std::process::id() * 7 % span;
        for step in 0..span {
            let gid = RANGE.start() + (first + step) % span;
            let Ok(lock) = File::create(dir.join(gid.to_string())) else { continue };
            if lock.try_lock().is_ok() && crate::process::carrying(gid).is_empty() {
                return Self { gid, _lock: lock };
            }
        }
        panic!("no additional group id of {RANGE:?} is free");
    }
}
