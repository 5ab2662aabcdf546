//! T11 to T14, T16, T19 to T21: how late, and how completely, a supervisor does what it has to do.
//!
//! The jobs are those of `xtask/src/bin/behaviour.rs`, which say themselves what they did when. The stock shepherd has a
//! figure only where it alone, without sge_execd, is what decides; what execd does (`h_rt`, `h_vmem`, TMPDIR) has
//! none here.

mod control;
mod limits;
mod remains;
mod rig;
#[allow(dead_code, reason = "shared with the jobs; each uses its part")]
pub(crate) mod stamps;
mod usage;

use std::path::Path;

use anyhow::Result;

use super::report::Row;
use super::setup::Setup;
use rig::Rig;

type Measure = fn(&mut Rig<'_>, &mut Vec<Row>) -> Result<()>;

const MEASURES: [(&str, Measure); 8] = [
    ("T11", limits::wall_clock),
    ("T12", limits::memory),
    ("T13", control::orders),
    ("T14", control::chains),
    ("T16", control::orphaned),
    ("T19", remains::large),
    ("T20", remains::small),
    ("T21", usage::accuracy),
];

/// What can be asked for by name.
pub(super) const FIGURES: [&str; 8] = ["T11", "T12", "T13", "T14", "T16", "T19", "T20", "T21"];

pub(super) fn measure(setup: &Setup, jobs: &Path, only: &[String]) -> Result<Vec<Row>> {
    let mut rig = Rig::new(setup, jobs)?;
    let mut rows = Vec::new();
    for (name, measure) in MEASURES {
        if only.is_empty() || only.iter().any(|one| one == name) {
            let start = crate::spawn::monotonic_ns();
            if let Err(error) = measure(&mut rig, &mut rows) {
                println!("{name} FAILED and is not shown whole: {error:#}");
            }
            let seconds = rig::milliseconds(crate::spawn::monotonic_ns() - start) / 1000.0;
            eprintln!("xtask: {name} took {seconds:.1} s");
        }
    }
    Ok(rows)
}
