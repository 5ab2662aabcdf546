//! Which program the shepherd is.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::plan::HostFacts;

/// The shepherd's name as a program of its own.
const PROGRAM: &str = "oxherd-shepherd";
/// What the name of a shepherd's process starts with; a program called so is one. An execd looks for it.
const PROCESS_NAME: &str = "sge_shepherd";

/// The program that is started as the shepherd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shepherd {
    path: PathBuf,
}

impl Shepherd {
    /// Any program that reads a job directory (`shepherd_cmd`).
    #[must_use]
    pub const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// `oxherd-shepherd` beside this program, else this program itself, which is a shepherd by name.
    ///
    /// # Errors
    /// The system does not tell which program runs.
    pub fn find() -> io::Result<Self> {
        let own = std::env::current_exe()?;
        let beside = own.with_file_name(PROGRAM);
        Ok(Self { path: if beside.is_file() { beside } else { own } })
    }

    /// Whether a program called by this name is to be the shepherd.
    #[must_use]
    pub fn is_called(argv0: &OsStr) -> bool {
        Path::new(argv0)
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(PROCESS_NAME.as_bytes()))
    }

    /// The program.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts it in a job directory, in a process group of its own: what the terminal's keys do is decided here.
    pub(super) fn start(&self, name: &str, dir: &Path, pipes: bool, host: &HostFacts) -> io::Result<Child> {
        let stream = || if pipes { Stdio::piped() } else { Stdio::inherit() };
        let mut command = Command::new(&self.path);
        command.arg0(name).current_dir(dir).process_group(0);
        command.stdin(Stdio::null()).stdout(stream()).stderr(stream());
        // What a daemon would have; the job's own variables come from its directory.
        command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("SGE_ROOT", &host.sge_root).env("SGE_CELL", &host.sge_cell).env("SGE_ARCH", &host.arch);
        if let Some(zone) = std::env::var_os("TZ") {
            command.env("TZ", zone);
        }
        command.spawn()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_a_shepherd_by_name() {
        for (name, expected) in [
            ("sge_shepherd-7", true),
            ("/x/sge_shepherd", true),
            ("oxherd", false),
            ("/sge_shepherd/x", false),
        ] {
            assert_eq!(Shepherd::is_called(OsStr::new(name)), expected, "{name}");
        }
    }
}
