//! What the command line asks for: the queue, the program and its options.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use oxherd_conf::queue::ClusterQueue;
use oxherd_execd::job::Program;
use oxherd_execd::options::{Given, Options};
use oxherd_execd::plan::HostFacts;
use oxherd_execd::script_options;
use oxherd_model::queue_instance::QueueInstance;

use super::RunArguments;
use super::program::{self, Kind};
use super::report::Report;
use crate::failure::{BAD_INPUT, CANNOT_START, Failure, NOT_FOUND};
use crate::queue_file;

/// The queue that `--set` and no `--queue` mean.
const DEFAULT_QUEUE: &str = "all.q";

/// Options of qsub(1). They go before `#$` lines of the script.
#[derive(Debug, clap::Args)]
pub(crate) struct QsubOptions {
    /// Warn the job before it is stopped or killed
    #[arg(long)]
    notify: bool,
    /// Request smaller limits than the queue's
    #[arg(short = 'l', value_name = "NAME=VALUE,…")]
    resources: Vec<String>,
    /// Name of the job
    #[arg(short = 'N', value_name = "NAME")]
    name: Option<String>,
    /// File or directory for standard output instead of oxherd's own
    #[arg(short = 'o', value_name = "PATH")]
    stdout: Option<String>,
    /// File or directory for standard error instead of oxherd's own
    #[arg(short = 'e', value_name = "PATH")]
    stderr: Option<String>,
    /// File for standard input instead of /dev/null
    #[arg(short = 'i', value_name = "PATH")]
    stdin: Option<String>,
    /// Standard error goes where standard output goes
    #[arg(short = 'j', value_name = "y|n")]
    merge: Option<String>,
    /// Command interpreter
    #[arg(short = 'S', value_name = "PATH")]
    interpreter: Option<String>,
    /// Variables of the job, from the caller's environment where there is no value
    #[arg(short = 'v', value_name = "NAME[=VALUE],…")]
    variables: Vec<String>,
    /// All variables of the caller's environment
    #[arg(short = 'V')]
    all_variables: bool,
    /// Run in the current directory (also -cwd)
    #[arg(long, conflicts_with = "wd")]
    cwd: bool,
    /// Run in this directory (also -wd)
    #[arg(long, value_name = "DIR")]
    wd: Option<String>,
    /// Whether the first word is a command (y) or a script (n)
    #[arg(short = 'b', long, value_name = "y|n")]
    binary: Option<String>,
    /// Whether a command is started by the shell (also -shell)
    #[arg(long, value_name = "y|n")]
    shell: Option<String>,
    /// Parallel environment (also -pe NAME SLOTS)
    #[arg(long, value_name = "NAME", requires = "slots")]
    pe: Option<String>,
    /// Slots of the parallel environment
    #[arg(long, value_name = "NUMBER", requires = "pe")]
    slots: Option<String>,
}

impl QsubOptions {
    /// The options by the one parser that reads `#$` lines as well.
    fn read(&self, env: &[String]) -> Result<Options, Failure> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |option: &str, value: &Option<String>| {
            words.extend(value.iter().flat_map(|value| [option.to_owned(), value.clone()]));
        };
        add("-N", &self.name);
        add("-o", &self.stdout);
        add("-e", &self.stderr);
        add("-i", &self.stdin);
        add("-j", &self.merge);
        add("-S", &self.interpreter);
        add("-wd", &self.wd);
        add("-b", &self.binary);
        add("-shell", &self.shell);
        words.extend(self.resources.iter().flat_map(|list| ["-l".to_owned(), list.clone()]));
        words.extend(self.variables.iter().flat_map(|list| ["-v".to_owned(), list.clone()]));
        for (given, option) in [(self.notify, "-notify"), (self.all_variables, "-V"), (self.cwd, "-cwd")] {
            words.extend(given.then(|| option.to_owned()));
        }
        if let (Some(pe), Some(slots)) = (&self.pe, &self.slots) {
            words.extend(["-pe".to_owned(), pe.clone(), slots.clone()]);
        }
        let mut options = Options::default();
        // Every word is one that is honoured.
        let mut ignored = Vec::new();
        options
            .read(&words, Given::CommandLine, &mut ignored)
            .map_err(|error| Failure::new(BAD_INPUT, error))?;
        for setting in env {
            let Some((name, value)) = setting.split_once('=').filter(|(name, _)| !name.is_empty()) else {
                return Err(Failure::text(
                    BAD_INPUT,
                    format!("--env: expected NAME=VALUE, found `{setting}`"),
                ));
            };
            options.set_variable(name, value);
        }
        Ok(options)
    }
}

/// The job's part of the command line.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) queue: QueueInstance,
    pub(super) program: Program,
    pub(super) arguments: Vec<OsString>,
    pub(super) options: Options,
}

impl Request {
    pub(super) fn read(
        arguments: &RunArguments,
        facts: &HostFacts,
        report: &mut Report,
    ) -> Result<Self, Failure> {
        let queue = queue(arguments, facts, report)?;
        let line = arguments.options.read(&arguments.env)?;
        let Some((first, rest)) = arguments.command.split_first() else {
            return Err(Failure::text(BAD_INPUT, "expected a script or a command"));
        };
        let (program, options) = program(first, line, report)?;
        let through_shell = options.use_shell.as_ref().is_none_or(|set| set.value);
        if matches!(program, Program::Command(_))
            && through_shell
            && let Some(argument) = rest.iter().find(|argument| program::is_special(argument))
        {
            report.note(format!(
                "the shell takes argument `{}` apart, as with `qsub -b y`; `-shell n` passes it on as it is",
                argument.display()
            ));
        }
        Ok(Self { queue, program, arguments: rest.to_vec(), options })
    }
}

fn queue(arguments: &RunArguments, facts: &HostFacts, report: &mut Report) -> Result<QueueInstance, Failure> {
    let groups = queue_file::host_groups(&arguments.host_group)?;
    let mut queue = match &arguments.queue {
        None => ClusterQueue::template(DEFAULT_QUEUE),
        Some(path) => {
            let (queue, warnings) = queue_file::queue(path)?;
            if warnings > 0 {
                let path = path.display();
                report.note(format!("{path} has warnings ({warnings}): `oxherd lint {path}` shows them"));
            }
            queue
        }
    };
    for setting in &arguments.set {
        let Some((name, value)) = setting.split_once('=') else {
            return Err(Failure::text(BAD_INPUT, format!("--set: expected NAME=VALUE, found `{setting}`")));
        };
        queue.set(name.trim(), value).map_err(|error| {
            let help = error.help.map_or_else(String::new, |help| format!("; {help}"));
            Failure::text(BAD_INPUT, format!("--set {setting}: {}{help}", error.message))
        })?;
    }
    queue.resolve(&facts.host, &groups).map_err(|error| Failure::new(BAD_INPUT, error))
}

/// Whether the first word is a script or a command, and the options of both the script and the command line.
fn program(first: &OsStr, line: Options, report: &mut Report) -> Result<(Program, Options), Failure> {
    let forced = line.binary.as_ref().map(|set| set.value);
    let kind = match forced {
        Some(true) => Kind::Command,
        Some(false) => Kind::Script,
        None => program::kind(first, std::env::var_os("PATH").as_deref()),
    };
    if kind == Kind::Script {
        let text = script(first)?;
        let (in_script, ignored) = script_options::read(&text).map_err(|error| at_script(first, error))?;
        if !ignored.is_empty() {
            let names: Vec<_> = ignored.iter().map(|entry| entry.option.as_str()).collect();
            report.note(format!("options of the script without effect here: {}", names.join(" ")));
        }
        let options = line.over(in_script);
        if options.binary.as_ref().is_none_or(|set| !set.value) {
            return Ok((Program::Script { path: first.into(), text }, options));
        }
        return Ok((Program::Command(program::absolute(first)), options));
    }
    let through_shell = line.use_shell.as_ref().is_none_or(|set| set.value);
    let own_path = line.variables.iter().any(|set| set.value.0 == "PATH");
    if !own_path && program::is_missing(first, through_shell, std::env::var_os("PATH").as_deref()) {
        let text = format!("cannot find a script or command `{}`", first.display());
        return Err(Failure::text(NOT_FOUND, text));
    }
    let command = if forced.is_some() { first.to_owned() } else { program::absolute(first) };
    Ok((Program::Command(command), line))
}

fn script(path: &OsStr) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        let code = if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT_START };
        let context = format!("cannot read script {}", path.display());
        Failure::new(code, anyhow::Error::new(error).context(context))
    })
}

fn at_script(path: &OsStr, error: impl std::fmt::Display) -> Failure {
    let path = String::from_utf8_lossy(path.as_bytes());
    Failure::text(BAD_INPUT, format!("{path}: {error}"))
}
