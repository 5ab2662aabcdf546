//! What the files of a finished job mean: the conclusion execd and qmaster draw (observed on 8.1.9).

use std::io;
use std::path::Path;

use crate::exit_state::describe;
use crate::usage::Usage;
use crate::{files, log};

/// How the shepherd itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShepherdEnd {
    Exited(u8),
    Signalled(u8),
    /// It was not our child, or is not known.
    Unknown,
}

/// The result of a job as accounting will show it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The `failed` field of accounting; 0 is success, 100 "ended by a signal". See [`describe`].
    pub failed: u32,
    /// First line of `error` without date and ids, or what is known otherwise.
    pub reason: Option<String>,
    /// Missing where the job never ran.
    pub usage: Option<Usage>,
}

/// What a shepherd left behind, as far as it decides about the outcome. `None` and `false`: there is no such file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    pub exit_status: Option<String>,
    pub error: Option<String>,
    pub usage: Option<String>,
    pub checkpointed: bool,
    pub noresources: bool,
}

impl Left {
    /// Reads the files of a job directory.
    ///
    /// # Errors
    /// Those of reading a file that exists.
    pub fn read_dir(dir: &Path) -> io::Result<Self> {
        Ok(Self {
            exit_status: read(dir, files::EXIT_STATUS)?,
            error: read(dir, files::ERROR)?,
            usage: read(dir, files::USAGE)?,
            checkpointed: dir.join(files::CHECKPOINTED).exists(),
            noresources: dir.join(files::NORESOURCES).exists(),
        })
    }

    /// The conclusion about a shepherd that ended like this.
    #[must_use]
    pub fn judge(&self, end: ShepherdEnd) -> Outcome {
        let own = match end {
            ShepherdEnd::Exited(code) => u32::from(code),
            _ => 0,
        };
        let mut reason = None;
        let mut failed = match &self.exit_status {
            None if own != 0 => own,
            None => 7,
            Some(text) => match text.lines().next().and_then(|line| line.trim().parse::<u32>().ok()) {
                Some(number) => number,
                None if own != 0 => own,
                None => 19,
            },
        };
        if failed == 19 {
            reason = Some(match end {
                ShepherdEnd::Signalled(signal) => {
                    format!("the shepherd was ended by signal {signal} before it could write a result")
                }
                _ => "the shepherd ended without a result".to_owned(),
            });
        }
        if let Some(line) = self.error.as_deref().and_then(|text| text.lines().next()) {
            reason = Some(log::text_of(line).to_owned());
            if failed == 0 {
                failed = 20;
            }
        }
        // Codes 1 to 11 mean that the job did not run: its usage would be another's.
        let usage = self.usage.as_deref().filter(|_| failed == 0 || failed > 11).map(Usage::parse);
        match &usage {
            None if failed == 0 => {
                failed = 100;
                reason
                    .get_or_insert_with(|| "the job left no usage; it was deleted before it ran".to_owned());
            }
            Some(usage) if usage.signal != 0 => {
                failed = 100;
                reason.get_or_insert_with(|| format!("died through signal {}", usage.signal));
            }
            _ => {}
        }
        if self.checkpointed {
            failed = 24;
        } else if self.noresources {
            failed = 25;
        }
        Outcome { failed, reason, usage }
    }
}

impl Outcome {
    /// Reads a job directory after the shepherd is gone, and judges.
    ///
    /// # Errors
    /// Those of reading a file that exists.
    pub fn read_dir(dir: &Path, end: ShepherdEnd) -> io::Result<Self> {
        Ok(Left::read_dir(dir)?.judge(end))
    }

    /// What [`Outcome::failed`] says, in words.
    #[must_use]
    pub const fn description(&self) -> &'static str {
        describe(self.failed)
    }
}

fn read(dir: &Path, name: &str) -> io::Result<Option<String>> {
    match std::fs::read(dir.join(name)) {
        Ok(text) => Ok(Some(String::from_utf8_lossy(&text).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(files: &[(&str, &str)], end: ShepherdEnd) -> Outcome {
        let dir = tempfile::tempdir().expect("temporary directory");
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).expect("written");
        }
        Outcome::read_dir(dir.path(), end).expect("readable")
    }

    const USAGE: (&str, &str) = ("usage", "exit_status=3\nsignal=0\n");

    #[test]
    fn the_file_decides_and_not_the_process() {
        // spec row 87
        let ok = ShepherdEnd::Exited(0);
        for (status, end, expected) in [
            (Some("0\n"), ok, 0),
            (Some("0\n"), ShepherdEnd::Exited(5), 0),
            (Some("0\n"), ShepherdEnd::Signalled(9), 0),
            (Some("25\n15\n"), ShepherdEnd::Exited(25), 25),
            (Some(""), ShepherdEnd::Exited(5), 5),
            (Some(""), ok, 19),
            (Some(""), ShepherdEnd::Signalled(9), 19),
            (None, ok, 7),
            (None, ShepherdEnd::Exited(5), 5),
            (Some("77\n"), ok, 77),
        ] {
            let mut files = vec![USAGE];
            files.extend(status.map(|text| ("exit_status", text)));
            assert_eq!(outcome(&files, end).failed, expected, "{status:?} {end:?}");
        }
    }

    #[test]
    fn usage_is_read_only_of_jobs_that_ran() {
        let ok = ShepherdEnd::Exited(0);
        assert_eq!(outcome(&[("exit_status", "8\n"), USAGE], ok).usage, None);
        assert_eq!(outcome(&[("exit_status", "12\n"), USAGE], ok).usage.expect("read").exit_status, 3);
        assert_eq!(outcome(&[("exit_status", "0\n")], ok).failed, 100);
        assert_eq!(outcome(&[("exit_status", "0\n"), ("usage", "signal=9\n")], ok).failed, 100);
        assert_eq!(outcome(&[("exit_status", "37\n"), ("usage", "signal=0\n")], ok).failed, 37);
        assert_eq!(outcome(&[("exit_status", "0\n"), USAGE, ("checkpointed", "")], ok).failed, 24);
    }

    #[test]
    fn the_first_line_of_error_is_the_reason() {
        let result = outcome(
            &[("exit_status", "0\n"), USAGE, ("error", "11/30/2026 16:14:27 [103:1]: first\nsecond\n")],
            ShepherdEnd::Exited(0),
        );
        assert_eq!((result.failed, result.reason.as_deref()), (20, Some("first")));
    }
}
