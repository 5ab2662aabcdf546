//! `suspend_method`, `resume_method` and `terminate_method` as commands, and those of a checkpoint environment:
//! `/bin/sh -c`, as the job owner, in the job's environment, marked like the job.

use oxherd_handoff::Key;
use oxherd_sys::process::Pid;

use super::command::Program;
use crate::spec::Spec;
use crate::step::procedure;
use crate::variables::expand;

/// The expanded command as 8.1.9 runs it: a shell whose name is the command itself. Here, unlike in procedures, full
/// shell syntax is understood.
#[must_use]
pub fn program(spec: &Spec, command: &str, job: Option<Pid>) -> Program {
    let text = expand(command.as_bytes(), |name| match name {
        "job_pid" => Some(job.map_or_else(|| b"0".to_vec(), |pid| pid.to_string().into_bytes())),
        "ckpt_dir" => spec.config.get(Key::CkptDir).map(<[u8]>::to_vec),
        "ckpt_signal" => spec.config.get(Key::CkptSignal).map(<[u8]>::to_vec),
        _ => procedure::common(spec, name),
    });
    Program {
        file: b"/bin/sh".to_vec(),
        arguments: vec![text.clone(), b"-c".to_vec(), text],
        script_on_stdin: false,
    }
}
