//! What is in the cluster besides its daemons.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Cluster, HOST};
use crate::process::{self, Process};

impl Cluster {
    /// The living processes of the cluster's process namespace.
    pub fn processes(&self) -> Vec<Process> {
        let space = space(self.init);
        assert!(space.is_some(), "the cluster's first process is there");
        process::all().into_iter().filter(|process| space == self::space(process.pid)).collect()
    }

    /// The living processes whose working directory is `dir`.
    pub fn working_in(&self, dir: &Path) -> Vec<Process> {
        let here = |pid: i32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == dir);
        process::all().into_iter().filter(|process| here(process.pid)).collect()
    }

    /// The names of the job directories.
    pub fn active_jobs(&self) -> Vec<String> {
        names(&self.root().join(format!("spool/execd/{HOST}/active_jobs")))
    }

    /// The names of the jobs' TMPDIRs.
    pub fn temporary(&self) -> Vec<String> {
        names(&self.root().join("jobtmp"))
    }

    /// The control groups of the cluster's shepherds, as far as their names and members tell: groups of other clusters
    /// on this host look the same when they are empty.
    pub fn groups(&self) -> BTreeSet<PathBuf> {
        let space = space(self.init);
        let foreign = |group: &PathBuf| {
            let members = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            members.lines().any(|pid| pid.parse().is_ok_and(|pid| self::space(pid) != space))
        };
        let mut found = all_groups();
        found.retain(|group| !foreign(group));
        found
    }
}

/// Every control group of a shepherd of ours that can be seen, whoever started it.
pub fn all_groups() -> BTreeSet<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default().to_owned();
    let mut found = BTreeSet::new();
    for mountpoint in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
        for parent in [Path::new(mountpoint).to_owned(), Path::new(mountpoint).join(&own)] {
            let groups = names(&parent).into_iter().filter(|name| name.starts_with("oxherd-"));
            found.extend(groups.map(|name| parent.join(name)));
        }
    }
    found
}

/// The process namespace of a process.
fn space(pid: i32) -> Option<u64> {
    fs::metadata(format!("/proc/{pid}/ns/pid")).ok().map(|space| space.ino())
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
