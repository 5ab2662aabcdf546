//! A shepherd that was killed leaves its job without anybody. The master then ends what carries the job's mark, so that
//! it never says that a job is over while processes of it live, and removes what the shepherd had made.
//!
//! What that was stands in the shepherd's trace, which no job owner can write.

use std::ffi::CString;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oxherd_handoff::{Config, Key, files, log};
use oxherd_sys::process::{self, Pid};
use oxherd_sys::{clock, directory, poll, rmtree};

const KILL: i32 = 9;
/// Between two looks: what was killed needs a moment to disappear.
const PAUSE: Duration = Duration::from_millis(20);
/// How long it is tried: a process may be stuck in the kernel.
const LIMIT: Duration = Duration::from_secs(10);

/// What the shepherd of a job directory had made when it died.
#[derive(Debug, Default, PartialEq, Eq)]
struct Made {
    cgroup: Option<PathBuf>,
    tmpdir: Option<PathBuf>,
}

/// Ends the job of a dead shepherd and removes its cgroup and TMPDIR. Gives a sentence if something stays.
pub(super) fn clean_up(dir: &Path, gid: Option<u32>) -> Option<String> {
    let read = |name| std::fs::read(dir.join(name)).unwrap_or_default();
    let config = Config::parse(read(files::CONFIG)).ok();
    let made = Made::read(&String::from_utf8_lossy(&read(files::TRACE)), config.as_ref());
    if let Some(cgroup) = &made.cgroup {
        let _ = std::fs::write(cgroup.join("cgroup.kill"), "1");
    }
    let left = kill(dir, gid);
    if let Some(cgroup) = &made.cgroup {
        // The groups inside first; none of them can be removed while there is a process in it.
        for entry in std::fs::read_dir(cgroup).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let _ = std::fs::remove_dir(entry.path());
            }
        }
        let _ = std::fs::remove_dir(cgroup);
    }
    let owner = config.and_then(|config| config.id(Key::OxUid).ok().flatten());
    left.or_else(|| remove_tmpdir(&made.tmpdir?, owner?))
}

impl Made {
    fn read(trace: &str, config: Option<&Config>) -> Self {
        let mut made = Self::default();
        let mut tmpdir = config.and_then(|config| config.os(Key::Tmpdir)).map(PathBuf::from);
        for text in trace.lines().map(log::text_of) {
            if let Some(path) =
                text.strip_prefix("cgroup ").filter(|path| path.starts_with("/sys/fs/cgroup/"))
            {
                made.cgroup = Some(path.into());
            } else if let Some((_, path)) =
                text.strip_prefix("tmpdir ").and_then(|text| text.split_once(" is taken: using "))
            {
                tmpdir = Some(path.into());
            } else if text.starts_with("forked \"") {
                // Not before the directory was made: until then one of that name would be another's.
                made.tmpdir.clone_from(&tmpdir);
            }
        }
        made
    }
}

/// Removes the directory if it is the job owner's, through descriptors and never past a link or a mount.
fn remove_tmpdir(path: &Path, owner: u32) -> Option<String> {
    let failed = |error: &dyn std::fmt::Display| Some(format!("cannot remove {}: {error}", path.display()));
    match std::fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() && facts.uid() == owner => {}
        Ok(_) => return failed(&"it is not the job's any more"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return failed(&error),
    }
    let terminated = |part: Option<&std::ffi::OsStr>| CString::new(part?.as_bytes()).ok();
    let parent = terminated(path.parent().map(Path::as_os_str))?;
    let name = terminated(path.file_name())?;
    match directory::open(&parent) {
        Ok(parent) => rmtree::remove(parent.as_fd(), &name).err().and_then(|left| failed(&left)),
        Err(error) => failed(&error),
    }
}

/// Kills every process of the job, until a look at all processes finds none. Gives a sentence if some stay.
///
/// A process is the job's if it carries the additional group id, or its environment the job's directory. The second
/// mark is one that a job can take off, and all there is without privilege.
fn kill(dir: &Path, gid: Option<u32>) -> Option<String> {
    let mut variable = b"SGE_JOB_SPOOL_DIR=".to_vec();
    variable.extend_from_slice(dir.as_os_str().as_encoded_bytes());
    let end = clock::boottime() + LIMIT;
    loop {
        let found = find(&variable, gid);
        if found.is_empty() {
            return None;
        }
        if clock::boottime() > end {
            let numbers: Vec<_> = found.iter().map(Pid::to_string).collect();
            return Some(format!("processes of the job cannot be killed: {}", numbers.join(" ")));
        }
        for pid in found {
            // A handle first, then the mark once more: the number may be another's by now.
            let Ok(handle) = process::open(pid) else { continue };
            if is_marked(pid.number(), &variable, gid) {
                let _ = process::signal(handle.as_fd(), KILL);
            }
        }
        let _ = poll::readable([None], Some(PAUSE));
    }
}

fn find(variable: &[u8], gid: Option<u32>) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let own = std::process::id().cast_signed();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|number| *number != own && is_marked(*number, variable, gid))
        .filter_map(Pid::new)
        .collect()
}

fn is_marked(number: i32, variable: &[u8], gid: Option<u32>) -> bool {
    let Ok(status) = std::fs::read(format!("/proc/{number}/status")) else { return false };
    // The name in there is the process's own word and need not be UTF-8.
    let status = String::from_utf8_lossy(&status);
    let line = |name| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("");
    // Dead already, and waiting for whoever started it.
    // A first thread that ended while others go on looks dead as well.
    if line("State:").trim_start().starts_with('Z') && matches!(line("Threads:").trim(), "" | "0" | "1") {
        return false;
    }
    let carries = |gid: u32| line("Groups:").split_whitespace().any(|group| group.parse() == Ok(gid));
    gid.is_some_and(carries)
        || std::fs::read(format!("/proc/{number}/environ"))
            .is_ok_and(|text| text.split(|byte| *byte == 0).any(|entry| entry == variable))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(lines: &[&str]) -> Made {
        let config = Config::parse(b"tmpdir=/tmp/1.1.q\n".to_vec()).expect("legal");
        let trace: String = lines.iter().map(|line| format!("11/30/2026 18:00:00 [0:1]: {line}\n")).collect();
        Made::read(&trace, Some(&config))
    }

    #[test]
    fn only_what_the_dead_shepherd_made_is_removed() {
        let tmpdir = |path: &str| Made { tmpdir: Some(path.into()), cgroup: None };
        assert_eq!(made(&["oxherd-shepherd 0.1.0 called"]), Made::default());
        assert_eq!(made(&["forked \"job\" with pid 7"]), tmpdir("/tmp/1.1.q"));
        let taken = "tmpdir /tmp/1.1.q is taken: using /tmp/1.1.q.x";
        assert_eq!(made(&[taken]), Made::default());
        assert_eq!(made(&[taken, "forked \"prolog\" with pid 7"]), tmpdir("/tmp/1.1.q.x"));
        let group = made(&["cgroup /sys/fs/cgroup/oxherd-1-2", "cgroup /etc"]);
        assert_eq!(group, Made { cgroup: Some("/sys/fs/cgroup/oxherd-1-2".into()), tmpdir: None });
    }

    #[test]
    fn a_directory_of_somebody_else_stays() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("t");
        std::fs::create_dir(&path).expect("made");
        let owner = std::fs::metadata(&path).expect("there").uid();
        assert!(remove_tmpdir(&path, owner + 1).is_some() && path.exists());
        assert_eq!(remove_tmpdir(&path, owner), None);
        assert!(!path.exists());
        assert_eq!(remove_tmpdir(&path, owner), None);
    }
}
