//! `prolog`, `epilog`, `start_proc_args` and `stop_proc_args`: `[user@]path arguments` with variables (sge_conf(5)).
//!
//! The line is split at blanks first and each word is expanded by itself: a path with blanks in it stays one
//! argument. 8.1.9 does it the other way round, so that a user's `-o '/x --evil y'` gives arguments to a program of
//! root's (D34).

use oxherd_handoff::Key;
use oxherd_model::procedure::Procedure;

use super::Failure;
use super::command::Program;
use super::stdio::Paths;
use crate::machine::Step;
use crate::spec::Spec;
use crate::step::environment;
use crate::variables::{expand, words};

const fn key(step: Step) -> Key {
    match step {
        Step::Prolog => Key::Prolog,
        Step::PeStart => Key::PeStart,
        Step::PeStop => Key::PeStop,
        Step::Epilog | Step::Job => Key::Epilog,
    }
}

/// The configured line.
#[must_use]
pub fn line(spec: &Spec, step: Step) -> Procedure {
    Procedure::parse(&spec.config.shown(key(step)))
}

/// The user before `@`, where that is another than the job owner.
#[must_use]
pub fn other_user(spec: &Spec, step: Step) -> Option<String> {
    if step == Step::Job {
        return None;
    }
    line(spec, step).user.filter(|user| user.as_bytes() != spec.config.get(Key::JobOwner).unwrap_or_default())
}

/// Plans a procedure's command line.
///
/// # Errors
/// The code of the phase for a line without a program.
pub fn program(spec: &Spec, step: Step, paths: &Paths) -> Result<Program, Failure> {
    let procedure = line(spec, step);
    let arguments: Vec<Vec<u8>> = words(procedure.command.as_bytes())
        .map(|word| expand(word, |name| value(spec, step, paths, name)))
        .collect();
    let Some(file) = arguments.first().cloned() else {
        return Err(Failure::phase(format!("{} has no program: \"{procedure}\"", step.name())));
    };
    Ok(Program { file, arguments, script_on_stdin: false })
}

/// A variable of a procedure; `None` where there is no such variable.
fn value(spec: &Spec, step: Step, paths: &Paths, name: &str) -> Option<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;
    let config = &spec.config;
    let of = |key| config.get(key).unwrap_or_default().to_vec();
    let pe = matches!(step, Step::PeStart | Step::PeStop);
    Some(match name {
        "processors" => of(Key::Processors),
        "stdin_path" => paths.stdin.as_bytes().to_vec(),
        "stdout_path" => paths.stdout.as_bytes().to_vec(),
        "stderr_path" => paths.stderr.as_bytes().to_vec(),
        "merge_stderr" => if paths.merge { b"1" } else { b"0" }.to_vec(),
        "pe_hostfile" if pe => of(Key::PeHostfile),
        "pe" if pe => of(Key::Pe),
        "pe_slots" if pe => of(Key::PeSlots),
        _ => match name.strip_prefix("fs_").and_then(staging) {
            Some(key) => of(key),
            None => return common(spec, name),
        },
    })
}

fn staging(name: &str) -> Option<Key> {
    const KEYS: [Key; 12] = [
        Key::FsStdinHost,
        Key::FsStdinPath,
        Key::FsStdinTmpPath,
        Key::FsStdinFileStaging,
        Key::FsStdoutHost,
        Key::FsStdoutPath,
        Key::FsStdoutTmpPath,
        Key::FsStdoutFileStaging,
        Key::FsStderrHost,
        Key::FsStderrPath,
        Key::FsStderrTmpPath,
        Key::FsStderrFileStaging,
    ];
    KEYS.into_iter().find(|key| key.name().strip_prefix("fs_") == Some(name))
}

/// The variables that procedures and methods share. `$sge_root` and `$sge_cell` are in the manual and fatal in
/// 8.1.9 (D7); here they are what execd has.
#[must_use]
pub fn common(spec: &Spec, name: &str) -> Option<Vec<u8>> {
    use std::os::unix::ffi::OsStringExt;
    let of = |key| Some(spec.config.get(key).unwrap_or_default().to_vec());
    let variable = |name: &str| {
        environment::of_shepherd(name)
            .or_else(|| environment::get(&spec.environment, name).map(std::ffi::OsStr::to_owned))
            .map(std::ffi::OsString::into_vec)
    };
    match name {
        "host" => of(Key::Host),
        "ja_task_id" => Some(spec.task_id().into_bytes()),
        "job_owner" => of(Key::JobOwner),
        "job_id" => of(Key::JobId),
        "job_name" => of(Key::JobName),
        "queue" => of(Key::Queue),
        "sge_root" => variable("SGE_ROOT"),
        "sge_cell" => variable("SGE_CELL"),
        _ => None,
    }
}
