//! The command line of the job: `shell_start_mode`, `shell`, login shells, binaries and `starter_method`.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use oxherd_handoff::{Config, ExitState, Key};
use oxherd_model::shell_start_mode::ShellStartMode;
use oxherd_sys::exec;

use super::Failure;
use super::stdio::plain;
use crate::spec::Spec;

/// What is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file; without a `/` it is searched in the PATH of `environment`.
    pub file: Vec<u8>,
    pub arguments: Vec<Vec<u8>>,
    /// The script is the program's stdin.
    pub script_on_stdin: bool,
}

/// How the queue starts scripts; words that are none of the three count as unix_behavior (8.1.9).
fn mode(config: &Config) -> ShellStartMode {
    ShellStartMode::parse(&config.shown(Key::ShellStartMode)).unwrap_or(ShellStartMode::UnixBehavior)
}

/// Plans the job's command line (queue_conf(5), shell_start_mode; the table is observed on 8.1.9).
///
/// # Errors
/// None of its own; values that are not there are refused when `config` is read.
pub fn job(spec: &Spec) -> Result<Program, Failure> {
    let config = &spec.config;
    let required = |key| config.required(key).map_err(|error| Failure::phase(error.to_string()));
    let flag = |key| config.flag(key, false).map_err(|error| Failure::phase(error.to_string()));
    let script = required(Key::ScriptFile)?.as_bytes().to_vec();
    let shell = required(Key::ShellPath)?.as_bytes().to_vec();
    let binary = flag(Key::HandleAsBinary)?;
    let through_shell = !flag(Key::NoShell)?;
    let login = flag(Key::UseLoginShell)?;
    let arguments = || config.arguments().map(|argument| argument.as_bytes().to_vec());
    let name = |path: &[u8]| {
        let base = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        if login { [b"-", base].concat() } else { base.to_vec() }
    };
    let mode = mode(config);
    // A binary has no script that a shell could read from its stdin: there the mode means nothing (8.1.9 loses the
    // command, D9).
    let from_stdin = mode == ShellStartMode::ScriptFromStdin && !binary;
    if !config.is_none(Key::StarterMethod) {
        let starter = required(Key::StarterMethod)?.as_bytes().to_vec();
        let mut line = vec![name(&starter)];
        line.push(if from_stdin { b"-s".to_vec() } else { script });
        line.extend(arguments());
        return Ok(Program { file: starter, arguments: line, script_on_stdin: from_stdin });
    }
    if binary && through_shell {
        // Joined by blanks and not quoted: users rely on `$VAR` and `;` (D27). An empty argument stays one.
        let mut text = script;
        for argument in arguments() {
            text.push(b' ');
            text.extend_from_slice(if argument.is_empty() { b"\"\"" } else { &argument });
        }
        let line = vec![name(&shell), b"-c".to_vec(), text];
        return Ok(Program { file: shell, arguments: line, script_on_stdin: false });
    }
    let mut line = if binary || mode == ShellStartMode::UnixBehavior {
        vec![script.clone()]
    } else {
        vec![name(&shell), if from_stdin { b"-s".to_vec() } else { script.clone() }]
    };
    line.extend(arguments());
    let file = if binary || mode == ShellStartMode::UnixBehavior { script } else { shell };
    Ok(Program { file, arguments: line, script_on_stdin: from_stdin })
}

/// The script, where it is to become stdin.
#[must_use]
pub fn stdin_script<'a>(spec: &'a Spec, program: &Program) -> Option<&'a OsStr> {
    if program.script_on_stdin { spec.config.os(Key::ScriptFile) } else { None }
}

/// Looks, as the user, whether what is to be started is there. The order is that of 8.1.9.
///
/// # Errors
/// 27 for shell and starter, the code of the phase for the script.
pub fn check_job(spec: &Spec, program: &Program) -> Result<(), Failure> {
    let config = &spec.config;
    let binary = config.flag(Key::HandleAsBinary, false).unwrap_or(false);
    let shell = config.os(Key::ShellPath).unwrap_or_default();
    let starter = config.os(Key::StarterMethod).filter(|_| !config.is_none(Key::StarterMethod));
    if let Some(starter) = starter {
        executable(starter).map_err(|_| {
            Failure::coded(
                ExitState::Shell,
                format!("unable to find starter_method \"{}\"", starter.display()),
            )
        })?;
    } else if program.file == shell.as_bytes() {
        executable(shell).map_err(|_| {
            Failure::coded(ExitState::Shell, format!("unable to find shell \"{}\"", shell.display()))
        })?;
    }
    if !binary {
        check_file("job", config.os(Key::ScriptFile).unwrap_or_default())?;
    }
    Ok(())
}

/// A file that is to be executed must be there and have an execute bit; 8.1.9 wants that of scripts in every mode.
///
/// # Errors
/// The code of the phase.
pub fn check_file(what: &str, file: &OsStr) -> Result<(), Failure> {
    executable(file).map_err(|missing| {
        let shown = file.display();
        Failure::phase(if missing {
            format!("unable to find {what} file \"{shown}\"")
        } else {
            format!("{what} file \"{shown}\" is not executable")
        })
    })
}

/// Whether a file is there and has an execute bit; the error is true where it is missing.
fn executable(file: &OsStr) -> Result<(), bool> {
    match std::fs::metadata(file) {
        Ok(metadata) if metadata.permissions().mode() & 0o111 != 0 => Ok(()),
        Ok(_) => Err(false),
        Err(_) => Err(true),
    }
}

/// Becomes the program. Returns only on failure.
#[must_use]
pub fn execute(program: &Program, environment: &[CString]) -> Failure {
    let strings = |words: &[Vec<u8>]| words.iter().map(|word| CString::new(word.as_slice())).collect();
    let arguments: Result<Vec<CString>, _> = strings(&program.arguments);
    let Ok(arguments) = arguments else {
        return Failure::coded(ExitState::Shell, "an argument contains a NUL byte");
    };
    let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
    for candidate in candidates(&program.file, environment) {
        let Ok(path) = CString::new(candidate) else { continue };
        let error = exec::execve(&path, &arguments, environment);
        match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                if last.raw_os_error().is_none() {
                    last = error;
                }
            }
            // A script without `#!` is read by the shell, as execvp does.
            _ if error.raw_os_error() == Some(NO_FORMAT) => {
                let mut line = vec![c"/bin/sh".to_owned(), path];
                line.extend_from_slice(arguments.get(1..).unwrap_or_default());
                last = exec::execve(c"/bin/sh", &line, environment);
            }
            // Another directory of PATH may have one that can be executed.
            std::io::ErrorKind::PermissionDenied => last = error,
            _ => {
                last = error;
                break;
            }
        }
    }
    let file = String::from_utf8_lossy(&program.file);
    let name = String::from_utf8_lossy(program.arguments.first().map_or(&[][..], Vec::as_slice));
    // Arguments or variables that are too long are the job's own fault, wherever they were to go.
    let state = if last.kind() == std::io::ErrorKind::ArgumentListTooLong {
        ExitState::ApplicationError
    } else {
        ExitState::Shell
    };
    Failure::coded(state, format!("execvlp({file}, \"{name}\") failed: {}", plain(&last)))
}

/// What is about to be executed, in the words of 8.1.9; long command lines are cut off.
#[must_use]
pub fn shown_line(program: &Program) -> String {
    const LONGEST: usize = 1000;
    let mut text = format!("execvlp({}, ", String::from_utf8_lossy(&program.file));
    for (index, argument) in program.arguments.iter().enumerate() {
        if text.len() > LONGEST {
            text.push_str(" ...");
            break;
        }
        let shown: String = String::from_utf8_lossy(argument).chars().take(LONGEST).collect();
        text.push_str(&format!("{}\"{shown}\"", if index > 0 { " " } else { "" }));
    }
    text.push(')');
    text
}

/// ENOEXEC
const NO_FORMAT: i32 = 8;

fn candidates(file: &[u8], environment: &[CString]) -> Vec<Vec<u8>> {
    if file.contains(&b'/') {
        return vec![file.to_vec()];
    }
    let path = environment.iter().find_map(|entry| entry.to_bytes().strip_prefix(b"PATH="));
    path.unwrap_or(b"/bin:/usr/bin")
        .split(|byte| *byte == b':')
        .map(|directory| {
            let directory: &[u8] = if directory.is_empty() { b"." } else { directory };
            [directory, b"/", file].concat()
        })
        .collect()
}

/// For messages.
#[must_use]
pub fn shown(path: &OsStr) -> String {
    Path::new(path).display().to_string()
}
