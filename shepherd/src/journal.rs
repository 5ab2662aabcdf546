//! The result files of the job directory.
//!
//! They belong to the admin user and nobody else can write them: a job cannot forge what is said of it. Stock gives
//! `trace`, `error` and `exit_status` to the job owner, and one who writes `7` there puts all queues of the host
//! into error (observed). Children report through a pipe instead; only the shepherd writes.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use oxherd_handoff::log::{self, LocalTime};
use oxherd_handoff::{ExitState, files};
use oxherd_sys::{clock, credentials, process::Pid};

/// Writer of all result files. All paths are relative to the job directory, the shepherd's working directory.
#[derive(Debug)]
pub struct Journal {
    trace: Option<File>,
    error: File,
    exit_status: File,
    /// Trace lines that are not written yet.
    pending: String,
    first: Option<ExitState>,
    fsync: bool,
    author: Author,
}

/// Who writes the lines: does not change while the files are open.
#[derive(Debug, Clone, Copy)]
struct Author {
    euid: u32,
    pid: u32,
}

impl Author {
    fn current() -> Self {
        let pid = u32::try_from(Pid::current().number()).unwrap_or(0);
        Self { euid: credentials::user_ids().effective, pid }
    }
}

impl Journal {
    /// Removes the results of an earlier run in the same directory and opens fresh files.
    ///
    /// # Errors
    /// Those of making `error` or `exit_status`; without a trace the job runs all the same.
    pub fn open() -> io::Result<Self> {
        let fresh = |name: &str| OpenOptions::new().append(true).create_new(true).open(name);
        let open = || -> io::Result<(File, File)> { Ok((fresh(files::ERROR)?, fresh(files::EXIT_STATUS)?)) };
        let (error, exit_status) = match open() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                for name in files::STALE {
                    if let Err(error) = std::fs::remove_file(name)
                        && error.kind() != io::ErrorKind::NotFound
                    {
                        return Err(error);
                    }
                }
                open()?
            }
            opened => opened?,
        };
        Ok(Self {
            trace: OpenOptions::new().append(true).create(true).open(files::TRACE).ok(),
            error,
            exit_status,
            pending: String::new(),
            first: None,
            fsync: false,
            author: Author::current(),
        })
    }

    /// Whether results are flushed to the disk before the shepherd leaves (`ox_fsync`).
    pub fn set_fsync(&mut self, fsync: bool) {
        self.fsync = fsync;
    }

    /// Adds a line to the trace; it is written by [`Journal::flush`].
    pub fn trace(&mut self, text: &str) {
        line(&mut self.pending, self.author, text);
    }

    /// Writes the trace lines that are waiting. A trace that cannot be written must not harm the job.
    pub fn flush(&mut self) {
        if !self.pending.is_empty() {
            if let Some(trace) = &mut self.trace {
                let _ = trace.write_all(self.pending.as_bytes());
            }
            self.pending.clear();
        }
    }

    /// Records a failure: a line of `error`, one of `exit_status`, and the trace. The first one decides.
    pub fn problem(&mut self, state: ExitState, text: &str) {
        self.first.get_or_insert(state);
        let mut entry = String::new();
        line(&mut entry, self.author, text);
        self.pending.push_str(&entry);
        let written = self.error.write_all(entry.as_bytes());
        let coded = self.exit_status.write_all(format!("{}\n", state.code()).as_bytes());
        if let Err(error) = written.and(coded) {
            // What execd then finds is our own exit code, which is the same number.
            self.trace(&format!("cannot record this failure: {error}"));
        }
    }

    /// The code that decides.
    #[must_use]
    pub fn first(&self) -> ExitState {
        self.first.unwrap_or(ExitState::Finished)
    }

    /// Writes a small file by replacing it: a reader finds all of it or nothing.
    pub fn replace(&mut self, name: &str, text: &[u8]) {
        if let Err(error) = self.try_replace(name, text) {
            self.trace(&format!("cannot write {name}: {error}"));
        }
    }

    /// As [`Journal::replace`], for a file without which the result is another.
    ///
    /// # Errors
    /// Those of writing and renaming.
    pub fn try_replace(&mut self, name: &str, text: &[u8]) -> io::Result<()> {
        let temporary = format!(".{name}.new");
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&temporary)?;
            file.write_all(text)?;
            if self.fsync {
                file.sync_data()?;
            }
            std::fs::rename(&temporary, name)
        };
        write().inspect_err(|_| {
            let _ = std::fs::remove_file(&temporary);
        })
    }

    /// Removes a small file.
    pub fn remove(&mut self, name: &str) {
        if let Err(error) = std::fs::remove_file(name) {
            self.trace(&format!("cannot remove {name}: {error}"));
        }
    }

    /// The last thing: `exit_status` gets its 0 if nothing failed.
    pub fn finish(&mut self) -> ExitState {
        if self.first.is_none()
            && let Err(error) = self.exit_status.write_all(b"0\n")
        {
            // With an empty file execd takes our own exit code: one that says the job is over, not 19, which may have
            // it started again. Another try comes first, the sentence reaches `error` where that has room.
            self.problem(ExitState::AfterJob, &format!("cannot write {}: {error}", files::EXIT_STATUS));
        }
        if self.fsync {
            let _ = self.exit_status.sync_data();
        }
        self.flush();
        self.first()
    }
}

/// Appends one line in the form of `trace` and `error`.
fn line(out: &mut String, author: Author, text: &str) {
    let at = clock::local(clock::realtime().as_secs()).map_or(
        LocalTime { year: 1970, month: 1, day: 1, hour: 0, minute: 0, second: 0 },
        |t| LocalTime {
            year: t.year,
            month: t.month,
            day: t.day,
            hour: t.hour,
            minute: t.minute,
            second: t.second,
        },
    );
    log::write_line(out, at, author.euid, author.pid, text);
}

/// For the moment before a journal exists and the moment when the program breaks: appends a line and a code by
/// name. Nothing more can be done where that fails.
pub fn emergency(state: ExitState, text: &str) {
    let append = |name: &str| OpenOptions::new().append(true).create(true).open(Path::new(name));
    let mut entry = String::new();
    line(&mut entry, Author::current(), text);
    for (name, content) in [
        (files::TRACE, entry.clone()),
        (files::ERROR, entry),
        (files::EXIT_STATUS, format!("{}\n", state.code())),
    ] {
        if let Ok(mut file) = append(name) {
            let _ = file.write_all(content.as_bytes());
        }
    }
}
