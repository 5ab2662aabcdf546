//! The floor under every shepherd, and three small helpers of the benches.
//!
//! `floor run UID GID ADDITIONAL PROGRAM [ARG…]` does in a job directory what no supervisor of a job can
//! avoid (see docs/testing.md): be execed, read what execd wrote, start the job as its owner, wait, write
//! what execd reads. It is a program of its own because a supervisor named by `shepherd_cmd` is one: its
//! exec belongs to the price.
#![allow(clippy::print_stdout, reason = "`sleepers` says when it is ready")]

#[path = "../spawn.rs"]
#[allow(dead_code, reason = "shared with the xtask binary; each uses its part")]
mod spawn;

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use spawn::{Identity, Launch};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.split_first() {
        Some((&"run", rest)) => run(rest),
        // sge_execd starts its shepherd_cmd without arguments.
        None => below_execd(),
        Some((&"launch", rest)) => launch(rest),
        Some((&"sleepers", rest)) => sleepers(rest),
        Some((&"reap", rest)) => return reap(rest),
        _ => Err(io::Error::other("usage: floor run|launch|sleepers|reap …")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn number<T: std::str::FromStr>(words: &[&str], index: usize) -> io::Result<T> {
    words.get(index).and_then(|word| word.parse().ok()).ok_or_else(|| io::Error::other("not a number"))
}

fn below_execd() -> io::Result<()> {
    let told = std::env::var("OXHERD_FLOOR_JOB").map_err(io::Error::other)?;
    let mut words: Vec<&str> = told.split(' ').collect();
    let config = std::fs::read_to_string("config")?;
    let additional = config.lines().find_map(|line| line.strip_prefix("add_grp_id="));
    if words.len() < 4 {
        return Err(io::Error::other("not a job"));
    }
    words[2] = additional.ok_or_else(|| io::Error::other("no additional group"))?;
    run(&words)
}

fn run(words: &[&str]) -> io::Result<()> {
    let (uid, gid, additional): (u32, u32, u32) = (number(words, 0)?, number(words, 1)?, number(words, 2)?);
    let argv =
        words.get(3..).filter(|argv| !argv.is_empty()).ok_or_else(|| io::Error::other("no program"))?;
    spawn::regain_root();
    std::fs::read("config")?;
    std::fs::read("environment")?;
    std::fs::write("pid", format!("{}\n", std::process::id()))?;
    let job = spawn::spawn(&Launch {
        program: Path::new(argv[0]),
        argv,
        directory: Path::new("/"),
        environment: &["PATH=/bin:/usr/bin"],
        identity: Identity::Job { uid, gid, additional },
        descriptors: None,
    })?;
    std::fs::write("job_pid", format!("{job}\n"))?;
    std::fs::write("addgrpid", format!("{additional}\n"))?;
    let ended = spawn::wait(job)?;
    std::fs::write("trace", "")?;
    std::fs::write("error", "")?;
    let mut usage = format!("wait_status={}\nexit_status={}\n", ended.status, (ended.status >> 8) & 0xff);
    for (name, time) in [("ru_utime", ended.user_us), ("ru_stime", ended.system_us)] {
        let _ = writeln!(usage, "{name}={}.{:06}", time / 1_000_000, time % 1_000_000);
    }
    std::fs::write("usage", usage)?;
    std::fs::write("exit_status", "0\n")
}

/// `launch UID GID PROGRAM ARGV0`: becomes PROGRAM with the identity sge_execd gives a shepherd, in the
/// current directory and with the current environment. For strace, which cannot do that itself.
fn launch(words: &[&str]) -> io::Result<()> {
    let (uid, gid) = (number(words, 0)?, number(words, 1)?);
    let (Some(program), Some(argv0)) = (words.get(2), words.get(3)) else {
        return Err(io::Error::other("no program"));
    };
    let environment: Vec<String> = std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
    let environment: Vec<&str> = environment.iter().map(String::as_str).collect();
    Err(spawn::exec(&Launch {
        program: Path::new(program),
        argv: &[argv0],
        directory: Path::new("."),
        environment: &environment,
        identity: Identity::Admin { uid, gid },
        descriptors: None,
    }))
}

/// `sleepers N`: N processes that have nothing to do with any job; says `ready` and stays until it is killed.
fn sleepers(words: &[&str]) -> io::Result<()> {
    for _ in 0..number::<u32>(words, 0)? {
        spawn::sleeper()?;
    }
    println!("ready");
    loop {
        std::thread::park();
    }
}

/// `reap PROGRAM [ARG…]`: the first process of a namespace. It runs a program and buries the orphans: those of the stock
/// shepherd's jobs would otherwise fill the process table.
fn reap(words: &[&str]) -> ExitCode {
    let Some((program, arguments)) = words.split_first() else { return ExitCode::FAILURE };
    let Ok(child) = std::process::Command::new(program).args(arguments).spawn() else {
        return ExitCode::FAILURE;
    };
    let child = i32::try_from(child.id()).unwrap_or(-1);
    // Faster than chains that fork without end, or the table is full all the same.
    spawn::hurry();
    loop {
        match spawn::wait_any() {
            Ok((pid, ended)) if pid == child => {
                return if ended.status == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
            }
            Ok(_) => {}
            Err(_) => return ExitCode::FAILURE,
        }
    }
}
