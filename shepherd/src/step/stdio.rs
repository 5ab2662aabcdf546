//! stdin, stdout and stderr: opened as the job owner, output always appended.
//!
//! A directory as path means the default file name in it, `<job_name>.<x><job_id>[.<task>]` (qsub(1), `-o`).

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use oxherd_handoff::{ExitState, Key};
use oxherd_sys::fd;

use super::Failure;
use crate::machine::Step;
use crate::spec::Spec;

/// The resolved paths, as SGE_STDIN_PATH and its like tell them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    pub stdin: OsString,
    pub stdout: OsString,
    pub stderr: OsString,
    pub merge: bool,
    own_stdout: bool,
    own_stderr: bool,
}

/// The device number of `/dev/null`.
const NULL: u64 = 0x103;

fn failure(text: String) -> Failure {
    Failure::coded(ExitState::InputOutputFile, text)
}

/// Resolves the paths of a step. To be called with the job owner's identity: a `stat` decides.
///
/// # Errors
/// 26, with the sentences of 8.1.9.
pub fn resolve(spec: &Spec, step: Step) -> Result<Paths, Failure> {
    let config = &spec.config;
    let own = config.shown(Key::OxStdio);
    let own = |name: &str| own.split(',').any(|word| word == name);
    let flag = |key| config.flag(key, false).map_err(|error| failure(error.to_string()));
    let (out_key, err_key, out_x, err_x) = match step {
        Step::PeStart | Step::PeStop => (Key::PeStdoutPath, Key::PeStderrPath, "po", "pe"),
        _ => (Key::StdoutPath, Key::StderrPath, "o", "e"),
    };
    let merge = flag(Key::MergeStderr)?;
    let staged = |flag, path| staged(spec, flag, path);
    let output = |key, staging, x, own: bool| -> Result<OsString, Failure> {
        if own {
            return Ok(OsString::from(if x == "o" || x == "po" { "/dev/stdout" } else { "/dev/stderr" }));
        }
        if let Some(staged) = staged(staging, key)? {
            return Ok(staged);
        }
        let path = config.os(key).unwrap_or(OsStr::new("/dev/null"));
        if directory(path)? { Ok(default_name(spec, path, x)) } else { Ok(path.to_owned()) }
    };
    let (own_stdout, own_stderr) = (own("stdout"), own("stderr"));
    let stdout = output(out_key, Key::FsStdoutFileStaging, out_x, own_stdout)?;
    let stderr =
        if merge { stdout.clone() } else { output(err_key, Key::FsStderrFileStaging, err_x, own_stderr)? };
    let stdin = match step {
        Step::Job => match staged(Key::FsStdinFileStaging, Key::StdinPath)? {
            Some(staged) => staged,
            None => config.os(Key::StdinPath).unwrap_or(OsStr::new("/dev/null")).to_owned(),
        },
        _ => OsString::from("/dev/null"),
    };
    if step == Step::Job && directory(&stdin)? {
        return Err(failure(format!("error: {} is a directory not a file", Path::new(&stdin).display())));
    }
    Ok(Paths { stdin, stdout, stderr, merge, own_stdout, own_stderr })
}

/// Delegated file staging: the file is the one in TMPDIR that a prolog brought or an epilog takes away.
fn staged(spec: &Spec, flag: Key, path: Key) -> Result<Option<OsString>, Failure> {
    let config = &spec.config;
    if !config.flag(flag, false).map_err(|error| failure(error.to_string()))? {
        return Ok(None);
    }
    let name = config.os(path).and_then(|path| Path::new(path).file_name()).unwrap_or_default();
    // The one that was made: the wanted name may be another user's.
    let tmpdir = spec.tmpdir.as_deref().or(config.os(Key::Tmpdir)).unwrap_or_default();
    Ok(Some(Path::new(tmpdir).join(name).into_os_string()))
}

fn directory(path: &OsStr) -> Result<bool, Failure> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(metadata.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => {
            Err(failure(format!("error: can't stat() \"{}\": {}", Path::new(path).display(), plain(&error))))
        }
    }
}

fn default_name(spec: &Spec, directory: &OsStr, x: &str) -> OsString {
    let mut path = directory.as_bytes().to_vec();
    path.push(b'/');
    path.extend_from_slice(spec.config.get(Key::JobName).unwrap_or_default());
    path.extend_from_slice(format!(".{x}{}", spec.job_name()).as_bytes());
    OsString::from_vec(path)
}

/// What strerror says, without Rust's number behind it: sites search for these sentences.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Opens stdin, enters the working directory and opens the outputs, in the order of 8.1.9: which of several
/// failures is reported depends on it. `script` takes stdin's place (script_from_stdin).
///
/// # Errors
/// 26 or 28.
pub fn open(spec: &Spec, step: Step, paths: &Paths, script: Option<&OsStr>) -> Result<(), Failure> {
    let stdin = match script {
        Some(script) => File::open(script).map_err(|error| {
            let shown = Path::new(script).display();
            Failure::phase(format!("error: can't open job script file \"{shown}\": {}", plain(&error)))
        })?,
        None => File::open(&paths.stdin).map_err(|error| {
            let shown = Path::new(&paths.stdin).display();
            failure(format!("error: can't open {shown} as dummy input file: {}", plain(&error)))
        })?,
    };
    let cwd = spec.config.os(Key::Cwd).unwrap_or(OsStr::new("/"));
    std::env::set_current_dir(cwd).map_err(|error| {
        let text = format!("error: can't chdir to {}: {}", Path::new(cwd).display(), plain(&error));
        Failure::coded(ExitState::WorkingDirectory, text)
    })?;
    let output = |path: &OsStr| -> Result<File, Failure> {
        let fail =
            |text: &str| failure(format!("error: can't open output file \"{}\": {text}", path.display()));
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        if step == Step::Job {
            return options.open(path).map_err(|error| fail(&plain(&error)));
        }
        // A pipe of the owner's could hold up a procedure for ever, or end it with SIGPIPE: either would be taken for
        // the procedure's own failure and close the queue.
        let file = options.custom_flags(fd::NONBLOCK).open(path).map_err(|error| fail(&plain(&error)))?;
        // So could a terminal, and a device without room fails it. What is left is files and the null device.
        let fine = file.metadata().is_ok_and(|metadata| {
            metadata.is_file() || metadata.file_type().is_char_device() && metadata.rdev() == NULL
        });
        if !fine {
            return Err(fail("it is a pipe or device, which a procedure cannot write to"));
        }
        fd::set_blocking(file.as_fd()).map_err(|error| fail(&plain(&error)))?;
        Ok(file)
    };
    let stdout = if paths.own_stdout { None } else { Some(output(&paths.stdout)?) };
    let stderr = if paths.own_stderr || paths.merge { None } else { Some(output(&paths.stderr)?) };
    let place = |file: &Option<File>, number| match file {
        Some(file) => fd::place(file.as_fd(), number),
        None => Ok(()),
    };
    let placed = fd::place(stdin.as_fd(), 0)
        .and_then(|()| place(&stdout, 1))
        .and_then(|()| if paths.merge { fd::place(fd::standard(1), 2) } else { place(&stderr, 2) });
    placed.map_err(|error| failure(format!("error: can't place standard descriptors: {}", plain(&error))))
}
