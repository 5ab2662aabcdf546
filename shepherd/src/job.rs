//! Becoming a step of the job: what a child does between fork and exec, in one order with a reason for each line.

use std::ffi::CString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use oxherd_handoff::{ExitState, Key};
use oxherd_sys::process::{self, Pid};
use oxherd_sys::{affinity, fd, pty, signals};

use crate::cgroup;
use crate::machine::Step;
use crate::privilege::Privilege;
use crate::spec::Spec;
use crate::step::command::{self, Program};
use crate::step::credentials::{self, Identity};
use crate::step::interactive::{self, Ends, Kind, Streams};
use crate::step::limits::Limits;
use crate::step::{Failure, environment, method, nice, procedure, stdio};

/// What a child is to become, and the way to say why it did not.
#[derive(Debug)]
pub struct Child<'a> {
    pub spec: &'a Spec,
    pub limits: &'a Limits,
    pub privilege: Privilege,
    /// Where the child enters its cgroup, if it was not made in it.
    pub door: Option<OwnedFd>,
    /// The shepherd, to see whether it is still there.
    pub shepherd: Pid,
    /// Close-on-exec pipe to the shepherd.
    pub report: File,
    /// SGE_JOBEXIT_STAT.
    pub job_exit: Option<u8>,
    /// The streams of an interactive job.
    pub streams: Option<Streams>,
}

/// What the child tells the shepherd before exec.
const NO_CODE: u8 = 0;
/// A line for the trace, in the place of a code.
pub const TRACE: u8 = 255;

impl Child<'_> {
    /// Becomes a step. Never returns.
    pub fn become_step(mut self, step: Step) -> ! {
        let failure = match self.prepare(step) {
            Ok((program, environment)) => self.execute(&program, &environment),
            Err(failure) => failure,
        };
        self.give_up(&failure)
    }

    /// Becomes a method. Never returns.
    pub fn become_method(mut self, text: &str, job: Option<Pid>) -> ! {
        let failure = match self.prepare_method(text, job) {
            Ok((program, environment)) => self.execute(&program, &environment),
            Err(failure) => failure,
        };
        self.give_up(&failure)
    }

    /// Ends a child that removed TMPDIR; what is left goes to the trace.
    pub fn end_remover(self, result: Result<(), String>) -> ! {
        let failed = result.is_err();
        if let Err(text) = result {
            self.trace(&[text]);
        }
        process::exit_now(i32::from(failed))
    }

    /// Looks up a host for the shepherd: one `address:port` a line, nothing where it is unknown.
    pub fn resolve(self, host: &str, port: u16) -> ! {
        use std::net::ToSocketAddrs;
        let addresses = (host, port).to_socket_addrs();
        let lines: String = addresses.into_iter().flatten().map(|address| format!("{address}\n")).collect();
        let _ = (&self.report).write_all(lines.as_bytes());
        process::exit_now(0)
    }

    fn execute(&self, program: &Program, environment: &[CString]) -> Failure {
        // The guardian looks once the shepherd is dead, and sees what is marked. This child was marked before it looks
        // here: either it finds the shepherd gone, or the guardian finds the child.
        if i32::try_from(std::os::unix::process::parent_id()) != Ok(self.shepherd.number()) {
            process::exit_now(1);
        }
        self.trace(&[command::shown_line(program)]);
        execute(program, environment)
    }

    fn give_up(self, failure: &Failure) -> ! {
        let mut message = vec![failure.state.map_or(NO_CODE, |state| state.code())];
        message.extend_from_slice(failure.text.as_bytes());
        let _ = (&self.report).write_all(&message);
        process::exit_now(failure.state.map_or(1, |state| i32::from(state.code())))
    }

    fn prepare(&mut self, step: Step) -> Result<(Program, Vec<CString>), Failure> {
        let spec = self.spec;
        if step == Step::Job
            && let (Some(session), Some(streams)) = (&spec.interactive, self.streams.take())
        {
            return self.prepare_session(session.kind, streams);
        }
        // A session of its own: pid = pgid = sid, no terminal, and signals to the shepherd's group do not reach it.
        process::new_session().map_err(|error| Failure::phase(format!("can't start a session: {error}")))?;
        let other = procedure::other_user(spec, step);
        self.common()?;
        // Look-ups come before the limits: name services may need more memory than the job may have.
        let mut owner = Identity::of_owner(spec).map_err(Failure::phase)?;
        let target = match &other {
            Some(user) => Some(Identity::of_user(user.as_bytes()).map_err(Failure::phase)?),
            None => None,
        };
        if step == Step::Job {
            owner.check_minimum(spec)?;
        }
        // What runs as the job owner is marked, what an administrator's procedure starts is not the job's.
        if target.is_none() {
            owner.mark(spec.add_grp_id());
        }
        // As root: hard limits may have to be raised, and a lower nice value needs it too. The job's limits are not for
        // an administrator's procedure: `-l h_fsize=1` would cut root's files.
        nice::apply(spec)?;
        if target.is_none() {
            let lines = self.limits.apply(step == Step::Job);
            self.trace(&lines);
        }
        // From here on as the job owner: files are opened with the owner's rights and no other's.
        if self.privilege.root {
            if target.is_some() { owner.assume_effective(spec)? } else { owner.assume(spec)? }
        } else if let Some(user) = &other {
            let text = format!("{} wants to run as user \"{user}\", which needs root", step.name());
            return Err(Failure::phase(text));
        }
        let paths = stdio::resolve(spec, step)?;
        let program =
            if step == Step::Job { command::job(spec)? } else { procedure::program(spec, step, &paths)? };
        stdio::open(spec, step, &paths, command::stdin_script(spec, &program))?;
        if step == Step::Job {
            command::check_job(spec, &program)?;
        }
        if let Some(target) = &target {
            credentials::regain_root()?;
            target.assume(spec)?;
        }
        if target.is_some() && !program.file.starts_with(b"/") {
            // It would be looked for in the job owner's directory.
            return Err(Failure::phase(format!(
                "{}: the program of another user must be an absolute path",
                step.name()
            )));
        }
        if step != Step::Job {
            command::check_file(step.name(), std::ffi::OsStr::new(&os(&program.file)))?;
        }
        let variables = environment::build(spec, step, Some(&paths), self.job_exit, target.as_ref());
        Ok((program, environment::strings(&variables)))
    }

    /// An interactive job: like a batch job, but for where its streams come from and what it starts.
    fn prepare_session(&mut self, kind: Kind, streams: Streams) -> Result<(Program, Vec<CString>), Failure> {
        let spec = self.spec;
        let Streams { ends, mut go } = streams;
        process::new_session().map_err(|error| Failure::phase(format!("can't start a session: {error}")))?;
        self.common()?;
        let without_shell = interactive::wait_for_client(&mut go)?;
        drop(go);
        let mut owner = Identity::of_owner(spec).map_err(Failure::phase)?;
        owner.check_minimum(spec)?;
        if owner.shell.is_empty() {
            // The numbers came with `config`; shell and home did not.
            let account = Identity::of_user(owner.name.as_bytes()).map_err(Failure::phase)?;
            (owner.home, owner.shell) = (account.home, account.shell);
        }
        owner.mark(spec.add_grp_id());
        nice::apply(spec)?;
        let lines = self.limits.apply(true);
        self.trace(&lines);
        if self.privilege.root {
            if let Ends::Terminal(slave) = &ends
                && let Err(error) = pty::give(slave, owner.uid)
            {
                self.trace(&[format!("can't give the terminal to its user: {error}")]);
            }
            owner.assume(spec)?;
        }
        interactive::attach(&ends)?;
        drop(ends);
        let cwd = match kind {
            Kind::Login => owner.home.as_os_str(),
            Kind::Command => spec.config.os(Key::Cwd).unwrap_or_default(),
        };
        if let Err(error) = std::env::set_current_dir(cwd) {
            if kind == Kind::Command {
                let text = format!("error: can't chdir to {}: {}", command::shown(cwd), stdio::plain(&error));
                return Err(Failure::coded(ExitState::WorkingDirectory, text));
            }
            // As login does: the session starts somewhere.
            let _ = std::env::set_current_dir("/");
        }
        let program = interactive::program(spec, kind, &owner, without_shell)?;
        let mut variables = environment::build(spec, Step::Job, None, None, None);
        interactive::environment(spec, kind, &owner, &mut variables);
        Ok((program, environment::strings(&variables)))
    }

    fn prepare_method(&mut self, text: &str, job: Option<Pid>) -> Result<(Program, Vec<CString>), Failure> {
        let spec = self.spec;
        // Not in the shepherd's session, as in 8.1.9: there SIGCONT needs no right, and it is an order to each shepherd of
        // the daemon.
        process::new_session().map_err(|error| Failure::phase(format!("can't start a session: {error}")))?;
        self.common()?;
        let mut owner = Identity::of_owner(spec).map_err(Failure::phase)?;
        // Never unmarked: it has the job's environment, so the job's LD_PRELOAD runs in it.
        owner.mark(spec.add_grp_id());
        nice::apply(spec)?;
        let _ = self.limits.apply(false);
        if self.privilege.root {
            owner.assume(spec)?;
        }
        let null = File::options().read(true).write(true).open("/dev/null");
        let null = null.map_err(|error| Failure::phase(format!("can't open /dev/null: {error}")))?;
        for number in 0..3 {
            fd::place(null.as_fd(), number).map_err(|error| Failure::phase(error.to_string()))?;
        }
        let cwd = spec.config.os(Key::Cwd).unwrap_or_default();
        if let Err(error) = std::env::set_current_dir(cwd) {
            self.trace(&[format!("method: can't chdir to {}: {error}", command::shown(cwd))]);
        }
        let variables = environment::build(spec, Step::Job, None, None, None);
        Ok((method::program(spec, text, job), environment::strings(&variables)))
    }

    /// What every child does as root.
    fn common(&mut self) -> Result<(), Failure> {
        self.privilege.raise();
        // The keys of execd's session are not the job's to use.
        process::new_keyring();
        // Before anything of the user runs: what it starts is in the cgroup from its first moment.
        if let Some(door) = self.door.take()
            && let Err(error) = cgroup::enter(door)
        {
            self.trace(&[format!("can't enter the cgroup: {error}")]);
        }
        // A job must find every signal as it is after login.
        signals::reset(signals::ignored().unwrap_or_else(|| (1..=64).collect()));
        process::set_umask(0o022);
        if let Some(binding) = self.spec.binding.as_ref().filter(|binding| binding.set)
            && let Err(error) = affinity::bind(&binding.processors)
        {
            self.trace(&[format!("the job runs unbound: {error}")]);
        }
        Ok(())
    }

    /// Lines for the shepherd's trace.
    fn trace(&self, lines: &[String]) {
        let mut message = Vec::new();
        for line in lines {
            message.push(TRACE);
            // A line break of the user's would end the line, and what follows be read as a code.
            message.extend_from_slice(line.replace('\n', "\\n").as_bytes());
            message.push(b'\n');
        }
        let _ = (&self.report).write_all(&message);
    }
}

fn os(bytes: &[u8]) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes.to_vec())
}

fn execute(program: &Program, environment: &[CString]) -> Failure {
    // Belt and braces: everything of ours is close-on-exec already.
    let _ = fd::cloexec_from(3);
    // The very last thing: from here on signals reach the program and not this code.
    let _ = signals::set_mask(&signals::Set::empty());
    let failure = command::execute(program, environment);
    let _ = signals::set_mask(&signals::Set::full());
    failure
}
