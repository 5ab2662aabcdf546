//! The `config` file: everything the shepherd must know of a job, one `key=value` a line.
//!
//! Nothing in the file is quoted or escaped, and several values are the user's words: a job argument with a newline
//! in it writes a line of its own. 8.1.9 lets the last line with a name win, so that
//! `qsub job $'x\nprolog=root@/bin/sh …'` runs a command as root (observed). [`Config::parse`] therefore reads the
//! lines by the fixed order in which they are written ([`Key`]): a key out of its place, a key seen twice and an
//! unknown line are refused, and only a `job_argN` may extend over several lines. A refusal is a job error, it
//! never harms the queue.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::key::{Author, COUNT, Key, Name};

/// Why a `config` file was refused. All of these concern one job, never the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "config line {line}: `{key}` stands where it is never written; a value before it contains a newline"
    )]
    OutOfPlace { line: usize, key: String },
    #[error("config line {line}: `{key}` occurs a second time; a value before it contains a newline")]
    Twice { line: usize, key: String },
    #[error("config line {line}: expected `key=value`, found `{text}`; a value before it contains a newline")]
    Unknown { line: usize, text: String },
    #[error("config: njob_args is {expected}, but {found} arguments are there")]
    ArgumentCount { expected: u32, found: usize },
    #[error("config: `{key}` is missing")]
    Missing { key: &'static str },
    #[error("config: `{key}`: expected {expected}, found `{value}`")]
    Value { key: &'static str, expected: &'static str, value: String },
    #[error(
        "config: the value of `{key}` contains a newline or a NUL byte and cannot be handed over: `{value}`"
    )]
    NotRepresentable { key: &'static str, value: String },
}

#[derive(Debug, Clone, Copy, Default)]
struct Span {
    start: u32,
    end: u32,
}

/// A `config` file that kept to the grammar. Values are ranges of the text, nothing is copied.
#[derive(Clone)]
pub struct Config {
    text: Vec<u8>,
    values: [Option<Span>; COUNT],
    arguments: Vec<Span>,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("text", &String::from_utf8_lossy(&self.text)).finish_non_exhaustive()
    }
}

impl Config {
    /// Reads a file's content.
    ///
    /// # Errors
    /// [`ConfigError`] with the line, counted from 1, where the order of the keys was left.
    pub fn parse(text: Vec<u8>) -> Result<Self, ConfigError> {
        // Spans are 32 bits wide; a file that large is nobody's job.
        if u32::try_from(text.len()).is_err() {
            return Err(ConfigError::Unknown { line: 1, text: "more than 4 GiB".into() });
        }
        let mut parser =
            Parser { values: [None; COUNT], arguments: Vec::new(), next: 0, last: None, expected: 0 };
        let mut start = 0;
        for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
            // What follows the last newline is not a line unless there is something in it.
            if !(line.is_empty() && start == text.len()) {
                parser.line(&text, index + 1, start, start + line.len())?;
            }
            start += line.len() + 1;
        }
        if parser.arguments.len() != parser.expected as usize {
            return Err(ConfigError::ArgumentCount {
                expected: parser.expected,
                found: parser.arguments.len(),
            });
        }
        Ok(Self { values: parser.values, arguments: parser.arguments, text })
    }

    /// The value of a key; `None` where the line is missing or nothing follows its `=`, which mean the same (8.1.9).
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&[u8]> {
        let span = self.values[key.index()]?;
        let value = &self.text[span.start as usize..span.end as usize];
        (!value.is_empty()).then_some(value)
    }

    /// The value as a path or a word of a command line.
    #[must_use]
    pub fn os(&self, key: Key) -> Option<&OsStr> {
        self.get(key).map(OsStr::from_bytes)
    }

    /// The value for people: bytes that are no UTF-8 are replaced.
    #[must_use]
    pub fn shown(&self, key: Key) -> String {
        self.get(key).map_or_else(String::new, |value| String::from_utf8_lossy(value).into_owned())
    }

    /// A value that must be there.
    ///
    /// # Errors
    /// [`ConfigError::Missing`].
    pub fn required(&self, key: Key) -> Result<&OsStr, ConfigError> {
        self.os(key).ok_or(ConfigError::Missing { key: key.name() })
    }

    /// A decimal number, or the default where the line is missing.
    ///
    /// # Errors
    /// [`ConfigError::Value`] where something else than a number is there.
    pub fn number(&self, key: Key, default: i64) -> Result<i64, ConfigError> {
        let Some(value) = self.get(key) else { return Ok(default) };
        std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok()).ok_or_else(|| {
            ConfigError::Value { key: key.name(), expected: "a whole number", value: self.shown(key) }
        })
    }

    /// 0 or 1, or the default where the line is missing. Any other number counts as 1, as in 8.1.9.
    ///
    /// # Errors
    /// [`ConfigError::Value`] where something else than a number is there.
    pub fn flag(&self, key: Key, default: bool) -> Result<bool, ConfigError> {
        Ok(self.number(key, i64::from(default))? != 0)
    }

    /// A user or group id.
    ///
    /// # Errors
    /// [`ConfigError::Value`] where something else than such a number is there.
    pub fn id(&self, key: Key) -> Result<Option<u32>, ConfigError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok()).map(Some).ok_or_else(|| {
            ConfigError::Value { key: key.name(), expected: "a user or group number", value: self.shown(key) }
        })
    }

    /// Whether a value means "none": absent, empty, or the word in any case.
    #[must_use]
    pub fn is_none(&self, key: Key) -> bool {
        self.get(key).is_none_or(|value| value.eq_ignore_ascii_case(b"none"))
    }

    /// The job's arguments, `job_arg1` first.
    pub fn arguments(&self) -> impl ExactSizeIterator<Item = &OsStr> {
        self.arguments
            .iter()
            .map(|span| OsStr::from_bytes(&self.text[span.start as usize..span.end as usize]))
    }

    /// The file's text.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// What serves an interactive job. The only keys behind a user's value ([`Key::QrshControlPort`]) of which none is
/// always written.
const DAEMONS: [Key; 3] = [Key::QloginDaemon, Key::RshDaemon, Key::RloginDaemon];

struct Parser {
    values: [Option<Span>; COUNT],
    arguments: Vec<Span>,
    /// Index of the first key that may still come.
    next: usize,
    /// The key of the line before this one.
    last: Option<Key>,
    /// `njob_args`
    expected: u32,
}

// The casts are covered by the length check of `Config::parse`.
#[allow(clippy::cast_possible_truncation)]
impl Parser {
    fn line(&mut self, text: &[u8], number: usize, start: usize, end: usize) -> Result<(), ConfigError> {
        let line = &text[start..end];
        let split = line.iter().position(|byte| matches!(byte, b' ' | b'='));
        let name = split.map_or(Name::Unknown, |at| Key::parse(&line[..at]));
        let value = Span { start: (start + split.map_or(0, |at| at + 1)) as u32, end: end as u32 };
        let shown = || String::from_utf8_lossy(split.map_or(line, |at| &line[..at])).into_owned();
        // A NUL can be in no path, argument or word; it must not end a value early somewhere below.
        if line.contains(&0) {
            return Err(ConfigError::Unknown { line: number, text: shown() });
        }
        match name {
            Name::JobArg(n) => {
                let in_place = self.next <= Key::JobArg.index() && n as usize == self.arguments.len() + 1;
                if !in_place || n > self.expected {
                    return Err(if n as usize <= self.arguments.len() {
                        ConfigError::Twice { line: number, key: shown() }
                    } else {
                        ConfigError::OutOfPlace { line: number, key: shown() }
                    });
                }
                self.arguments.push(value);
                self.next = Key::JobArg.index();
                self.last = Some(Key::JobArg);
            }
            Name::Key(key) => {
                let key = match key {
                    Key::PeTaskId if self.values[key.index()].is_some() => Key::PeTaskIdAgain,
                    other => other,
                };
                if self.values[key.index()].is_some() {
                    return Err(ConfigError::Twice { line: number, key: shown() });
                }
                // 8.1.9 writes one of the three, so that a forged one brings its own refusal: the real one follows.
                let second_daemon =
                    DAEMONS.contains(&key) && DAEMONS.iter().any(|k| self.values[k.index()].is_some());
                if key.index() < self.next || second_daemon {
                    return Err(ConfigError::OutOfPlace { line: number, key: shown() });
                }
                self.values[key.index()] = Some(value);
                self.next = key.index() + 1;
                self.last = Some(key);
                if key == Key::NjobArgs {
                    let count = &text[value.start as usize..value.end as usize];
                    self.expected = std::str::from_utf8(count)
                        .ok()
                        .and_then(|c| c.trim().parse().ok())
                        .ok_or(ConfigError::Value {
                            key: key.name(),
                            expected: "the number of arguments",
                            value: String::from_utf8_lossy(count).into_owned(),
                        })?;
                }
            }
            _ if self.last == Some(Key::JobArg) => {
                // A further line of the argument before: its span simply grows over the newline.
                if let Some(argument) = self.arguments.last_mut() {
                    argument.end = end as u32;
                }
            }
            Name::Ignored => {}
            Name::Unknown => {
                // A blank line says nothing, but behind a user's value it is the rest of that value.
                let harmless = line.iter().all(u8::is_ascii_whitespace)
                    && self.last.is_none_or(|key| key.author() == Author::Site);
                if !harmless {
                    return Err(ConfigError::Unknown { line: number, text: shown() });
                }
            }
        }
        Ok(())
    }
}

/// Makes the text of a `config` file: values are set in any order and written in the right one.
#[derive(Debug, Clone, Default)]
pub struct ConfigWriter {
    values: Vec<(Key, Vec<u8>)>,
    arguments: Vec<Vec<u8>>,
}

impl ConfigWriter {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a value, replacing an earlier one.
    pub fn set(&mut self, key: Key, value: impl AsRef<[u8]>) -> &mut Self {
        self.values.retain(|(other, _)| *other != key);
        self.values.push((key, value.as_ref().to_vec()));
        self
    }

    /// Sets a number.
    pub fn number(&mut self, key: Key, value: impl Into<i64>) -> &mut Self {
        self.set(key, value.into().to_string())
    }

    /// Appends a job argument; `njob_args` is counted by the writer.
    pub fn argument(&mut self, value: impl AsRef<[u8]>) -> &mut Self {
        self.arguments.push(value.as_ref().to_vec());
        self
    }

    /// The text.
    ///
    /// # Errors
    /// [`ConfigError::NotRepresentable`] for a value with a newline or a NUL byte. A stock shepherd would misread
    /// it and ours refuses it, so it is refused before anything is started.
    pub fn text(&self) -> Result<Vec<u8>, ConfigError> {
        let mut text = Vec::with_capacity(4096);
        let mut line = |name: &[u8], key: Key, value: &[u8]| {
            if value.iter().any(|byte| matches!(byte, b'\n' | 0)) {
                return Err(ConfigError::NotRepresentable {
                    key: key.name(),
                    value: String::from_utf8_lossy(value).into_owned(),
                });
            }
            text.extend_from_slice(name);
            text.push(b'=');
            text.extend_from_slice(value);
            text.push(b'\n');
            Ok(())
        };
        for key in Key::ALL {
            match key {
                Key::NjobArgs => line(b"njob_args", *key, self.arguments.len().to_string().as_bytes())?,
                Key::JobArg => {
                    for (index, argument) in self.arguments.iter().enumerate() {
                        line(format!("job_arg{}", index + 1).as_bytes(), *key, argument)?;
                    }
                }
                _ => {
                    if let Some((_, value)) = self.values.iter().find(|(other, _)| other == key) {
                        line(key.name().as_bytes(), *key, value)?;
                    }
                }
            }
        }
        Ok(text)
    }

    /// The text, read back.
    ///
    /// # Errors
    /// As [`ConfigWriter::text`].
    pub fn config(&self) -> Result<Config, ConfigError> {
        Config::parse(self.text()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOCK: &str = "stdout_path=/o\nstderr_path=/e\nstdin_path=/dev/null\nmerge_stderr=0\n\
        shell_path=/bin/sh\nscript_file=/s\njob_owner=u\nmin_gid=0\nmin_uid=0\ncwd=/\nprolog=none\n\
        mail_list=u@h\nmail_options=0\njob_name=n\njob_id=1\nja_task_id=0\nnotify=0\n@ARGS@\
        queue_tmpdir=/tmp\nuse_afs=0\nadmin_user=a\nqsub_gid=no\npty=0\n";

    fn parse(arguments: &str) -> Result<Config, ConfigError> {
        Config::parse(STOCK.replace("@ARGS@", arguments).into_bytes())
    }

    fn refused(from: &str, to: &str) -> ConfigError {
        let text = STOCK.replace("@ARGS@", "njob_args=0\n");
        assert!(text.contains(from), "{from}");
        Config::parse(text.replacen(from, to, 1).into_bytes()).expect_err(to)
    }

    #[test]
    fn arguments_keep_every_byte() {
        // spec row 78c
        let config = parse(
            "njob_args=6\njob_arg1==x\njob_arg2= y\njob_arg3=a=b\njob_arg4=\njob_arg5=tab\tt\njob_arg6=\\n\n",
        )
        .expect("legal");
        let arguments: Vec<_> = config.arguments().map(|a| a.to_str().expect("UTF-8")).collect();
        assert_eq!(arguments, ["=x", " y", "a=b", "", "tab\tt", "\\n"]);
    }

    #[test]
    fn an_argument_may_have_several_lines() {
        let config = parse("njob_args=2\njob_arg1=a\nb=c\n\njob_arg2=z\n\n").expect("legal");
        let arguments: Vec<_> = config.arguments().map(|a| a.to_str().expect("UTF-8")).collect();
        assert_eq!(arguments, ["a\nb=c\n", "z\n"]);
        assert_eq!(config.get(Key::QueueTmpdir), Some(&b"/tmp"[..]));
    }

    #[test]
    fn an_argument_cannot_become_a_key() {
        for forged in [
            "prolog=root@/bin/sh",
            "admin_user=root",
            "queue_tmpdir=/x",
            "pty=1",
            "ox_uid=0",
            "coshepherd=/x",
            "qrsh_pid_file=/x",
            "job_arg1=again",
            "job_arg2=more",
            "skip_ngroups_max_silently=yes",
            "queue_tmpdir=/x\nuse_afs=0\nadmin_user=root\nqsub_gid=no\npty=0",
        ] {
            let error = parse(&format!("njob_args=1\njob_arg1=x\n{forged}\nrest\n")).expect_err(forged);
            assert!(
                matches!(
                    error,
                    ConfigError::OutOfPlace { .. } | ConfigError::Twice { .. } | ConfigError::Unknown { .. }
                ),
                "{forged}: {error}"
            );
        }
    }

    #[test]
    fn no_value_of_a_user_can_become_a_key() {
        for (from, to) in [
            ("stdout_path=/o", "stdout_path=/o\nprolog=root@/x"),
            ("stdout_path=/o", "stdout_path=/o\nadd_grp_id=5"),
            ("cwd=/", "cwd=/\nzz=1\nq="),
            ("shell_path=/bin/sh", "shell_path=/bin/sh\nscript_file=/evil"),
            ("mail_list=u@h", "mail_list=u@h\nqrsh_pid_file=/x"),
            ("mail_list=u@h", "mail_list=u@h\n"),
            ("mail_list=u@h", "mail_list=u@h\nno assignment"),
        ] {
            refused(from, to);
        }
    }

    #[test]
    fn the_port_of_an_interactive_job_cannot_choose_the_daemon() {
        // Found by the fuzz target `handoff_injection`.
        let file = |port: &str, daemon: &str| {
            Config::parse(
                format!("pty=1\nqrsh_control_port={port}\n{daemon}=builtin\nwrite_osjob_id=1\n").into(),
            )
        };
        for (forged, real) in [
            ("qlogin_daemon", "rsh_daemon"),
            ("qlogin_daemon", "rlogin_daemon"),
            ("rsh_daemon", "rlogin_daemon"),
            ("rsh_daemon", "qlogin_daemon"),
        ] {
            file("h:1", real).expect("legal");
            let error = file(&format!("h:1\n{forged}=/evil"), real).expect_err(forged);
            assert_eq!(error, ConfigError::OutOfPlace { line: 4, key: real.into() });
        }
    }

    #[test]
    fn an_error_names_the_line_and_the_key() {
        let error = refused("cwd=/", "cwd=/\nepilog=root@/x");
        assert_eq!(error, ConfigError::OutOfPlace { line: 12, key: "prolog".into() });
    }

    #[test]
    fn pe_task_id_may_stand_twice() {
        let text = "job_id=7\nja_task_id=1\npe_task_id=1.h\nnotify=0\nqsub_gid=no\npe_task_id=1.h\npty=0\n";
        let config = Config::parse(text.into()).expect("legal");
        assert_eq!(config.get(Key::PeTaskId), Some(&b"1.h"[..]));
        Config::parse(format!("{text}pe_task_id=1.h\n").into()).expect_err("three times");
    }

    #[test]
    fn names_of_relatives_are_skipped_and_unknown_ones_refused() {
        let config =
            Config::parse(b"job_id=7\nh_rt=5\nuse_systemd=1\nja_task_id=0\n".to_vec()).expect("legal");
        assert_eq!(config.number(Key::JaTaskId, 9), Ok(0));
        Config::parse(b"job_id=7\nnew_key=5\n".to_vec()).expect_err("unknown");
    }

    #[test]
    fn a_value_that_is_no_number_is_named() {
        let config = Config::parse(b"priority=high\n".to_vec()).expect("legal");
        let error = config.number(Key::Priority, 0).expect_err("no number");
        assert_eq!(error.to_string(), "config: `priority`: expected a whole number, found `high`");
    }

    #[test]
    fn the_writer_refuses_what_a_reader_would_misread() {
        let mut writer = ConfigWriter::new();
        writer.set(Key::Cwd, "/x\nprolog=y");
        assert!(matches!(writer.text(), Err(ConfigError::NotRepresentable { key: "cwd", .. })));
    }
}
