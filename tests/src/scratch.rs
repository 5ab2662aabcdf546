//! Directories of a test, gone when the test is.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::accounts::Account;

/// A world-readable directory below `/tmp`, removed on drop.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = PathBuf::from(format!("/tmp/oxherd-tests.{}.{number}", std::process::id()));
        // A crashed process with our pid may have left one.
        remove(&path);
        directory(&path, None, 0o755);
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::env::var_os("OXHERD_KEEP").is_none() {
            remove(&self.path);
        }
    }
}

/// Removes a tree without following what a job may have left in it.
fn remove(path: &Path) {
    let _ = Command::new("rm").arg("-rf").arg("--one-file-system").arg("--").arg(path).status();
}

/// Makes a directory of the given owner and mode.
pub fn directory(path: &Path, owner: Option<&Account>, mode: u32) {
    fs::create_dir_all(path).unwrap_or_else(|error| panic!("mkdir {}: {error}", path.display()));
    own(path, owner, mode);
}

/// Writes a file of the given owner and mode.
pub fn file(path: &Path, text: &str, owner: Option<&Account>, mode: u32) {
    fs::write(path, text).unwrap_or_else(|error| panic!("write {}: {error}", path.display()));
    own(path, owner, mode);
}

fn own(path: &Path, owner: Option<&Account>, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
    if let Some(owner) = owner {
        chown(path, Some(owner.uid), Some(owner.gid)).expect("chown");
    }
}
