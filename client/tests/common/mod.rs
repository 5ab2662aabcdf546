//! Running the built `oxherd` with a state directory of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A place for files, and the state directory inside it.
pub struct Place {
    dir: tempfile::TempDir,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("temporary directory") }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path().join(name);
        std::fs::write(&path, content).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    }

    /// A queue file: the example with some lines replaced.
    pub fn queue(&self, changes: &[(&str, &str)]) -> String {
        let mut text = std::fs::read_to_string(example("all.q.conf")).expect("the example");
        for (name, value) in changes {
            let line = text.lines().find(|line| line.split(' ').next() == Some(name)).expect("a parameter");
            text = text.replace(line, &format!("{name:<22}{value}"));
        }
        self.file("changed.q", text)
    }

    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oxherd"));
        command.args(arguments).env("OXHERD_STATE_DIR", self.state()).stdin(Stdio::null());
        command
    }

    pub fn oxherd<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ended {
        ended(&mut self.command(arguments))
    }

    /// What a run left in the state directory besides the counter and empty directories.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        for name in ["active_jobs", "job_scripts"] {
            let Ok(entries) = std::fs::read_dir(self.state().join(name)) else { continue };
            let left: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
            assert!(left.is_empty(), "left behind: {left:?}");
        }
    }
}

pub fn ended(command: &mut Command) -> Ended {
    let output = command.output().expect("oxherd starts");
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A file of the examples directory.
pub fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name);
    path.to_str().expect("UTF-8").to_owned()
}

impl Ended {
    /// The last line of stderr as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        let line = self.stderr.lines().last().unwrap_or("");
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Whether the test runs as root.
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|facts| std::os::unix::fs::MetadataExt::uid(&facts) == 0)
}

/// Waits for a state, at most ten seconds.
#[track_caller]
#[allow(clippy::disallowed_methods, reason = "the one place where these tests wait between two looks")]
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("waited ten seconds for: {what}");
}
