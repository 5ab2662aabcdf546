//! From exec to the first event: a safe process, the admin user's identity, the job directory read.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use oxherd_handoff::{ExitState, files};
use oxherd_sys::process::{self, Pid};
use oxherd_sys::signals::{self, SignalFd};
use oxherd_sys::{fd, signals::Set};

use crate::journal::{self, Journal};
use crate::machine::KILL;
use crate::privilege::Privilege;
use crate::spec::{Refusal, Spec};
use crate::supervisor::Supervisor;

const HELP: &str = "usage: oxherd-shepherd [-bg] [-help] [-version]\n\n\
    Supervises the job described in the working directory, which an execution daemon prepared.\n\
    Named as `shepherd_cmd` in the configuration of a cluster it takes the place of sge_shepherd.\n";

/// For the panic hook alone: which process group must not be left behind, and whether this is a child.
static JOB: AtomicI32 = AtomicI32::new(0);
static CHILD: AtomicBool = AtomicBool::new(false);

/// Remembers the job for the case that the program breaks.
pub fn set_job(pid: Pid) {
    JOB.store(pid.number(), Ordering::Relaxed);
}

/// The job's process was reaped: its number is nobody's.
pub fn forget_job() {
    JOB.store(0, Ordering::Relaxed);
}

/// This process is a child on its way to exec.
pub fn in_child() {
    CHILD.store(true, Ordering::Relaxed);
}

/// The program.
#[must_use]
pub fn main() -> ExitCode {
    // First of all: a signal between here and its handler would be an order lost, or the end of the shepherd.
    let _ = signals::set_mask(&Set::full());
    // After a restart execd knows its shepherds by the first eight letters of this name.
    process::set_name(c"sge_shepherd");
    for argument in std::env::args_os().skip(1) {
        if argument == "-help" || argument == "--help" {
            return say(HELP);
        }
        if argument == "-version" || argument == "--version" {
            return say(concat!("oxherd-shepherd ", env!("CARGO_PKG_VERSION"), "\n"));
        }
    }
    // Nothing is ours yet: what is open beyond 2 was inherited by accident.
    let _ = fd::close_from(3);
    if fd::ensure_standard().is_err() {
        return ExitCode::from(ExitState::BeforeProlog.code());
    }
    if !Path::new(files::CONFIG).exists() && !Path::new(files::ENVIRONMENT).exists() {
        return stranger();
    }
    process::set_umask(0o022);
    std::panic::set_hook(Box::new(|info| broken(&info.to_string())));
    ExitCode::from(supervise().code())
}

#[allow(clippy::print_stdout)] // the options that speak to a person
fn say(text: &str) -> ExitCode {
    print!("{text}");
    ExitCode::SUCCESS
}

/// Somebody called it by hand: nothing is written into a directory that is none of ours.
#[allow(clippy::print_stderr)] // speaks to a person
fn stranger() -> ExitCode {
    eprintln!(
        "oxherd-shepherd: this is no job directory: expected the files config and environment here\n\n{HELP}"
    );
    ExitCode::from(ExitState::BeforeProlog.code())
}

/// The panic hook: says what happened, and leaves no job behind.
fn broken(text: &str) {
    if CHILD.load(Ordering::Relaxed) {
        process::exit_now(1);
    }
    if let Some(job) = Pid::new(JOB.load(Ordering::Relaxed)) {
        let _ = process::kill_group(job, KILL);
    }
    journal::emergency(ExitState::BeforeJob, &format!("the shepherd is broken, please report it: {text}"));
    process::exit_now(ExitState::BeforeJob.into());
}

fn supervise() -> ExitState {
    let here = Path::new(".");
    let owner = match std::fs::metadata(here) {
        Ok(metadata) => {
            use std::os::unix::fs::MetadataExt;
            (metadata.uid(), metadata.gid())
        }
        Err(error) => {
            journal::emergency(
                ExitState::BeforeProlog,
                &format!("cannot look at the job directory: {error}"),
            );
            return ExitState::BeforeProlog;
        }
    };
    let ids = oxherd_sys::credentials::user_ids();
    let privilege = Privilege::drop_to_admin(owner);
    let mut journal = match Journal::open() {
        Ok(journal) => journal,
        Err(error) => {
            journal::emergency(ExitState::BeforeProlog, &format!("cannot make the result files: {error}"));
            return ExitState::BeforeProlog;
        }
    };
    journal.trace(&format!("shepherd called with uid = {}, euid = {}", ids.real, ids.effective));
    journal.trace(concat!("oxherd-shepherd ", env!("CARGO_PKG_VERSION")));
    let prepared = prepare(here, &mut journal);
    let (spec, signals) = match prepared {
        Ok(prepared) => prepared,
        Err(refusal) => return refuse(journal, &refusal),
    };
    match Supervisor::new(spec, privilege, journal, signals) {
        Ok(supervisor) => supervisor.run(),
        Err((refusal, journal)) => refuse(journal, &refusal),
    }
}

fn prepare(here: &Path, journal: &mut Journal) -> Result<(Spec, SignalFd), Refusal> {
    let fault = |what: &str, error: std::io::Error| Refusal {
        state: ExitState::BeforeProlog,
        text: format!("{what}: {error}"),
    };
    // A restarted execd finds its shepherds by this file; without it the job would be taken for dead.
    journal
        .try_replace(files::PID, format!("{}\n", Pid::current()).as_bytes())
        .map_err(|error| fault("cannot write pid of the shepherd", error))?;
    // Our own group: what is sent to execd's does not reach us. It fails where we lead one already.
    let _ = process::new_group();
    process::become_subreaper().map_err(|error| fault("cannot become a subreaper", error))?;
    let signals = SignalFd::new().map_err(|error| fault("cannot listen to signals", error))?;
    let spec = Spec::read_dir(here)?;
    if spec.config.flag(oxherd_handoff::Key::OxGate, false)? {
        use std::io::Read;
        // The daemon writes one byte when our cgroup is there; if it goes away instead, we start all the same.
        let mut byte = [0];
        let _ = std::io::stdin().read(&mut byte);
    }
    Ok((spec, signals))
}

fn refuse(mut journal: Journal, refusal: &Refusal) -> ExitState {
    journal.problem(refusal.state, &refusal.text);
    journal.finish()
}
