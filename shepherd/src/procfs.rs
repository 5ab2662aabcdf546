//! What the kernel says of processes, as far as the shepherd needs it.

use std::fs;
use std::time::Duration;

use oxherd_sys::process::Pid;

/// Reads a file of the kernel, whose size is not known before: in large steps, not the small ones of `std::fs`.
///
/// # Errors
/// Those of opening and reading.
pub fn read(path: impl AsRef<std::path::Path>) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut file = fs::File::open(path)?;
    let mut buffer = [0; 4096];
    let mut text = Vec::new();
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(text),
            count => text.extend_from_slice(&buffer[..count]),
        }
    }
}

/// The same for files whose bytes are text; others are replaced.
///
/// # Errors
/// As [`read`].
pub fn read_text(path: impl AsRef<std::path::Path>) -> std::io::Result<String> {
    read(path).map(|text| String::from_utf8_lossy(&text).into_owned())
}

/// Parses a process id from a word of a file.
fn pid(word: &str) -> Option<Pid> {
    word.parse().ok().and_then(Pid::new)
}

/// Children of a process, all its threads' together. Empty where the process is gone.
///
/// The kernel's list needs CONFIG_PROC_CHILDREN; [`children_listed`] tells whether it is there.
#[must_use]
pub fn children(parent: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let own = format!("/proc/{parent}/task/{parent}/children");
    if let Ok(text) = read_text(own) {
        found.extend(text.split_ascii_whitespace().filter_map(pid));
    }
    // Other threads' children are listed with them.
    if parent == Pid::current() {
        return found;
    }
    let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else { return found };
    for thread in threads.flatten() {
        let Some(thread) = thread.file_name().to_str().and_then(pid).filter(|thread| *thread != parent)
        else {
            continue;
        };
        if let Ok(text) = read_text(format!("/proc/{parent}/task/{thread}/children")) {
            found.extend(text.split_ascii_whitespace().filter_map(pid));
        }
    }
    found
}

/// Whether the kernel lists children.
#[must_use]
pub fn children_listed() -> bool {
    let own = Pid::current();
    fs::metadata(format!("/proc/{own}/task/{own}/children")).is_ok()
}

/// Parent of every process of the host, for kernels that do not list children.
#[must_use]
pub fn parents() -> Vec<(Pid, Pid)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let process = entry.file_name().to_str().and_then(pid)?;
            Some((process, parent(process)?))
        })
        .collect()
}

/// The fields of `/proc/PID/stat` behind the command, which may itself contain blanks and brackets.
fn stat(process: Pid) -> Option<Vec<String>> {
    let text = read(format!("/proc/{process}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split_ascii_whitespace().map(str::to_owned).collect())
}

/// Parent of a process.
#[must_use]
pub fn parent(process: Pid) -> Option<Pid> {
    stat(process)?.get(1).and_then(|field| pid(field))
}

/// Process group of a process.
#[must_use]
pub fn group(process: Pid) -> Option<Pid> {
    stat(process)?.get(2).and_then(|field| pid(field))
}

/// CPU time of a living process, its waited-for children included.
#[must_use]
pub fn cpu(process: Pid) -> Duration {
    // USER_HZ is 100 on every architecture of Debian.
    const TICK: u64 = 10;
    let Some(fields) = stat(process) else { return Duration::ZERO };
    let ticks: u64 =
        fields.get(11..15).unwrap_or_default().iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * TICK)
}

/// A process's `status`. Its name in there is the process's own word and need not be UTF-8.
fn status(path: &str) -> Option<String> {
    read_text(path).ok()
}

/// Resident memory and swap of a process in bytes.
#[must_use]
pub fn memory(process: Pid) -> u64 {
    let own = status(&format!("/proc/{process}/status")).and_then(|text| sum(&text));
    if let Some(bytes) = own {
        return bytes;
    }
    // A process whose first thread has ended shows its memory only with the others.
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return 0 };
    threads
        .flatten()
        .find_map(|thread| {
            let thread = thread.file_name().to_str().and_then(pid)?;
            status(&format!("/proc/{process}/task/{thread}/status")).and_then(|text| sum(&text))
        })
        .unwrap_or(0)
}

/// VmRSS and VmSwap of a `status` file; `None` where it has neither.
fn sum(text: &str) -> Option<u64> {
    let kib = |name: &str| -> Option<u64> {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_ascii_whitespace().next()?.parse().ok()
    };
    let rss = kib("VmRSS:")?;
    Some((rss + kib("VmSwap:").unwrap_or(0)) * 1024)
}

/// What a process is and waits for, for the trace: `PID (command, state S, wchan)`.
#[must_use]
pub fn describe(process: Pid) -> String {
    let read = |name: &str| status(&format!("/proc/{process}/{name}")).unwrap_or_default();
    let state = stat(process).and_then(|fields| fields.first().cloned()).unwrap_or_else(|| "gone".to_owned());
    format!("{process} ({}, state {state}, wchan {})", read("comm").trim(), read("wchan").trim())
}

/// Whether a living process carries a group as a supplementary one. The dead keep theirs until they are reaped.
#[must_use]
pub fn carries(process: Pid, gid: u32) -> bool {
    let Some(text) = status(&format!("/proc/{process}/status")) else { return false };
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    // A first thread that ended while others go on looks dead as well.
    let threads = field("Threads:").trim().parse().unwrap_or(1);
    if field("State:").trim_start().starts_with(['Z', 'X']) && threads <= 1 {
        return false;
    }
    let groups = field("Groups:");
    groups.split_ascii_whitespace().any(|group| group.parse() == Ok(gid))
}

/// All processes of the host that carry a group.
#[must_use]
pub fn with_group(gid: u32) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(pid))
        .filter(|process| carries(*process, gid))
        .collect()
}
