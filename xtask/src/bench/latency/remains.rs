//! T19 and T20: TMPDIR after the end of a job. Below a stock execd it is not the shepherd's; here it is.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::super::report::{Ratio, Row};
use super::rig::{Candidate, Rig, median, milliseconds, moment, most, quantile};
use super::stamps::{START, Stamps};
use crate::spawn;
use crate::workspace::output;

const FILES: u32 = 100_000;
const LARGE_RUNS: usize = 3;
const SMALL_RUNS: usize = 20;
/// On a busy machine the files take a minute to be made, which is not what is measured.
const PATIENCE: Duration = Duration::from_secs(120);

/// A job that fills its TMPDIR; ms from its end until the directory is gone, and until the supervisor is.
fn ours(rig: &mut Rig<'_>, files: u32) -> Result<(f64, f64)> {
    let tmpdir = rig.tmpdir();
    let path = tmpdir.to_string_lossy().into_owned();
    let lines = [("tmpdir", path.clone()), ("ox_tmpdir", "1".to_owned())];
    let mut job = rig.start(Candidate::Ours, "files", &[&path, &files.to_string()], &lines)?;
    let mut end = 0;
    moment(PATIENCE, || {
        end = job.stamps.get(START).unwrap_or(0);
        end > 0
    })
    .with_context(|| format!("the job did not make its files: {}", job.said()))?;
    let gone = moment(PATIENCE, || !tmpdir.exists()).context("TMPDIR stays")?;
    ensure!(job.ended(PATIENCE)?, "the supervisor stays");
    let left = spawn::monotonic_ns();
    Ok((milliseconds(gone - end), milliseconds(left - end)))
}

/// The same tree, made by the same program, and removed by rm.
fn rm(rig: &Rig<'_>, round: usize) -> Result<f64> {
    let directory = rig.setup.base().join("tmp").join(format!("rm-{round}"));
    std::fs::create_dir(&directory)?;
    let stamps = rig.stamp_file()?;
    output(Command::new(&rig.jobs).arg("files").arg(&stamps).arg(&directory).arg(FILES.to_string()))?;
    ensure!(Stamps::open(&stamps)?.get(START)? > 0, "the files were not made");
    let start = spawn::monotonic_ns();
    let status = Command::new("rm").arg("-rf").arg(&directory).stdin(Stdio::null()).status()?;
    ensure!(status.success() && !Path::new(&directory).exists(), "`rm` failed ({status})");
    Ok(milliseconds(spawn::monotonic_ns() - start))
}

/// T19: a large TMPDIR, beside rm in the same minute.
pub(super) fn large(rig: &mut Rig<'_>, rows: &mut Vec<Row>) -> Result<()> {
    let (mut removed, mut reference) = (Vec::new(), Vec::new());
    for round in 0..LARGE_RUNS {
        // Who is first changes: the file system remembers what was done before.
        if round % 2 == 0 {
            removed.push(ours(rig, FILES)?.0);
            reference.push(rm(rig, round)?);
        } else {
            reference.push(rm(rig, round)?);
            removed.push(ours(rig, FILES)?.0);
        }
    }
    for (which, part) in [("p50", 0.5), ("least", 0.0)] {
        let (ours, rm) = (quantile(&removed, part), quantile(&reference, part));
        let what = format!(
            "TMPDIR of {FILES} files, job end to gone, ms, {which} (n={LARGE_RUNS}); floor is rm -rf"
        );
        let ratio = Ratio::new("ours/floor", ours, rm);
        rows.push(Row::new("T19", what, None, ours, rm).at_most(1.2, ratio, "ours <= 1.2 x rm -rf"));
    }
    Ok(())
}

/// T20: a TMPDIR with one file.
pub(super) fn small(rig: &mut Rig<'_>, rows: &mut Vec<Row>) -> Result<()> {
    let (mut removed, mut left) = (Vec::new(), Vec::new());
    for _ in 0..SMALL_RUNS {
        let (gone, ended) = ours(rig, 1)?;
        removed.push(gone);
        left.push(ended);
    }
    let row =
        |what: &str, value| Row::new("T20", format!("job end to {what} (n={SMALL_RUNS})"), None, value, None);
    for (what, value) in [
        ("TMPDIR gone, ms, p50", median(&removed)),
        ("outcome written and shepherd gone, ms, p50", median(&left)),
    ] {
        rows.push(Row { target: "ours <= 50 ms", met: value.map(|value| value <= 50.0), ..row(what, value) });
    }
    rows.push(row("TMPDIR gone, ms, max", most(&removed)));
    rows.push(row("TMPDIR gone, ms, least", quantile(&removed, 0.0)));
    Ok(())
}
