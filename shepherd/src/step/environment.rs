//! The environment of the job, its procedures and its methods (qsub(1), ENVIRONMENTAL VARIABLES).

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use oxherd_handoff::{Environment, Key};
use oxherd_model::shell_start_mode::ShellStartMode;

use super::stdio::Paths;
use crate::machine::Step;
use crate::spec::Spec;

/// PATH of procedures that run as another user than the job owner.
const SAFE_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What such procedures get besides `SGE_*`: names that execd sets itself, after the user's own. TMPDIR and
/// ENVIRONMENT are not among them, as in 8.1.9.
const PASSED: [&str; 24] = [
    "ARC",
    "HOME",
    "HOSTNAME",
    "JOB_ID",
    "JOB_NAME",
    "JOB_SCRIPT",
    "LOGNAME",
    "NHOSTS",
    "NQUEUES",
    "NSLOTS",
    "PE",
    "PE_HOSTFILE",
    "PWD",
    "QUEUE",
    "REQNAME",
    "REQUEST",
    "RESTARTED",
    "SHELL",
    "TMP",
    "TZ",
    "USER",
    "LC_ALL",
    "LANG",
    "LANGUAGE",
];

/// Builds the environment of a step; `None` for the streams of a method.
#[must_use]
pub fn build(
    spec: &Spec,
    step: Step,
    paths: Option<&Paths>,
    job_exit: Option<u8>,
    foreign: bool,
) -> Environment {
    let config = &spec.config;
    let mut environment = Environment::new();
    if config.flag(Key::InheritEnv, true).unwrap_or(true) {
        for (name, value) in std::env::vars_os() {
            environment.set(name, value);
        }
    }
    for (name, value) in spec.environment.iter() {
        environment.set(name, value);
    }
    if let Some(paths) = paths {
        environment.set("SGE_STDIN_PATH", paths.stdin.clone());
        environment.set("SGE_STDOUT_PATH", paths.stdout.clone());
        environment.set("SGE_STDERR_PATH", paths.stderr.clone());
    }
    if let Some(cwd) = config.os(Key::Cwd) {
        environment.set("SGE_CWD_PATH", cwd);
    }
    if step == Step::Job && !config.is_none(Key::StarterMethod) {
        let mode = config.shown(Key::ShellStartMode);
        let mode = ShellStartMode::parse(&mode).map_or(mode, |mode| mode.as_str().to_owned());
        let login = config.flag(Key::UseLoginShell, false).unwrap_or(false);
        environment.set("SGE_STARTER_SHELL_PATH", config.os(Key::ShellPath).unwrap_or_default());
        environment.set("SGE_STARTER_SHELL_START_MODE", mode);
        environment.set("SGE_STARTER_USE_LOGIN_SHELL", if login { "true" } else { "false" });
    }
    if let Some(status) = job_exit {
        environment.set("SGE_JOBEXIT_STAT", status.to_string());
    }
    if foreign {
        clean(&mut environment);
    }
    environment
}

/// Leaves only what the job owner cannot use to steer another user's program: the owner chose the values of all
/// other names, among them LD_PRELOAD, BASH_ENV, PERL5LIB and PATH.
fn clean(environment: &mut Environment) {
    environment.retain(|name, value| {
        let (name, value) = (name.as_bytes(), value.as_bytes());
        let locale = name == b"LANG" || name == b"LANGUAGE" || name.starts_with(b"LC_");
        let passed = name.starts_with(b"SGE_") || PASSED.iter().any(|p| p.as_bytes() == name) || locale;
        passed && (!locale || is_locale(value))
    });
    environment.set("PATH", SAFE_PATH);
}

/// A locale's name, not a path to one.
fn is_locale(value: &[u8]) -> bool {
    value.first().is_some_and(u8::is_ascii_alphabetic)
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_,+@.=".contains(byte))
}

/// The strings that exec takes.
#[must_use]
pub fn strings(environment: &Environment) -> Vec<CString> {
    environment
        .iter()
        .filter_map(|(name, value)| {
            let mut text = name.as_bytes().to_vec();
            text.push(b'=');
            text.extend_from_slice(value.as_bytes());
            CString::new(text).ok()
        })
        .collect()
}

/// The value of a variable for `$sge_root` and `$sge_cell`: the shepherd's own environment, which is execd's.
#[must_use]
pub fn of_shepherd(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// A variable's value in an environment.
#[must_use]
pub fn get<'a>(environment: &'a Environment, name: &str) -> Option<&'a OsStr> {
    environment.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_users_procedure_gets_nothing_that_steers_it() {
        let mut environment = Environment::new();
        for (name, value) in [
            ("LD_PRELOAD", "/x.so"),
            ("BASH_ENV", "/x"),
            ("BASH_FUNC_ls%%", "() { evil; }"),
            ("PERL5LIB", "/x"),
            ("PATH", "/evil"),
            ("TMPDIR", "/x"),
            ("ENVIRONMENT", "BATCH"),
            ("LANG", "bad value"),
            ("LC_ALL", "C.UTF-8"),
            ("LC_CTYPE", "/tmp/locale"),
            ("SGE_TASK_ID", "1"),
            ("JOB_ID", "7"),
            ("TMP", "/x"),
        ] {
            environment.set(name, value);
        }
        clean(&mut environment);
        let left: Vec<_> =
            environment.iter().map(|(n, v)| format!("{}={}", n.display(), v.display())).collect();
        assert_eq!(
            left,
            ["LC_ALL=C.UTF-8", "SGE_TASK_ID=1", "JOB_ID=7", "TMP=/x", &format!("PATH={SAFE_PATH}")]
        );
    }
}
