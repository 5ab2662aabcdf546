//! Where the master keeps what it needs, and the number of the next job.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use oxherd_model::id::JobId;

use super::RunError;

/// After this number 8.1.9 starts again at 1.
const HIGHEST_JOB_ID: u32 = 9_999_999;
/// The counter's name, that of a stock qmaster's spool directory.
const COUNTER: &str = "jobseqnum";

/// The directories of a master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories {
    /// `active_jobs` and `job_scripts` lie below.
    pub spool: PathBuf,
    /// The job number; `SGE_ROOT` of the jobs.
    pub state: PathBuf,
    /// Leases of additional group ids.
    pub run: PathBuf,
}

impl Directories {
    /// The directories of root or an ordinary user; `variable` reads the environment, `home` is the user's own.
    ///
    /// `OXHERD_STATE_DIR` puts everything but root's leases, which must be the host's, below one directory.
    pub fn find(uid: u32, host: &str, home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let own = absolute("OXHERD_STATE_DIR");
        if uid == 0 {
            let run = PathBuf::from("/run/oxherd");
            return match own {
                Some(own) => Self { spool: own.clone(), state: own, run },
                None => Self {
                    spool: Path::new("/var/spool/oxherd").join(host),
                    state: PathBuf::from("/var/lib/oxherd"),
                    run,
                },
            };
        }
        let state = own.unwrap_or_else(|| {
            absolute("XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state")).join("oxherd")
        });
        let run = absolute("XDG_RUNTIME_DIR").map_or_else(|| state.clone(), |dir| dir.join("oxherd"));
        Self { spool: state.clone(), state, run }
    }

    /// The number the next job will have. Reads only.
    ///
    /// # Errors
    /// The counter exists and cannot be read, or holds something else.
    pub fn next_job_id(&self) -> Result<JobId, RunError> {
        let path = self.state.join(COUNTER);
        let last = match File::open(&path) {
            Ok(mut file) => read(&path, &mut file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(source) => return Err(RunError::File { action: "read", path, source }),
        };
        Ok(self.first_free(last))
    }

    /// Takes the number of a new job: one greater than the last, and not one whose directory was kept.
    ///
    /// # Errors
    /// The state directory cannot be written; the counter holds no number.
    pub fn take_job_id(&self) -> Result<JobId, RunError> {
        make(&self.state)?;
        let path = self.state.join(COUNTER);
        let failed = |action| {
            let path = path.clone();
            move |source| RunError::File { action, path, source }
        };
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o644);
        let mut file = options.open(&path).map_err(failed("open"))?;
        // Held until the file is closed: two masters never get one number.
        file.lock().map_err(failed("lock"))?;
        let id = self.first_free(read(&path, &mut file)?);
        file.rewind().map_err(failed("write"))?;
        file.write_all(format!("{id:<8}\n").as_bytes()).map_err(failed("write"))?;
        Ok(id)
    }

    /// The path of a job's directory.
    #[must_use]
    pub fn job_dir(&self, id: JobId) -> PathBuf {
        self.spool.join("active_jobs").join(format!("{id}.1"))
    }

    /// The path of the copy of a job's script.
    #[must_use]
    pub fn job_script(&self, id: JobId) -> PathBuf {
        self.spool.join("job_scripts").join(id.to_string())
    }

    fn first_free(&self, last: u32) -> JobId {
        let mut number = last;
        loop {
            number = if number >= HIGHEST_JOB_ID { 1 } else { number + 1 };
            let id = JobId(number);
            if number == last || std::fs::symlink_metadata(self.job_dir(id)).is_err() {
                return id;
            }
        }
    }
}

/// Makes a directory and its parents, readable for job owners.
pub(super) fn make(path: &Path) -> Result<(), RunError> {
    DirBuilder::new().recursive(true).mode(0o755).create(path).map_err(|source| RunError::File {
        action: "make directory",
        path: path.to_owned(),
        source,
    })
}

/// Reads the counter; an empty file, as a crash may leave it, is 0.
fn read(path: &Path, file: &mut File) -> Result<u32, RunError> {
    let mut text = String::new();
    file.take(64).read_to_string(&mut text).map_err(|source| RunError::File {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    match text.trim() {
        "" => Ok(0),
        number => {
            number.parse().map_err(|_| RunError::Counter { path: path.to_owned(), found: number.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(root: &Path) -> Directories {
        Directories { spool: root.to_owned(), state: root.join("state"), run: root.to_owned() }
    }

    #[test]
    fn places_follow_user_and_environment() {
        let find = |uid, variables: &[(&str, &str)]| {
            let found = Directories::find(uid, "h", Path::new("/home/u"), |name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            });
            [found.spool, found.state, found.run].map(|path| path.display().to_string())
        };
        assert_eq!(find(0, &[]), ["/var/spool/oxherd/h", "/var/lib/oxherd", "/run/oxherd"]);
        assert_eq!(find(0, &[("OXHERD_STATE_DIR", "/s")]), ["/s", "/s", "/run/oxherd"]);
        let home = "/home/u/.local/state/oxherd";
        assert_eq!(find(7, &[]), [home; 3]);
        assert_eq!(find(7, &[("XDG_STATE_HOME", "relative")]), [home; 3]);
        let variables = [("XDG_STATE_HOME", "/s"), ("XDG_RUNTIME_DIR", "/r")];
        assert_eq!(find(7, &variables), ["/s/oxherd", "/s/oxherd", "/r/oxherd"]);
    }

    #[test]
    fn numbers_go_up_and_pass_over_kept_jobs() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let directories = at(dir.path());
        assert_eq!(directories.next_job_id().expect("number"), JobId(1));
        assert_eq!(directories.take_job_id().expect("number"), JobId(1));
        std::fs::create_dir_all(directories.job_dir(JobId(2))).expect("made");
        assert_eq!(directories.next_job_id().expect("number"), JobId(3));
        assert_eq!(directories.take_job_id().expect("number"), JobId(3));
        std::fs::write(directories.state.join(COUNTER), "9999999\n").expect("written");
        assert_eq!(directories.take_job_id().expect("number"), JobId(1));
    }

    #[test]
    fn a_counter_that_is_no_number_is_named() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let directories = at(dir.path());
        std::fs::create_dir(&directories.state).expect("made");
        std::fs::write(directories.state.join(COUNTER), "many\n").expect("written");
        let error = directories.take_job_id().expect_err("no number").to_string();
        assert!(error.ends_with("jobseqnum does not hold a job number: `many`"), "{error}");
    }
}
