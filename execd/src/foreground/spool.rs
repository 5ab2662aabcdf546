//! The spooled job: its directory and the copy of its script. Both go when the value does, unless they are kept.

use std::ffi::CString;
use std::fs::DirBuilder;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt as _};
use std::path::{Path, PathBuf};

use oxherd_model::id::JobId;
use oxherd_sys::{directory, rmtree};

use super::RunError;
use super::directories::{Directories, make};
use crate::plan::write_new;

#[derive(Debug)]
pub(super) struct Spool {
    job_id: JobId,
    dir: PathBuf,
    script: PathBuf,
    has_script: bool,
    armed: bool,
}

impl Spool {
    /// Takes a number and makes the directory `active_jobs/<job>.1`.
    pub(super) fn create(directories: &Directories) -> Result<Self, RunError> {
        // Job owners must be able to pass through the directories made here, whatever the caller's umask is.
        oxherd_sys::process::set_umask(0o022);
        make(&directories.spool.join("active_jobs"))?;
        make(&directories.spool.join("job_scripts"))?;
        let job_id = directories.take_job_id()?;
        let dir = directories.job_dir(job_id);
        DirBuilder::new().mode(0o755).create(&dir).map_err(|source| RunError::File {
            action: "make directory",
            path: dir.clone(),
            source,
        })?;
        let script = directories.job_script(job_id);
        Ok(Self { job_id, dir, script, has_script: false, armed: true })
    }

    pub(super) const fn job_id(&self) -> JobId {
        self.job_id
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Copies the script. The user's own file may change while the job runs.
    pub(super) fn script(&mut self, text: &[u8]) -> Result<&Path, RunError> {
        let failed = |action, source| RunError::File { action, path: self.script.clone(), source };
        match std::fs::remove_file(&self.script) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("replace", error)),
            _ => {}
        }
        self.has_script = true;
        write_new(&self.script, text, 0o755)?;
        // Independent of the caller's umask: the job owner must be able to run it.
        std::fs::set_permissions(&self.script, std::fs::Permissions::from_mode(0o755))
            .map_err(|source| failed("make executable", source))?;
        Ok(&self.script)
    }

    /// Leaves everything where it is.
    pub(super) fn keep(&mut self) -> PathBuf {
        self.armed = false;
        self.dir.clone()
    }

    /// Removes everything; the error is a sentence that says what is left.
    pub(super) fn remove(&mut self) -> Result<(), String> {
        if !std::mem::take(&mut self.armed) {
            return Ok(());
        }
        let script = match std::fs::remove_file(&self.script) {
            Err(error) if self.has_script && error.kind() != io::ErrorKind::NotFound => {
                Some(format!("cannot remove {}: {error}", self.script.display()))
            }
            _ => None,
        };
        let failed = |error: &dyn std::fmt::Display| format!("cannot remove {}: {error}", self.dir.display());
        let (Some(parent), Some(name)) = (self.dir.parent(), self.dir.file_name()) else { return Ok(()) };
        let parent = CString::new(parent.as_os_str().as_bytes()).map_err(|error| failed(&error))?;
        let name = CString::new(name.as_bytes()).map_err(|error| failed(&error))?;
        let parent = directory::open(&parent).map_err(|error| failed(&error))?;
        rmtree::remove(parent.as_fd(), &name).map_err(|leftover| failed(&leftover))?;
        script.map_or(Ok(()), Err)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        // The error that led here is the one to tell.
        let _ = self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spooled_job_is_gone_afterwards_unless_it_is_kept() {
        let root = tempfile::tempdir().expect("temporary directory");
        let path = root.path().to_owned();
        let directories = Directories { spool: path.clone(), state: path.clone(), run: path.clone() };
        let mut spool = Spool::create(&directories).expect("made");
        spool.script(b"exit 0\n").expect("copied");
        std::fs::write(spool.dir().join("config"), "").expect("written");
        assert!(path.join("active_jobs/1.1/config").exists() && path.join("job_scripts/1").exists());
        drop(spool);
        assert!(!path.join("active_jobs/1.1").exists() && !path.join("job_scripts/1").exists());

        let mut spool = Spool::create(&directories).expect("made");
        assert_eq!(spool.keep(), path.join("active_jobs/2.1"));
        drop(spool);
        assert!(path.join("active_jobs/2.1").exists());
    }
}
