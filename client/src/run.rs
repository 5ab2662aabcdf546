//! `oxherd run`: one job under one queue, here and now.

mod program;
mod report;
mod request;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use oxherd_execd::account::{self, Account};
use oxherd_execd::foreground::directories::Directories;
use oxherd_execd::foreground::{self, Master, Shepherd};
use oxherd_execd::job::{Job, Submission};
use oxherd_execd::plan::{HostFacts, LOGIN_SHELLS};
use oxherd_model::id::JobId;

use crate::failure::{BAD_INPUT, CANNOT_START, Failure};
use crate::queue_file;
use report::Report;
use request::Request;

/// Run a script or command as a job of a queue.
///
/// The exit code is the job's. Own failures: 125 bad input, 126 cannot be started, 127 script or command not found.
/// A job that ends with a signal or at a limit gives 128 and the signal's number.
/// Ctrl-C ends the job as the queue says, a second one kills it; Ctrl-Z suspends it by the queue's method.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArguments {
    /// Queue file as `qconf -sq` prints it; without one the template of 8.1.9
    #[arg(long, value_name = "FILE")]
    queue: Option<PathBuf>,
    /// Set a queue parameter, for every host
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Host group that the queue may name, as `qconf -shgrp` prints it
    #[arg(long, value_name = "FILE")]
    host_group: Vec<PathBuf>,
    /// Parallel environment that --pe may name, as `qconf -sp` prints it
    #[arg(long, value_name = "FILE")]
    pe_file: Vec<PathBuf>,
    /// Take the queue's settings for this host instead of the local one
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Run the job as another user (root only)
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Refuse users with a smaller number (sge_conf min_uid)
    #[arg(long, value_name = "UID", default_value_t = 0)]
    min_uid: u32,
    /// Refuse groups with a smaller number (sge_conf min_gid)
    #[arg(long, value_name = "GID", default_value_t = 0)]
    min_gid: u32,
    /// Set a variable of the job
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Print every decision and who took it; run nothing
    #[arg(long)]
    dry_run: bool,
    /// Leave the job directory behind
    #[arg(long)]
    pub(crate) keep: bool,
    /// Print the result as one JSON object, the last line on stderr (with --dry-run: on stdout)
    #[arg(long)]
    json: bool,
    /// Start a kept or foreign job directory again
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["command", "queue", "set", "host_group", "pe_file", "user", "env", "dry_run"]
    )]
    from: Option<PathBuf>,
    /// Another shepherd, such as the stock one
    #[arg(long, value_name = "PATH")]
    shepherd_cmd: Option<PathBuf>,
    #[command(flatten)]
    options: request::QsubOptions,
    /// Script or command, and its arguments
    #[arg(trailing_var_arg = true, required_unless_present = "from", value_name = "SCRIPT|COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Runs, reports, and gives the exit code.
pub(crate) fn main(arguments: &RunArguments) -> ExitCode {
    let mut report = Report::new(arguments.json);
    match run(arguments, &mut report) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            report.failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}

fn run(arguments: &RunArguments, report: &mut Report) -> Result<u8, Failure> {
    let caller = Account::own().map_err(|error| Failure::new(BAD_INPUT, error))?;
    let host = match &arguments.host {
        Some(name) => name.clone(),
        None => host_name()?,
    };
    let shepherd = match &arguments.shepherd_cmd {
        Some(path) => Shepherd::at(path.clone()),
        None => Shepherd::find().map_err(|error| {
            Failure::new(CANNOT_START, anyhow::Error::new(error).context("cannot find the shepherd"))
        })?,
    };
    let directories = Directories::find(caller.uid, &host, &caller.home, |name: &str| std::env::var_os(name));
    let facts = HostFacts {
        host,
        arch: architecture(),
        admin_user: if caller.uid == 0 { "none".to_owned() } else { caller.name.clone() },
        spool_dir: directories.spool.clone(),
        sge_root: directories.state.clone(),
        sge_cell: "default".to_owned(),
        min_uid: arguments.min_uid,
        min_gid: arguments.min_gid,
        login_shells: LOGIN_SHELLS.map(str::to_owned).to_vec(),
        parallel_environments: queue_file::parallel_environments(&arguments.pe_file)?,
        home_of: account::home_of,
    };
    let watcher = std::env::current_exe().ok();
    let master = Master { directories, shepherd, watcher, uid: caller.uid, keep: arguments.keep };
    if let Some(dir) = &arguments.from {
        let rerun = master.read_again(dir)?;
        privileges(&caller, rerun.owner(), true, report);
        let finished = master.run_again(&rerun, &facts)?;
        return Ok(report.finished(&finished));
    }
    let request = Request::read(arguments, &facts, report)?;
    let owner = owner(arguments, &caller)?;
    let job = Job {
        id: JobId(0),
        owner,
        program: request.program,
        arguments: request.arguments,
        options: request.options,
        submission: submission(&facts)?,
    };
    if arguments.dry_run {
        let plan = master.rehearse(job, &request.queue, &facts)?;
        plan.config().map_err(|error| Failure::new(BAD_INPUT, error))?;
        report.plan(&plan, arguments.queue.is_some());
        return Ok(0);
    }
    privileges(&caller, &job.owner, arguments.user.is_some(), report);
    let finished = master.run(job, &request.queue, &facts, |plan| report.notes(&plan.notes))?;
    Ok(report.finished(&finished))
}

fn owner(arguments: &RunArguments, caller: &Account) -> Result<Account, Failure> {
    let Some(name) = &arguments.user else { return Ok(caller.clone()) };
    let owner = Account::by_name(name).map_err(|error| Failure::new(BAD_INPUT, error))?;
    if caller.uid != 0 && owner.uid != caller.uid {
        let text = format!("only root can run a job as `{name}`; leave out --user, or call oxherd with sudo");
        return Err(Failure::text(BAD_INPUT, text));
    }
    Ok(owner)
}

/// Says once what is different from a job that a daemon would start for an ordinary user.
fn privileges(caller: &Account, owner: &Account, chosen: bool, report: &mut Report) {
    if caller.uid != 0 {
        report.note(format!(
            "running as `{}` without privilege: no additional group id, limits and priority can only become \
             stricter, procedures of other users cannot run",
            caller.name
        ));
    } else if owner.uid == 0 && !chosen {
        report.note(
            "running as root: the job has all of root's rights; choose its owner with --user".to_owned(),
        );
    }
}

fn submission(facts: &HostFacts) -> Result<Submission, Failure> {
    let directory = std::env::current_dir().map_err(|error| {
        Failure::new(BAD_INPUT, anyhow::Error::new(error).context("cannot tell the working directory"))
    })?;
    Ok(Submission {
        environment: std::env::vars_os().collect(),
        directory,
        host: facts.host.clone(),
        time: foreground::now(),
    })
}

pub(crate) fn host_name() -> Result<String, Failure> {
    let path = "/proc/sys/kernel/hostname";
    let name = std::fs::read_to_string(path).map_err(|error| {
        Failure::new(CANNOT_START, anyhow::Error::new(error).context(format!("cannot read {path}")))
    })?;
    Ok(name.trim().to_owned())
}

/// Grid Engine's name of this machine's architecture.
fn architecture() -> String {
    match std::env::consts::ARCH {
        "x86_64" => "lx-amd64".to_owned(),
        "aarch64" => "lx-arm64".to_owned(),
        other => format!("lx-{other}"),
    }
}
