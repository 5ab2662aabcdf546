//! A job that writes down the signals it gets.

use std::fs;

use crate::job_dir::JobDir;
use crate::wait::{secs, wait_until};

/// Traps what can be trapped, writes the names to `seen` in the working directory, ends when `stop` appears there.
pub const SCRIPT: &str = include_str!("trapper.sh");

/// The names of the signals the trapper got, in order.
///
/// The stock shepherd sends each signal twice to processes in the job's group, so repetitions count once there.
pub fn seen(job: &JobDir) -> Vec<String> {
    let mut names = job.lines("seen");
    names.retain(|name| name != "ready");
    if job.shepherd == crate::Shepherd::Theirs {
        names.dedup();
    }
    names
}

/// Waits until the trapper has seen exactly these signals.
#[track_caller]
pub fn wait_seen(job: &JobDir, names: &[&str]) {
    let watch = crate::Stopwatch::start();
    wait_until(&format!("the job to see {names:?}, last {:?}", seen(job)), secs(10), || {
        seen(job) == names || (watch.elapsed() > secs(9) && panicked(job, names))
    });
}

#[track_caller]
fn panicked(job: &JobDir, names: &[&str]) -> bool {
    assert_eq!(seen(job), names, "signals the job saw");
    true
}

/// Lets the trapper end with 0.
pub fn stop(job: &JobDir) {
    fs::write(job.work().join("stop"), "").expect("write the stop file");
}
