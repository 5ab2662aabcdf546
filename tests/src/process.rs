//! What `/proc` tells about processes.

use std::collections::BTreeSet;
use std::fs;

/// One living process.
#[derive(Debug, Clone)]
pub struct Process {
    pub pid: i32,
    pub ppid: i32,
    pub name: String,
    /// The state letter, `T` when stopped.
    pub state: char,
    pub uid: u32,
    pub groups: Vec<u32>,
}

impl Process {
    /// Reads one process; `None` if it is gone or a zombie.
    pub fn read(pid: i32) -> Option<Self> {
        // The name in there is the process's own word and need not be UTF-8.
        let status = fs::read(format!("/proc/{pid}/status")).ok()?;
        let status = String::from_utf8_lossy(&status);
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .map(str::trim)
                .unwrap_or("")
        };
        let state = field("State").chars().next()?;
        // A first thread that ended while others go on looks dead as well.
        if matches!(state, 'Z' | 'X') && matches!(field("Threads"), "" | "0" | "1") {
            return None;
        }
        Some(Self {
            pid,
            ppid: field("PPid").parse().ok()?,
            name: field("Name").to_owned(),
            state,
            uid: field("Uid").split_whitespace().next()?.parse().ok()?,
            groups: field("Groups").split_whitespace().filter_map(|gid| gid.parse().ok()).collect(),
        })
    }
}

/// All living processes.
pub fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    entries.filter_map(|entry| Process::read(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// True if the process exists and is no zombie.
pub fn alive(pid: i32) -> bool {
    Process::read(pid).is_some()
}

/// True if the process stands still because of a signal.
///
/// Shells use vfork: when the child is stopped before its exec, the parent waits in state `D` and is never seen in `T`.
pub fn stopped(pid: i32) -> bool {
    match Process::read(pid).map(|process| process.state) {
        Some('T') => true,
        Some('D') => all().iter().any(|child| child.ppid == pid && child.state == 'T'),
        _ => false,
    }
}

/// The processes that have the additional group id.
pub fn carrying(gid: u32) -> Vec<Process> {
    all().into_iter().filter(|process| process.groups.contains(&gid)).collect()
}

/// The processes whose environment holds `marker`.
pub fn marked(marker: &str) -> Vec<Process> {
    let has = |process: &Process| {
        let environ = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        environ.split(|&byte| byte == 0).any(|line| line == marker.as_bytes())
    };
    all().into_iter().filter(has).collect()
}

/// A process and everything below it.
pub fn tree(root: i32) -> Vec<Process> {
    let everything = all();
    let mut members = BTreeSet::from([root]);
    loop {
        let before = members.len();
        members.extend(
            everything.iter().filter(|p| members.contains(&p.ppid)).map(|p| p.pid).collect::<Vec<_>>(),
        );
        if members.len() == before {
            break;
        }
    }
    everything.into_iter().filter(|process| members.contains(&process.pid)).collect()
}

/// The effective uid of the test process.
pub fn own_euid() -> u32 {
    let status = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:")).expect("a Uid line");
    uids.split_whitespace().nth(1).and_then(|uid| uid.parse().ok()).expect("an effective uid")
}

/// The name of this host.
pub fn host_name() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").expect("the host has a name").trim().to_owned()
}
