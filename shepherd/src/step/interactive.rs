//! Jobs of `qrsh`, `qlogin` and tasks of tight integration: what their process becomes.
//!
//! 8.1.9 starts `utilbin/…/qrsh_starter` for commands, which leaves pid and exit code in files of the user's TMPDIR that
//! root reads and acts upon (D6). Here the command is the shepherd's own child: its wait status is its exit code, and
//! there is no such file.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use oxherd_handoff::{Environment, ExitState, Key};
use oxherd_sys::{fd, pty};

use super::Failure;
use super::command::Program;
use super::credentials::Identity;
use crate::spec::Spec;

/// Which client asked for the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `qlogin`, `qrsh` without a command: a login shell.
    Login,
    /// `qrsh COMMAND`, `qrsh -inherit`.
    Command,
}

/// An interactive job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interactive {
    pub kind: Kind,
    /// Where the client listens.
    pub host: String,
    pub port: u16,
    /// On a pseudo terminal instead of pipes.
    pub pty: bool,
}

/// The child's side of the streams.
#[derive(Debug)]
pub struct Streams {
    /// A terminal's slave, or the ends of three pipes.
    pub ends: Ends,
    /// One byte comes through it when the client has said how to start: `0` with a shell, `1` without.
    pub go: File,
}

impl Streams {
    /// All descriptors, for a child that closes what is not its own.
    #[must_use]
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let mut all = vec![self.go.as_fd()];
        match &self.ends {
            Ends::Terminal(slave) => all.push(slave.as_fd()),
            Ends::Pipes(pipes) => all.extend(pipes.iter().map(AsFd::as_fd)),
        }
        all
    }
}

#[derive(Debug)]
pub enum Ends {
    Terminal(File),
    Pipes([File; 3]),
}

/// Separates the words of QRSH_COMMAND; no character of UTF-8 has it.
const SEPARATOR: u8 = 0xff;

impl Interactive {
    /// Reads the keys of an interactive job; `None` for batch jobs.
    ///
    /// # Errors
    /// A sentence for what is not supported: external daemons, TLS, qsh.
    pub fn parse(spec: &Spec) -> Result<Option<Self>, String> {
        let config = &spec.config;
        let (kind, daemon, pty_by_default) = match config.shown(Key::ScriptFile).as_str() {
            "QLOGIN" => (Kind::Login, Key::QloginDaemon, true),
            "QRLOGIN" => (Kind::Login, Key::RloginDaemon, true),
            "QRSH" => (Kind::Command, Key::RshDaemon, false),
            "INTERACTIVE" => return Err("qsh is not supported: use qlogin, or qrsh -pty y".to_owned()),
            _ => return Ok(None),
        };
        let configured = config.shown(daemon);
        if !configured.eq_ignore_ascii_case("builtin") {
            let text = format!("{} is `{configured}`; only `builtin` is supported", daemon.name());
            return Err(text);
        }
        if config.flag(Key::Csp, false).map_err(|error| error.to_string())? {
            return Err("interactive jobs over TLS (csp) are not supported".to_owned());
        }
        let control = config.shown(Key::QrshControlPort);
        let address =
            control.rsplit_once(':').and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
        let Some((host, port)) = address.filter(|(host, port)| !host.is_empty() && *port > 0) else {
            return Err(format!("config: `qrsh_control_port`: expected host:port, found `{control}`"));
        };
        let pty = match config.number(Key::Pty, 2).map_err(|error| error.to_string())? {
            0 => false,
            1 => true,
            _ => pty_by_default,
        };
        Ok(Some(Self { kind, host, port, pty }))
    }
}

/// Makes the terminal or the pipes the child's standard descriptors.
///
/// # Errors
/// 26.
pub fn attach(ends: &Ends) -> Result<(), Failure> {
    let fail = |error: std::io::Error| {
        Failure::coded(
            ExitState::InputOutputFile,
            format!("can't set up the streams of the session: {error}"),
        )
    };
    match ends {
        Ends::Terminal(slave) => {
            pty::control(slave.as_fd()).map_err(fail)?;
            (0..3).try_for_each(|number| fd::place(slave.as_fd(), number)).map_err(fail)
        }
        Ends::Pipes(pipes) => pipes
            .iter()
            .zip(0..3)
            .try_for_each(|(pipe, number)| fd::place(pipe.as_fd(), number))
            .map_err(fail),
    }
}

/// Waits for the client's word. True: without a shell.
///
/// # Errors
/// 30 where the client cannot be reached or went away: the job's, never the queue's fault.
pub fn wait_for_client(go: &mut File) -> Result<bool, Failure> {
    let mut byte = [0];
    match go.read(&mut byte) {
        Ok(1) => Ok(byte[0] == b'1'),
        _ => Err(Failure::coded(ExitState::ApplicationError, "the client of the session cannot be reached")),
    }
}

/// Plans the command line.
///
/// # Errors
/// 30 where the job has no command.
pub fn program(spec: &Spec, kind: Kind, user: &Identity, without_shell: bool) -> Result<Program, Failure> {
    let shell: &[u8] = match user.shell.as_bytes() {
        b"" => b"/bin/sh",
        shell => shell,
    };
    let base = shell.rsplit(|byte| *byte == b'/').next().unwrap_or(shell);
    let of = |file: &[u8], arguments| Program { file: file.to_vec(), arguments, script_on_stdin: false };
    if kind == Kind::Login {
        return Ok(of(shell, vec![[b"-", base].concat()]));
    }
    let command = spec.environment.get("QRSH_COMMAND").map(OsStrExt::as_bytes).unwrap_or_default();
    let words: Vec<Vec<u8>> = command.split(|byte| *byte == SEPARATOR).map(<[u8]>::to_vec).collect();
    if command.is_empty() {
        return Err(Failure::coded(ExitState::ApplicationError, "the session has no command (QRSH_COMMAND)"));
    }
    if !spec.config.is_none(Key::StarterMethod) {
        let starter = spec.config.get(Key::StarterMethod).unwrap_or_default();
        let mut line = vec![starter.to_vec()];
        line.extend(words);
        return Ok(of(starter, line));
    }
    if without_shell {
        return Ok(of(&words[0].clone(), words));
    }
    Ok(of(shell, vec![base.to_vec(), b"-c".to_vec(), words.join(&b' ')]))
}

/// A session's variables: those of the job, and what a login needs. 8.1.9 gives login shells the five of login alone
/// (D14; the switch `login_environment` brings that back).
pub fn environment(spec: &Spec, kind: Kind, user: &Identity, environment: &mut Environment) {
    if kind == Kind::Login && spec.switches.strict("login_environment") {
        environment.retain(|name, _| name == "TERM" || name == "TZ" || name == "HZ");
        environment.set("PATH", "/bin:/usr/bin");
    }
    if kind == Kind::Login {
        environment.set("SHELL", user.shell.clone());
        environment.set("HOME", user.home.clone());
        environment.set("LOGNAME", user.name.clone());
    }
    if kind == Kind::Command && !spec.config.is_none(Key::StarterMethod) {
        environment.set("SGE_STARTER_SHELL_PATH", "");
        environment.set("SGE_STARTER_SHELL_START_MODE", "unix_behavior");
    }
}
