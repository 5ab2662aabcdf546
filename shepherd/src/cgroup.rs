//! A cgroup v2 directory for the job: atomic killing, freezing and exact CPU time, with no controller needed.
//!
//! Below a stock execd it lies under the shepherd's own cgroup and enables nothing there: a service with enabled
//! controllers below it could not be restarted by systemd (seen on 252 and 257). `job/` holds the job and what it
//! starts, `procedures/` what runs as the job owner around it, methods included.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::procfs::read_text;

/// Where distributions mount the v2 hierarchy: alone, or beside v1.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// Which part of the job's cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    Job,
    Procedures,
}

/// The directory and its two leaves.
#[derive(Debug)]
pub struct Cgroup {
    base: PathBuf,
}

impl Cgroup {
    /// Makes the directories. The sentence of an error says what the host lacks.
    ///
    /// # Errors
    /// No v2 hierarchy, or no right to make a directory in the own cgroup.
    pub fn make(name: &str) -> Result<Self, String> {
        let own = read_text("/proc/self/cgroup").map_err(|error| format!("/proc/self/cgroup: {error}"))?;
        let path = own.lines().find_map(|line| line.strip_prefix("0::/")).ok_or("no cgroup v2 hierarchy")?;
        let mount = MOUNTS
            .iter()
            .map(Path::new)
            .find(|mount| mount.join("cgroup.controllers").exists())
            .ok_or("no cgroup v2 hierarchy is mounted")?;
        let base = mount.join(path).join(name);
        let cgroup = Self { base };
        for directory in [cgroup.base.clone(), cgroup.leaf(Leaf::Job), cgroup.leaf(Leaf::Procedures)] {
            if let Err(error) = fs::create_dir(&directory) {
                cgroup.remove();
                return Err(format!("cannot make {}: {error}", directory.display()));
            }
        }
        if !cgroup.base.join("cgroup.kill").exists() {
            cgroup.remove();
            return Err("this kernel has no cgroup.kill".to_owned());
        }
        Ok(cgroup)
    }

    fn leaf(&self, leaf: Leaf) -> PathBuf {
        self.base.join(match leaf {
            Leaf::Job => "job",
            Leaf::Procedures => "procedures",
        })
    }

    /// Where the job's directory lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.base
    }

    /// A leaf's directory, for a child that is made in it.
    ///
    /// # Errors
    /// Those of opening it.
    pub fn directory(&self, leaf: Leaf) -> io::Result<OwnedFd> {
        File::open(self.leaf(leaf)).map(Into::into)
    }

    /// A descriptor through which a child enters a leaf by writing `0`, where it cannot be made in it.
    ///
    /// # Errors
    /// Those of opening the file.
    pub fn door(&self, leaf: Leaf) -> io::Result<OwnedFd> {
        OpenOptions::new().write(true).open(self.leaf(leaf).join("cgroup.procs")).map(Into::into)
    }

    /// Kills every process of a part, however fast it forks.
    ///
    /// # Errors
    /// Those of writing the file.
    pub fn kill(&self, leaf: Option<Leaf>) -> io::Result<()> {
        write(&leaf.map_or_else(|| self.base.clone(), |leaf| self.leaf(leaf)).join("cgroup.kill"), "1")
    }

    /// Stops or lets go all processes of a part without a signal, so that they can be listed while none forks.
    ///
    /// # Errors
    /// Those of writing the file.
    pub fn freeze(&self, leaf: Leaf, frozen: bool) -> io::Result<()> {
        write(&self.leaf(leaf).join("cgroup.freeze"), if frozen { "1" } else { "0" })
    }

    /// Whether no living process is in a part. `None` where the kernel does not say.
    #[must_use]
    pub fn is_empty(&self, leaf: Option<Leaf>) -> Option<bool> {
        let path = leaf.map_or_else(|| self.base.clone(), |leaf| self.leaf(leaf)).join("cgroup.events");
        let text = read_text(path).ok()?;
        text.lines().find_map(|line| line.strip_prefix("populated ")).map(|value| value == "0")
    }

    /// CPU time of all processes that ever ran as the job owner: also what a prolog left computing counts.
    #[must_use]
    pub fn cpu(&self) -> Option<Duration> {
        let text = read_text(self.base.join("cpu.stat")).ok()?;
        let usage = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        usage.trim().parse().ok().map(Duration::from_micros)
    }

    /// Removes the directories; they must be empty of processes.
    pub fn remove(&self) {
        for directory in [self.leaf(Leaf::Job), self.leaf(Leaf::Procedures), self.base.clone()] {
            let _ = fs::remove_dir(directory);
        }
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// Enters the cgroup behind a door; called in a child before it becomes the user.
///
/// # Errors
/// Those of the write.
pub fn enter(door: OwnedFd) -> io::Result<()> {
    File::from(door).write_all(b"0")
}

/// The name of a job's directory: the shepherd's process id keeps two runs of one job apart.
#[must_use]
pub fn name(job: &str, shepherd: i32) -> String {
    // The job's number comes from execd and is digits and a dot; nothing else belongs into a path.
    let job: String = job.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
    OsString::from(format!("oxherd-{job}-{shepherd}")).to_string_lossy().into_owned()
}
