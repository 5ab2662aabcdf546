//! T1, T2, T3: CPU time of one supervisor that runs /bin/true.
//!
//! The programs take turns within one round, so that what else the machine does hits all of them alike, and
//! the ratios survive. Making and removing the job directory is outside of what is counted.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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

/// Nothing measured yet, for every program that is here under every descriptor limit.
pub(super) fn series(setup: &Setup, limits: &[u64]) -> Vec<Series> {
    let mut series = Vec::new();
    for &descriptors in limits {
        for kind in KINDS.into_iter().filter(|&kind| setup.program(kind).is_some()) {
            series.push(Series { kind, descriptors, milliseconds: Vec::new(), failed: 0 });
        }
    }
    series
}

/// Runs every program of the list once more for each round, interleaved.
pub(super) fn rounds(setup: &Setup, rounds: u32, series: &mut [Series]) -> Result<()> {
    for _ in 0..rounds {
        for one in &mut *series {
            let directory = setup.job_dir(1, &JOB, &setup.lines(one.kind))?;
            let pid = setup.start(one.kind, 1, &directory.0, &JOB, one.descriptors)?;
            let ended = spawn::wait(pid).context("cannot wait for a supervisor")?;
            breathe();
            if ended.status == 0 && succeeded(&directory.0) {
                #[allow(clippy::cast_precision_loss, reason = "a few thousand microseconds")]
                one.milliseconds.push((ended.user_us + ended.system_us) as f64 / 1000.0);
            } else {
                one.failed += 1;
            }
        }
    }
    Ok(())
}

/// A scan of a thousand processes leaves the kernel to tidy up, in the time of whoever runs next: let that be nobody.
#[allow(clippy::disallowed_methods, reason = "between two measurements, for the kernel's own work")]
fn breathe() {
    std::thread::sleep(Duration::from_millis(15));
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
