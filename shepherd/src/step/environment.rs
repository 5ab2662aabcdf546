//! The environment of the job, its procedures and its methods (qsub(1), ENVIRONMENTAL VARIABLES).

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use oxherd_handoff::{Environment, Key};
use oxherd_model::shell_start_mode::ShellStartMode;

use super::stdio::Paths;
use crate::machine::Step;
use crate::spec::Spec;
use crate::step::credentials::Identity;

/// PATH of procedures that run as another user than the job owner.
const SAFE_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What such procedures get: names whose value execd or this shepherd sets after the user's own, and that steer no
/// program. Whatever else is there the job owner chose. HOME and SHELL are the target's; TMPDIR, TMP and PWD lead into
/// directories of the owner's.
const PASSED: [&str; 51] = [
    "ARC",
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
    "QUEUE",
    "REQNAME",
    "REQUEST",
    "RESTARTED",
    "TZ",
    "USER",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "SGE_ACCOUNT",
    "SGE_ARCH",
    "SGE_BINARY_PATH",
    "SGE_BINDING",
    "SGE_CKPT_DIR",
    "SGE_CKPT_ENV",
    "SGE_CWD_PATH",
    "SGE_JOBEXIT_STAT",
    "SGE_JOB_SPOOL_DIR",
    "SGE_O_HOME",
    "SGE_O_HOST",
    "SGE_O_LOGNAME",
    "SGE_O_MAIL",
    "SGE_O_PATH",
    "SGE_O_SHELL",
    "SGE_O_TZ",
    "SGE_O_WORKDIR",
    "SGE_STDERR_PATH",
    "SGE_STDIN_PATH",
    "SGE_STDOUT_PATH",
    "SGE_TASK_FIRST",
    "SGE_TASK_ID",
    "SGE_TASK_LAST",
    "SGE_TASK_STEPSIZE",
    "SGE_ROOT",
    "SGE_CELL",
];

/// The longest value that is passed: that of a path.
const LONGEST: usize = 4096;

/// Where commands of a procedure find the cell: execd's own word counts, never the user's.
const OF_EXECD: [&str; 4] = ["SGE_ROOT", "SGE_CELL", "SGE_QMASTER_PORT", "SGE_EXECD_PORT"];

/// Builds the environment of a step; `None` for the streams of a method.
#[must_use]
pub fn build(
    spec: &Spec,
    step: Step,
    paths: Option<&Paths>,
    job_exit: Option<u8>,
    target: Option<&Identity>,
) -> Environment {
    let config = &spec.config;
    let mut environment = spec.environment.clone();
    if config.flag(Key::InheritEnv, true).unwrap_or(true) {
        for (name, value) in std::env::vars_os() {
            if environment.get(&name).is_none() {
                environment.set(name, value);
            }
        }
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
    if let Some(binding) = &spec.binding {
        let processors: Vec<_> = binding.processors.iter().map(u32::to_string).collect();
        environment.set("SGE_BINDING", processors.join(" "));
    }
    if let Some(status) = job_exit {
        environment.set("SGE_JOBEXIT_STAT", status.to_string());
    }
    if let Some(target) = target {
        clean(&mut environment, target, !config.is_none(Key::Pe));
    }
    environment
}

/// Leaves only what the job owner cannot use to steer another user's program: the owner chose the values of all
/// other names, among them LD_PRELOAD, BASH_ENV, PERL5LIB and PATH, and owns what lies in their HOME.
fn clean(environment: &mut Environment, target: &Identity, parallel: bool) {
    environment.retain(|name, value| {
        let (name, value) = (name.as_bytes(), value.as_bytes());
        // Long values would leave a procedure no room for the arguments of what it starts: it fails, the queue closes.
        let passed = PASSED.iter().any(|passed| passed.as_bytes() == name) && value.len() <= LONGEST;
        passed
            && match name {
                b"TZ" => is_time_zone(value),
                b"PE" | b"PE_HOSTFILE" => parallel,
                _ if name == b"LANG" || name == b"LANGUAGE" || name.starts_with(b"LC_") => is_locale(value),
                _ => true,
            }
    });
    for name in OF_EXECD {
        if let Some(value) = of_shepherd(name) {
            environment.set(name, value);
        }
    }
    environment.set("PATH", SAFE_PATH);
    environment.set("HOME", target.home.clone());
    environment.set("SHELL", target.shell.clone());
}

/// The name of a zone that the system knows, and no path that a program would open.
fn is_time_zone(value: &[u8]) -> bool {
    value.first().is_some_and(u8::is_ascii_alphabetic)
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"/_-+,".contains(byte))
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
            ("HOME", "/home/evil"),
            ("TZ", ":/tmp/fifo"),
            ("PE", "forged"),
            ("SGE_ND", "1"),
            ("SGE_O_HOME", "/home/u"),
        ] {
            environment.set(name, value);
        }
        let target = Identity {
            name: "root".into(),
            uid: 0,
            gid: 0,
            groups: vec![0],
            home: "/root".into(),
            shell: "/bin/bash".into(),
        };
        clean(&mut environment, &target, false);
        let left: Vec<_> =
            environment.iter().map(|(n, v)| format!("{}={}", n.display(), v.display())).collect();
        assert_eq!(
            left,
            [
                "LC_ALL=C.UTF-8",
                "SGE_TASK_ID=1",
                "JOB_ID=7",
                "SGE_O_HOME=/home/u",
                &format!("PATH={SAFE_PATH}"),
                "HOME=/root",
                "SHELL=/bin/bash"
            ]
        );
    }
}
