//! From a job and a queue instance to a plan: every decision made, each with where it came from.
//!
//! [`plan`] is pure: it reads no file, no clock and no environment. What it decides is written by
//! [`JobPlan::write_dir`] and shown by [`JobPlan::decisions`].

mod decisions;
mod environment;
mod error;
mod limits;
mod parallel;
mod paths;
mod spec;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use oxherd_conf::object::ParallelEnvironment;
use oxherd_handoff::Environment;
use oxherd_model::host_group::HostId;
use oxherd_model::id::JobId;
use oxherd_model::limit::{Limit, Seconds};
use oxherd_model::queue_instance::{Origin, QueueInstance, Sourced};
use oxherd_model::shell_start_mode::ShellStartMode;

use crate::account::Account;
use crate::job::{Job, Program};
use crate::options::{Given, Options, Set, WorkingDirectory};

pub use decisions::Decision;
pub use error::PlanError;
pub use limits::{LIMITS, PlannedLimit};
pub use parallel::PlannedPe;
pub use spec::WriteError;
pub(crate) use spec::write_new;

/// Who decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The queue, for all hosts, this host, a group of hosts, or by `--set`.
    Queue(Origin),
    /// An option of the job.
    Option(&'static str, Given),
    /// The passwd entry of the owner.
    Account,
    /// This host or its state: names, numbers, directories.
    Host,
    /// OXHERD's or Grid Engine's own default.
    BuiltIn,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue(origin) => origin.fmt(f),
            Self::Option(option, given) => write!(f, "{given}: {option}"),
            Self::Account => f.write_str("account"),
            Self::Host => f.write_str("host"),
            Self::BuiltIn => f.write_str("built in"),
        }
    }
}

/// A value and who decided it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided<T> {
    pub value: T,
    pub source: Source,
}

impl<T> Decided<T> {
    const fn new(value: T, source: Source) -> Self {
        Self { value, source }
    }

    fn option(option: &'static str, set: Set<T>) -> Self {
        Self::new(set.value, Source::Option(option, set.given))
    }

    const fn built_in(value: T) -> Self {
        Self::new(value, Source::BuiltIn)
    }
}

/// The text and origin of a queue parameter.
fn queue_text<T>(parameter: &Sourced<T>) -> Decided<String> {
    Decided::new(parameter.text.clone(), Source::Queue(parameter.origin.clone()))
}

/// Where the job's output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stream {
    /// The descriptor the shepherd was started with.
    Own,
    /// A file, or a directory in which the shepherd names the file.
    File(OsString),
}

/// What the plan must know of the host.
#[derive(Debug, Clone)]
pub struct HostFacts {
    /// The host's name, as in the queue.
    pub host: String,
    /// Grid Engine's name of the architecture, `lx-amd64`.
    pub arch: String,
    /// Owner of the spool directory, `admin_user` in `config`.
    pub admin_user: String,
    /// Below it lie `active_jobs` and `job_scripts`.
    pub spool_dir: PathBuf,
    pub sge_root: PathBuf,
    pub sge_cell: String,
    /// Jobs of users and groups with smaller numbers are refused; 0 refuses nobody.
    pub min_uid: u32,
    pub min_gid: u32,
    /// sge_conf(5) `login_shells`.
    pub login_shells: Vec<String>,
    /// The parallel environments that are known; the procedures of others do not run.
    pub parallel_environments: Vec<ParallelEnvironment>,
    /// The home directory of another user, for `~user`.
    pub home_of: fn(&str) -> Option<PathBuf>,
}

/// The `login_shells` of a fresh installation.
pub const LOGIN_SHELLS: [&str; 5] = ["bash", "sh", "ksh", "csh", "tcsh"];

/// Every decision about a job, ready to be written down.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPlan {
    pub job_id: JobId,
    pub owner: Account,
    pub host: String,
    pub queue: String,
    pub name: Decided<String>,
    pub program: Program,
    pub arguments: Vec<OsString>,
    /// The command, or the copy of the script.
    pub script_file: OsString,
    /// `-shell n`: a command is started without a shell.
    pub no_shell: Decided<bool>,
    pub shell: Decided<String>,
    pub shell_start_mode: Decided<ShellStartMode>,
    pub login_shell: bool,
    pub starter_method: Decided<String>,
    pub cwd: Decided<OsString>,
    pub stdin: Decided<OsString>,
    pub stdout: Decided<Stream>,
    pub stderr: Decided<Stream>,
    pub merge: Decided<bool>,
    pub queue_tmpdir: Decided<String>,
    /// `<queue_tmpdir>/<job>.<task>.<queue>`. The shepherd makes it; where the name is taken it chooses another.
    pub tmpdir: String,
    /// In the order of [`LIMITS`].
    pub limits: Vec<PlannedLimit>,
    pub priority: Decided<i32>,
    pub prolog: Decided<String>,
    pub epilog: Decided<String>,
    pub suspend_method: Decided<String>,
    pub resume_method: Decided<String>,
    pub terminate_method: Decided<String>,
    /// Seconds between the warning and the signal; 0 without `-notify`.
    pub notify: Decided<u64>,
    /// The queue's notify seconds, which `s_rt` waits before the job is ended.
    pub s_rt_grace: u64,
    pub processors: String,
    pub pe: Option<PlannedPe>,
    pub slots: Decided<u32>,
    pub environment: Environment,
    /// Marks the job's processes; leased before the job starts, `None` where no privilege allows it.
    pub add_grp_id: Option<u32>,
    pub job_dir: PathBuf,
    pub submission_time: u64,
    /// What the owner should know: requests and options without effect.
    pub notes: Vec<String>,
    facts: HostFactsOfSpec,
}

/// The host's part of `config`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HostFactsOfSpec {
    admin_user: String,
    min_uid: u32,
    min_gid: u32,
}

/// Makes all decisions.
///
/// # Errors
/// Requests above the queue's limits, unreadable requests, users below `min_uid`, a parallel environment or slots the
/// queue does not have.
pub fn plan(job: &Job, queue: &QueueInstance, host: &HostFacts) -> Result<JobPlan, PlanError> {
    let Job { owner, options, submission, .. } = job;
    if owner.uid < host.min_uid {
        let (user, uid, min_uid) = (owner.name.clone(), owner.uid, host.min_uid);
        return Err(PlanError::BelowMinUid { user, uid, min_uid });
    }
    if owner.gid < host.min_gid {
        let (user, gid, min_gid) = (owner.name.clone(), owner.gid, host.min_gid);
        return Err(PlanError::BelowMinGid { user, gid, min_gid });
    }
    if !queue.tmpdir.value.starts_with('/') {
        return Err(PlanError::Tmpdir(queue.tmpdir.value.clone()));
    }
    let mut notes = host_notes(queue, host);
    let limits = limits::decide(options, queue, &mut notes)?;
    let (pe, slots) = parallel::grant(options, queue, host, &mut notes)?;
    let name = match options.name.clone() {
        Some(set) => Decided::option("-N", set),
        None => Decided::built_in(default_name(&job.program)),
    };
    let task = format!("{}.1", job.id);
    let job_dir = host.spool_dir.join("active_jobs").join(&task);
    let home = owner.home.as_os_str();
    let context = paths::Context {
        home,
        user: &owner.name,
        job_id: &job.id.to_string(),
        job_name: &name.value,
        host: &host.host,
        home_of: host.home_of,
    };
    let cwd = match options.working_directory.clone() {
        None => Decided::new(home.to_owned(), Source::Account),
        Some(Set { value: WorkingDirectory::Current, given }) => {
            Decided::new(submission.directory.clone().into_os_string(), Source::Option("-cwd", given))
        }
        Some(Set { value: WorkingDirectory::Path(path), given }) => Decided::new(
            context.path(&path, submission.directory.as_os_str()).unwrap_or_else(|| home.to_owned()),
            Source::Option("-wd", given),
        ),
    };
    let output = |option: &'static str, set: &Option<Set<String>>| match set {
        None => Decided::built_in(Stream::Own),
        Some(set) => {
            let path =
                paths::for_host(&set.value, &host.host).and_then(|path| context.path(path, &cwd.value));
            Decided::new(
                Stream::File(path.unwrap_or_else(|| cwd.value.clone())),
                Source::Option(option, set.given),
            )
        }
    };
    let (stdout, stderr) = (output("-o", &options.stdout), output("-e", &options.stderr));
    let stdin = match &options.stdin {
        None => Decided::built_in(OsString::from("/dev/null")),
        Some(set) => {
            let path =
                paths::for_host(&set.value, &host.host).and_then(|path| context.path(path, &cwd.value));
            let path = path.unwrap_or_else(|| OsString::from("/dev/null"));
            let same = |stream: &Stream| matches!(stream, Stream::File(file) if *file == path);
            if path != "/dev/null" && (same(&stdout.value) || same(&stderr.value)) {
                let path = path.to_string_lossy().into_owned();
                return Err(PlanError::InputIsOutput { given: set.given, path });
            }
            Decided::new(path, Source::Option("-i", set.given))
        }
    };
    let shell = shell(options, queue, &context, &cwd.value, host);
    let base = Path::new(&shell.value).file_name().map(|name| name.to_string_lossy().into_owned());
    let login_shell = base.is_some_and(|name| host.login_shells.contains(&name));
    let script_file = match &job.program {
        Program::Script { .. } => {
            host.spool_dir.join("job_scripts").join(job.id.to_string()).into_os_string()
        }
        Program::Command(command) => command.clone(),
    };
    let no_shell = match options.use_shell.clone() {
        Some(set) => Decided::new(!set.value, Source::Option("-shell", set.given)),
        None => Decided::built_in(false),
    };
    let tmpdir = format!("{}/{task}.{}", queue.tmpdir.value.trim_end_matches('/'), queue.qname.value);
    let grace = seconds(queue.notify.value);
    let notify = match &options.notify {
        Some(set) => Decided::new(grace, Source::Option("-notify", set.given)),
        None => Decided::built_in(0),
    };
    let environment = environment::build(&environment::Inputs {
        job,
        host,
        name: &name.value,
        shell: &shell.value,
        script_file: &script_file,
        cwd: options.working_directory.as_ref().map(|_| cwd.value.as_os_str()),
        tmpdir: &tmpdir,
        queue: &queue.qname.value,
        pe: pe.as_ref().map(|pe| pe.name.value.as_str()),
        slots: slots.value,
        job_dir: &job_dir,
    });
    Ok(JobPlan {
        job_id: job.id,
        owner: owner.clone(),
        host: host.host.clone(),
        queue: queue.qname.value.clone(),
        name,
        program: job.program.clone(),
        arguments: job.arguments.clone(),
        script_file,
        no_shell,
        shell,
        shell_start_mode: Decided::new(
            queue.shell_start_mode.value,
            Source::Queue(queue.shell_start_mode.origin.clone()),
        ),
        login_shell,
        starter_method: queue_text(&queue.starter_method),
        cwd,
        stdin,
        stdout,
        stderr,
        merge: options.merge.clone().map_or(Decided::built_in(false), |set| Decided::option("-j", set)),
        queue_tmpdir: queue_text(&queue.tmpdir),
        tmpdir,
        limits,
        priority: Decided::new(queue.priority.value, Source::Queue(queue.priority.origin.clone())),
        prolog: procedure(queue_text(&queue.prolog)),
        epilog: procedure(queue_text(&queue.epilog)),
        suspend_method: queue_text(&queue.suspend_method),
        resume_method: queue_text(&queue.resume_method),
        terminate_method: queue_text(&queue.terminate_method),
        notify,
        s_rt_grace: grace,
        processors: queue.processors.text.clone(),
        pe,
        slots,
        environment,
        add_grp_id: None,
        job_dir,
        submission_time: submission.time,
        notes,
        facts: HostFactsOfSpec {
            admin_user: host.admin_user.clone(),
            min_uid: host.min_uid,
            min_gid: host.min_gid,
        },
    })
}

/// A queue as a cluster prints it names that cluster's hosts; this one need not be among them.
fn host_notes(queue: &QueueInstance, host: &HostFacts) -> Vec<String> {
    let hosts = &queue.hostlist.value;
    let listed = hosts.iter().any(|id| match id {
        HostId::Host(name) => name.eq_ignore_ascii_case(&host.host),
        // Who is in a group is known only to who asked for it; do not warn of what may be right.
        HostId::Group(_) => true,
    });
    if listed || hosts.is_empty() {
        return Vec::new();
    }
    vec![format!("host `{}` is not in the hostlist of queue `{}`", host.host, queue.qname.value)]
}

/// The first `-S` entry for this host, else the queue's shell.
fn shell(
    options: &Options,
    queue: &QueueInstance,
    context: &paths::Context<'_>,
    cwd: &std::ffi::OsStr,
    host: &HostFacts,
) -> Decided<String> {
    options
        .shell
        .as_ref()
        .and_then(|set| {
            let path = context.path(paths::for_host(&set.value, &host.host)?, cwd)?;
            Some(Decided::new(path.to_string_lossy().into_owned(), Source::Option("-S", set.given)))
        })
        .unwrap_or_else(|| queue_text(&queue.shell))
}

/// A procedure that is off is written `none`, as 8.1.9 does; anything else as it stands in the queue.
fn procedure(text: Decided<String>) -> Decided<String> {
    let value = if text.value.eq_ignore_ascii_case("none") { "none".to_owned() } else { text.value };
    Decided::new(value, text.source)
}

/// Job names may not contain what `-N` refuses; a file name may.
fn default_name(program: &Program) -> String {
    let name: String = program
        .base_name()
        .chars()
        .map(|c| if c.is_control() || "/:@\\*?".contains(c) { '_' } else { c })
        .collect();
    if name.is_empty() { "job".to_owned() } else { name }
}

/// A time for a file that only knows numbers. Infinity becomes the greatest 32-bit number, 136 years.
fn seconds(limit: Limit<Seconds>) -> u64 {
    limit.finite().map_or(u64::from(u32::MAX), |seconds| seconds.0.min(u64::from(u32::MAX)))
}
