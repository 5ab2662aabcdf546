//! T7: the memory of a supervisor while its job runs.

use std::fs;
use std::time::Duration;

use anyhow::Result;

use super::patience::wait_until;
use super::setup::{JobDir, Kind, Setup};
use crate::spawn;

const JOB: [&str; 2] = ["/bin/sleep", "1000"];
const PATIENCE: Duration = Duration::from_secs(60);

/// The name of the copy of our shepherd that ends the job when the shepherd dies.
const GUARDIAN: &str = "oxherd-guardian\n";

/// Means per job, in kB.
pub(super) struct Memory {
    /// What one more job takes: pages of this job's processes alone, those that two of them share counted once.
    pub(super) unshared: f64,
    /// Pages of one process alone (USS), summed over shepherd and guardian.
    pub(super) private: f64,
    pub(super) private_guardian: f64,
    pub(super) proportional: f64,
    pub(super) resident: f64,
    pub(super) processes_per_job: f64,
}

/// One process, in kB.
#[derive(Default, Clone, Copy)]
struct Sizes {
    private: u64,
    private_clean: u64,
    proportional: u64,
    /// The proportional part of anonymous pages. These are shared within the job alone: what runs before an exec
    /// is a copy of this job's shepherd.
    anonymous: u64,
    resident: u64,
}

/// Supervisors with their jobs; ends both.
struct Fleet(Vec<(i32, JobDir)>);

impl Fleet {
    fn job(&self, index: usize) -> Option<i32> {
        fs::read_to_string(self.0[index].1.0.join("job_pid")).ok()?.trim().parse().ok()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for index in 0..self.0.len() {
            // The job ends and its supervisor in consequence; without a job it is ended itself.
            match self.job(index) {
                Some(job) => spawn::kill(job, libc::SIGKILL),
                None => spawn::kill(self.0[index].0, libc::SIGKILL),
            }
        }
        for (supervisor, _) in &self.0 {
            let _ = spawn::wait(*supervisor);
        }
    }
}

pub(super) fn measure(setup: &Setup, kind: Kind, jobs: u32, descriptors: u64) -> Result<Option<Memory>> {
    if setup.program(kind).is_none() {
        return Ok(None);
    }
    let mut fleet = Fleet(Vec::new());
    for id in 10..10 + jobs {
        let directory = setup.job_dir(id, &JOB, &setup.lines(kind))?;
        let pid = setup.start(kind, id, &directory.0, &JOB, descriptors)?;
        fleet.0.push((pid, directory));
    }
    if !all_jobs_run(&fleet)? {
        return Ok(None);
    }
    // A supervisor may still be writing its last trace lines when its job has started: until all of them sleep.
    wait_until("all supervisors wait", PATIENCE, || {
        Ok(fleet.0.iter().all(|(pid, _)| {
            fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") S "))
        }))
    })?;
    let (mut sum, mut guardians, mut processes) = (Sizes::default(), 0, 0_u32);
    for index in 0..fleet.0.len() {
        let job = fleet.job(index);
        // What a supervisor needs besides its job: itself and any helper it keeps.
        for pid in family(fleet.0[index].0).into_iter().filter(|&pid| Some(pid) != job) {
            let sizes = rollup(pid)?;
            sum.private += sizes.private;
            sum.private_clean += sizes.private_clean;
            sum.proportional += sizes.proportional;
            sum.anonymous += sizes.anonymous;
            sum.resident += sizes.resident;
            if fs::read_to_string(format!("/proc/{pid}/comm"))? == GUARDIAN {
                guardians += sizes.private;
            }
            processes += 1;
        }
    }
    #[allow(clippy::cast_precision_loss, reason = "kilobytes of a few dozen processes")]
    let mean = |total: u64| total as f64 / f64::from(jobs);
    Ok(Some(Memory {
        unshared: mean(sum.anonymous + sum.private_clean),
        private: mean(sum.private),
        private_guardian: mean(guardians),
        proportional: mean(sum.proportional),
        resident: mean(sum.resident),
        processes_per_job: f64::from(processes) / f64::from(jobs),
    }))
}

/// Waits until every job is the program it shall be; false when a supervisor gave up.
fn all_jobs_run(fleet: &Fleet) -> Result<bool> {
    let mut gave_up = false;
    for index in 0..fleet.0.len() {
        wait_until("all jobs run", PATIENCE, || {
            let name = fleet.job(index).and_then(|job| fs::read_to_string(format!("/proc/{job}/comm")).ok());
            let state = fs::read_to_string(format!("/proc/{}/stat", fleet.0[index].0)).unwrap_or_default();
            gave_up |= state.is_empty() || state.contains(") Z ");
            Ok(gave_up || name.is_some_and(|name| name == "sleep\n"))
        })?;
    }
    Ok(!gave_up)
}

/// A process and its children.
fn family(pid: i32) -> Vec<i32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    std::iter::once(pid).chain(children.split_whitespace().filter_map(|word| word.parse().ok())).collect()
}

fn rollup(pid: i32) -> Result<Sizes> {
    let mut sizes = Sizes::default();
    for line in fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next()) else { continue };
        let value: u64 = value.parse().unwrap_or(0);
        match name {
            "Private_Clean:" => {
                sizes.private += value;
                sizes.private_clean += value;
            }
            "Private_Dirty:" => sizes.private += value,
            "Pss:" => sizes.proportional = value,
            "Pss_Anon:" => sizes.anonymous = value,
            "Rss:" => sizes.resident = value,
            _ => {}
        }
    }
    Ok(sizes)
}
