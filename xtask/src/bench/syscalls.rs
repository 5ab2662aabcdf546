//! T6: the system calls of one job, counted by strace.
//!
//! Every process of the supervisor is followed. Two things are counted apart for ours: the guardian, and the look-up of
//! the job's owner in the job's process, whose price is the host's (`nsswitch.conf`) and not the supervisor's. The
//! stock shepherd's look-ups are not told apart: they are a hundredth of what it does.

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
    /// Not part of the other figures.
    pub(super) guardian: u32,
    pub(super) look_up: u32,
    pub(super) look_up_opens: u32,
}

/// Where a process is on its way through the name service.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LookUp {
    Ahead,
    Asking,
    Done,
}

/// One process.
struct Process {
    count: Count,
    asking: LookUp,
    guardian: bool,
}

/// None when the program did not do its work under strace.
pub(super) fn count(setup: &Setup, kind: Kind) -> Result<Option<Count>> {
    let Some(program) = setup.program(kind) else { return Ok(None) };
    let directory = setup.job_dir(2, &["/bin/true"], &setup.lines(kind))?;
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
    Ok(Some(parse(&String::from_utf8_lossy(&text), kind != Kind::Floor, kind == Kind::Ours)))
}

/// Reads `strace -f -o`: `PID NAME(…`; the second halves of interrupted lines (`<... NAME resumed>`) are the
/// same call again. With `launched` everything before the launcher's exec is left out, with `apart` the look-up is
/// counted apart.
fn parse(log: &str, launched: bool, apart: bool) -> Count {
    let mut by_process: BTreeMap<&str, Process> = BTreeMap::new();
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
        let process = by_process.entry(pid).or_insert_with(|| Process {
            count: Count::default(),
            asking: if apart { LookUp::Ahead } else { LookUp::Done },
            guardian: false,
        });
        process.guardian |= name == "prctl" && call.contains("\"oxherd-guardian\"");
        let count = &mut process.count;
        let open = matches!(name, "open" | "openat" | "openat2" | "creat");
        match process.asking {
            LookUp::Ahead if name == "connect" && call.contains("/nscd/socket\"") => {
                process.asking = LookUp::Asking;
                // The socket before it belongs to it.
                count.total -= 1;
                count.look_up += 1;
            }
            LookUp::Ahead if call.contains("\"/etc/nsswitch.conf\"") => process.asking = LookUp::Asking,
            LookUp::Asking if ends_look_up(name, call) => process.asking = LookUp::Done,
            _ => {}
        }
        if process.asking == LookUp::Asking {
            count.look_up += 1;
            count.look_up_opens += u32::from(open);
            continue;
        }
        count.total += 1;
        match name {
            _ if open => count.opens += 1,
            "execve" | "execveat" => count.execs += 1,
            "close" => count.closes += 1,
            _ => {}
        }
    }
    let mut sum = Count::default();
    for process in by_process.values() {
        let count = process.count;
        sum.look_up += count.look_up;
        sum.look_up_opens += count.look_up_opens;
        if process.guardian {
            sum.guardian += count.total;
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

/// With the owner known the child sets nice value, limits and groups.
fn ends_look_up(name: &str, call: &str) -> bool {
    matches!(name, "setgroups" | "setpriority")
        // Asking for a limit is a library's business; setting one is the job's.
        || (name == "prlimit64" && !call.contains(", NULL, {"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_calls_count_once_and_the_launcher_not_at_all() {
        let log = "10 execve(\"floor\", …) = 0\n10 setresuid(0, 1, 1) = 0\n10 execve(\"shepherd\", …) = 0\n\
                   10 openat(AT_FDCWD, \"config\") = 3\n10 close(3) = 0\n10 clone() = 11\n\
                   10 wait4(11,  <unfinished ...>\n11 execve(\"/bin/true\", …) = 0\n11 +++ exited with 0 +++\n\
                   10 <... wait4 resumed>) = 11\n12 close(3) = 0\n12 prctl(PR_SET_NAME, \"oxherd-guardian\") = 0\n";
        let count = parse(log, true, true);
        assert_eq!((count.total, count.opens, count.execs, count.closes), (6, 1, 2, 1));
        assert_eq!((count.processes, count.guardian, count.look_up), (2, 2, 0));
    }

    #[test]
    fn the_look_up_is_counted_apart_from_the_first_question_to_the_limits() {
        let log = "11 umask(022) = 022\n11 socket(AF_UNIX) = 3\n\
                   11 connect(3, {sun_path=\"/var/run/nscd/socket\"}, 110) = -1\n\
                   11 openat(AT_FDCWD, \"/etc/nsswitch.conf\") = 3\n11 prlimit64(0, RLIMIT_STACK, NULL, {…}) = 0\n\
                   11 prlimit64(0, RLIMIT_CPU, {…}, NULL) = 0\n11 setgroups(1, [1]) = 0\n";
        let count = parse(log, false, true);
        assert_eq!((count.total, count.look_up, count.look_up_opens), (3, 4, 1));
        let count = parse(log, false, false);
        assert_eq!((count.total, count.look_up, count.opens), (7, 0, 1));
    }
}
