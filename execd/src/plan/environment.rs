//! The job's environment: the owner's variables first, then those of Grid Engine, which win.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use oxherd_handoff::{Environment, files};

use super::HostFacts;
use crate::job::{Job, Program};

/// Search path of a job that brings none (8.1.9).
const DEFAULT_PATH: &str = "/usr/local/bin:/bin:/usr/bin";

pub(super) struct Inputs<'a> {
    pub(super) job: &'a Job,
    pub(super) host: &'a HostFacts,
    pub(super) name: &'a str,
    pub(super) shell: &'a str,
    pub(super) script_file: &'a OsStr,
    /// Only where `-cwd` or `-wd` was given.
    pub(super) cwd: Option<&'a OsStr>,
    pub(super) tmpdir: &'a str,
    pub(super) queue: &'a str,
    pub(super) pe: Option<&'a str>,
    pub(super) slots: u32,
    pub(super) job_dir: &'a Path,
}

pub(super) fn build(inputs: &Inputs<'_>) -> Environment {
    let Inputs { job, host, .. } = inputs;
    let (owner, submission) = (&job.owner, &job.submission);
    let mut environment = Environment::new();
    users_own(job, &mut environment);

    let path = environment.get("PATH").map_or_else(|| DEFAULT_PATH.into(), OsStr::to_owned);
    let mut with_tmpdir = OsString::from(inputs.tmpdir);
    with_tmpdir.push(":");
    with_tmpdir.push(path);
    environment.set("PATH", with_tmpdir);
    if let Some(cwd) = inputs.cwd {
        environment.set("PWD", cwd);
    }
    environment.set("REQNAME", inputs.name);
    environment.set("HOME", &owner.home);
    environment.set("SHELL", inputs.shell);
    environment.set("USER", &owner.name);
    environment.set("LOGNAME", &owner.name);
    environment.set("JOB_NAME", inputs.name);
    environment.set("JOB_SCRIPT", inputs.script_file);
    environment.set("SGE_BINARY_PATH", host.sge_root.join("bin").join(&host.arch));
    environment.set("REQUEST", inputs.name);
    environment.set("HOSTNAME", &host.host);
    environment.set("QUEUE", inputs.queue);
    environment.set("JOB_ID", job.id.to_string());
    environment.set("ENVIRONMENT", "BATCH");
    environment.set("ARC", &host.arch);
    if let Some(zone) = submission.variable("TZ").filter(|zone| !zone.is_empty()) {
        environment.set("TZ", zone);
    }
    environment.set("NQUEUES", "1");
    environment.set("NSLOTS", inputs.slots.to_string());
    environment.set("NHOSTS", "1");
    environment.set("RESTARTED", "0");
    environment.set("TMPDIR", inputs.tmpdir);
    environment.set("TMP", inputs.tmpdir);
    if let Some(pe) = inputs.pe {
        environment.set("PE", pe);
        environment.set("PE_HOSTFILE", inputs.job_dir.join(files::PE_HOSTFILE));
    }
    // What the submitter's shell looked like.
    for name in ["HOME", "LOGNAME", "PATH", "SHELL", "MAIL", "TZ"] {
        if let Some(value) = submission.variable(name) {
            environment.set(format!("SGE_O_{name}"), value);
        }
    }
    environment.set("SGE_O_HOST", &submission.host);
    environment.set("SGE_O_WORKDIR", &submission.directory);
    environment.set("SGE_CELL", &host.sge_cell);
    for name in ["SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE"] {
        environment.set(name, "undefined");
    }
    environment.set("SGE_ARCH", &host.arch);
    environment.set("SGE_ROOT", &host.sge_root);
    environment.set("SGE_ACCOUNT", "sge");
    environment.set("SGE_JOB_SPOOL_DIR", inputs.job_dir);
    if let Program::Command(command) = &job.program {
        environment.set("JOB_SCRIPT", command);
    }
    environment
}

/// `-V` and `-v`. A variable that the caller does not have is passed empty, as qsub does.
fn users_own(job: &Job, environment: &mut Environment) {
    let submission = &job.submission;
    if job.options.all_variables.is_some() {
        for (name, value) in &submission.environment {
            environment.set(name, value);
        }
    }
    for set in &job.options.variables {
        let (name, value) = &set.value;
        let value = match value {
            Some(value) => value.into(),
            None => submission.variable(name).unwrap_or_default().to_owned(),
        };
        environment.set(name, value);
    }
}
