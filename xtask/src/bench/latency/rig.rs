//! Starting jobs under one of the supervisors, giving them orders, and looking at their processes.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::super::patience::wait_until;
use super::super::setup::{JobDir, Kind, Line, Setup};
use super::stamps::Stamps;
use crate::spawn::{self, Watch};

const PATIENCE: Duration = Duration::from_secs(30);
const DESCRIPTORS: u64 = 1024;
/// Away from the ids of the other benches.
const FIRST_ID: u32 = 100;

/// Who supervises.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Candidate {
    Stock,
    /// Below our own daemon, in a cgroup where the host gives one.
    Ours,
    /// The same without a cgroup.
    Bare,
}

/// In the order of the rows: with a cgroup beside stock, then without one.
pub(super) const CANDIDATES: [Candidate; 3] = [Candidate::Stock, Candidate::Ours, Candidate::Bare];

pub(super) struct Rig<'a> {
    pub(super) setup: &'a Setup,
    pub(super) jobs: String,
    next: u32,
}

/// A supervisor with its job; ends both.
pub(super) struct Running {
    pub(super) supervisor: i32,
    pub(super) directory: JobDir,
    pub(super) stamps: Stamps,
    reaped: bool,
}

impl<'a> Rig<'a> {
    pub(super) fn new(setup: &'a Setup, jobs: &Path) -> Result<Self> {
        // The build directory may be closed to the job's owner.
        let copy = setup.base().join("behaviour");
        fs::copy(jobs, &copy).with_context(|| format!("cannot copy `{}`", jobs.display()))?;
        Ok(Self { setup, jobs: copy.to_string_lossy().into_owned(), next: FIRST_ID })
    }

    pub(super) fn here(&self, candidate: Candidate) -> bool {
        self.setup.program(kind(candidate)).is_some()
    }

    /// A new file of stamps, writable by the job.
    pub(super) fn stamp_file(&self) -> Result<PathBuf> {
        let path = self.setup.base().join(format!("stamps-{}", self.next));
        fs::write(&path, "")?;
        let (uid, gid) = self.setup.user();
        chown(&path, Some(uid), Some(gid))?;
        Ok(path)
    }

    /// A directory for a job's TMPDIR that is not there yet.
    pub(super) fn tmpdir(&self) -> PathBuf {
        self.setup.base().join("tmp").join(format!("{}.1.all.q", self.next))
    }

    /// Starts the behaviour `mode` with `arguments` behind its file of stamps.
    pub(super) fn start(
        &mut self,
        candidate: Candidate,
        mode: &str,
        arguments: &[&str],
        lines: &[Line],
    ) -> Result<Running> {
        let path = self.stamp_file()?;
        let file = path.to_string_lossy().into_owned();
        let program = self.jobs.clone();
        let mut command = vec![program.as_str(), mode, file.as_str()];
        command.extend(arguments);
        let mut all = Vec::new();
        if candidate != Candidate::Stock {
            all = self.setup.owner_lines();
            let cgroup = if candidate == Candidate::Bare { "none" } else { "auto" };
            all.push(("ox_cgroup", cgroup.to_owned()));
        }
        all.extend_from_slice(lines);
        let id = self.next;
        self.next += 1;
        let directory = self.setup.job_dir(id, &command, &all)?;
        let stamps = Stamps::open(&path)?;
        let supervisor = self.setup.start(kind(candidate), id, &directory.0, &command, DESCRIPTORS)?;
        Ok(Running { supervisor, directory, stamps, reaped: false })
    }
}

const fn kind(candidate: Candidate) -> Kind {
    match candidate {
        Candidate::Stock => Kind::Stock,
        Candidate::Ours | Candidate::Bare => Kind::Keyed,
    }
}

impl Running {
    /// Waits until the job has written this slot, which it does not before it is what it shall be.
    pub(super) fn until(&self, slot: u64, least: i64) -> Result<()> {
        wait_until("the job runs", PATIENCE, || Ok(self.stamps.get(slot)? >= least))
            .with_context(|| self.said())
    }

    /// The supervisor's trace, for an error.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(self.directory.0.join("trace")).unwrap_or_default()
    }

    pub(super) fn job(&self) -> Result<i32> {
        let text = fs::read_to_string(self.directory.0.join("job_pid"))?;
        text.trim().parse().context("`job_pid` holds no number")
    }

    pub(super) fn order(&self, signal: i32) {
        spawn::kill(self.supervisor, signal);
    }

    /// A signal for the job as sge_execd gives it: its number in the file `signal`, then TTIN.
    pub(super) fn signal_job(&self, number: i32) -> Result<()> {
        fs::write(self.directory.0.join("signal"), format!("{number}\n"))?;
        self.order(libc::SIGTTIN);
        Ok(())
    }

    /// Waits for the supervisor's end; false where it does not come.
    pub(super) fn ended(&mut self, limit: Duration) -> Result<bool> {
        if !self.reaped && spawn::ends(&[Watch::new(self.supervisor)], limit)[0].is_some() {
            spawn::wait(self.supervisor)?;
            self.reaped = true;
        }
        Ok(self.reaped)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.order(libc::SIGTSTP);
        if !self.ended(Duration::from_secs(10)).unwrap_or(false) {
            self.order(libc::SIGKILL);
            let _ = spawn::wait(self.supervisor);
        }
    }
}

/// The letter of /proc/PID/stat; `X` for a process that is not there.
pub(super) fn state(pid: i32) -> char {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()))
        .unwrap_or('X')
}

pub(super) fn lives(pid: i32) -> bool {
    !matches!(state(pid), 'X' | 'Z')
}

#[allow(clippy::cast_precision_loss, reason = "seconds and minutes in nanoseconds")]
pub(super) fn milliseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// The value at this part of the sorted list; None of an empty one.
pub(super) fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index of a short list"
    )]
    let index = (sorted.len() as f64 * part).floor() as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied()
}

pub(super) fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

pub(super) fn most(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

#[allow(clippy::disallowed_methods, reason = "a duration is what is measured")]
pub(super) fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// Looks every tenth of a millisecond until it is so, and says when it was; None where the time was up first.
#[allow(clippy::disallowed_methods, reason = "a duration is what is measured")]
pub(super) fn moment(limit: Duration, mut reached: impl FnMut() -> bool) -> Option<i64> {
    let end = spawn::monotonic_ns() + i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX);
    loop {
        let now = spawn::monotonic_ns();
        if reached() {
            return Some(now);
        }
        if now > end {
            return None;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}
