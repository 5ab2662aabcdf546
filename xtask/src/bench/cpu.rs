//! T1, T2, T3: CPU time of one supervisor that runs /bin/true.
//!
//! The programs take turns within one round, so that what else the machine does hits all of them alike, and
//! the ratios survive. Making and removing the job directory is outside of what is counted.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

use super::setup::{KINDS, Kind, Setup, succeeded};
use crate::spawn;

const JOB: [&str; 1] = ["/bin/true"];

/// The CPU times of one program under one setting, in milliseconds.
pub(super) struct Series {
    pub(super) kind: Kind,
    pub(super) descriptors: u64,
    milliseconds: Vec<f64>,
    pub(super) failed: usize,
}

impl Series {
    /// None when no run did its work.
    pub(super) fn median(&self) -> Option<f64> {
        let mut sorted = self.milliseconds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }
}

/// Runs every program that is here `rounds` times under every descriptor limit, interleaved.
pub(super) fn rounds(setup: &Setup, rounds: u32, limits: &[u64]) -> Result<Vec<Series>> {
    let mut series = Vec::new();
    for &descriptors in limits {
        for kind in KINDS.into_iter().filter(|&kind| setup.program(kind).is_some()) {
            series.push(Series { kind, descriptors, milliseconds: Vec::new(), failed: 0 });
        }
    }
    for _ in 0..rounds {
        for one in &mut series {
            let directory = setup.job_dir(1, &JOB)?;
            let pid = setup.start(one.kind, 1, &directory.0, &JOB, one.descriptors)?;
            let ended = spawn::wait(pid).context("cannot wait for a supervisor")?;
            if ended.status == 0 && succeeded(&directory.0) {
                #[allow(clippy::cast_precision_loss, reason = "a few thousand microseconds")]
                one.milliseconds.push((ended.user_us + ended.system_us) as f64 / 1000.0);
            } else {
                one.failed += 1;
            }
        }
    }
    Ok(series)
}

pub(super) fn median(series: &[Series], kind: Kind, descriptors: u64) -> Option<f64> {
    series.iter().find(|one| one.kind == kind && one.descriptors == descriptors)?.median()
}

/// Processes that have nothing to do with any job, for as long as the value lives.
pub(super) struct Sleepers(Child);

impl Sleepers {
    pub(super) fn start(setup: &Setup, count: u32) -> Result<Self> {
        let mut child = Command::new(setup.floor())
            .args(["sleepers", &count.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the sleeping processes")?;
        let mut line = String::new();
        let output = child.stdout.take().context("no output")?;
        let guard = Self(child);
        BufReader::new(output).read_line(&mut line)?;
        anyhow::ensure!(line == "ready\n", "the {count} sleeping processes could not all be started");
        Ok(guard)
    }
}

impl Drop for Sleepers {
    /// Its children follow it by their parent death signal. Inside the namespace they become ours to reap;
    /// outside of one wait finds nothing, which is as good.
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        while spawn::wait(-1).is_ok() {}
    }
}
