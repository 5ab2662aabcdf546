//! T6: the system calls of one job, counted by strace.
//!
//! Every process of the supervisor is followed. Those that never exec (a look-up of the job's owner in the
//! name service, forked off so that its memory goes with it) are counted apart: their number is a property
//! of the host's `nsswitch.conf`, not of the supervisor.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use super::setup::{Kind, Setup, succeeded};

#[derive(Default, Clone, Copy)]
pub(super) struct Count {
    pub(super) total: u32,
    pub(super) opens: u32,
    pub(super) execs: u32,
    pub(super) closes: u32,
    pub(super) processes: u32,
    /// Of processes that never exec; not part of the other figures.
    pub(super) look_up: u32,
    pub(super) look_up_opens: u32,
}

/// None when the program did not do its work under strace.
pub(super) fn count(setup: &Setup, kind: Kind) -> Result<Option<Count>> {
    let Some(program) = setup.program(kind) else { return Ok(None) };
    let directory = setup.job_dir(2, &["/bin/true"])?;
    let log = setup.base().join("strace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-s", "16", "-e", "signal=none", "-o"]).arg(&log);
    if kind == Kind::Floor {
        // It takes arguments and is started as root: regaining root is one call more either way.
        strace.arg(program).args(["run", "65534", "65534", "51002", "/bin/true"]);
    } else {
        let (uid, gid) = setup.admin();
        strace.arg(setup.floor()).args(["launch", &uid.to_string(), &gid.to_string()]);
        strace.arg(program).arg("sge_shepherd-2");
    }
    strace.current_dir(&directory.0).env_clear();
    strace.envs(setup.environment().iter().filter_map(|pair| pair.split_once('=')));
    let status = strace
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cannot start `strace`")?;
    if !status.success() || !succeeded(&directory.0) {
        return Ok(None);
    }
    let text = fs::read(&log)?;
    Ok(Some(parse(&String::from_utf8_lossy(&text), kind != Kind::Floor)))
}

/// Reads `strace -f -o`: `PID NAME(…`; the second halves of interrupted lines (`<... NAME resumed>`) are the
/// same call again. With `launched` everything before the launcher's exec is left out.
fn parse(log: &str, launched: bool) -> Count {
    let mut by_process: BTreeMap<&str, Count> = BTreeMap::new();
    let mut waiting = launched.then_some(2_u32);
    for line in log.lines() {
        let Some((pid, call)) = line.split_once(' ') else { continue };
        let Some((name, _)) = call.trim_start().split_once('(') else { continue };
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            continue;
        }
        // strace's own exec of the launcher is the first, the launcher's of the supervisor the second.
        if let Some(left) = waiting {
            if name == "execve" {
                waiting = (left > 1).then(|| left - 1);
            }
            if waiting.is_some() {
                continue;
            }
        }
        let count = by_process.entry(pid).or_default();
        count.total += 1;
        match name {
            "open" | "openat" | "openat2" | "creat" => count.opens += 1,
            "execve" | "execveat" => count.execs += 1,
            "close" => count.closes += 1,
            _ => {}
        }
    }
    let mut sum = Count::default();
    for count in by_process.values() {
        if count.execs == 0 {
            sum.look_up += count.total;
            sum.look_up_opens += count.opens;
        } else {
            sum.total += count.total;
            sum.opens += count.opens;
            sum.execs += count.execs;
            sum.closes += count.closes;
            sum.processes += 1;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_calls_count_once_and_the_launcher_not_at_all() {
        let log = "10 execve(\"floor\", …) = 0\n10 setresuid(0, 1, 1) = 0\n10 execve(\"shepherd\", …) = 0\n\
                   10 openat(AT_FDCWD, \"config\") = 3\n10 close(3) = 0\n10 clone() = 11\n\
                   10 wait4(11,  <unfinished ...>\n11 execve(\"/bin/true\", …) = 0\n11 +++ exited with 0 +++\n\
                   10 <... wait4 resumed>) = 11\n12 openat(AT_FDCWD, \"/etc/passwd\") = 3\n";
        let count = parse(log, true);
        assert_eq!((count.total, count.opens, count.execs, count.closes), (6, 1, 2, 1));
        assert_eq!((count.processes, count.look_up, count.look_up_opens), (2, 1, 1));
    }
}
