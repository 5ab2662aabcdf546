//! T21: the CPU time in the file `usage` against what the job's processes say of themselves.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::super::report::Row;
use super::rig::{Candidate, Rig, Running, median};
use super::stamps::TOTAL;

const RUNS: usize = 2;
const BURN_MS: &str = "2000";
/// Stock's CPU is then what the kernel adds up for it (wait4); sge_execd adds samples of its own.
const BEHAVIOURS: [(&str, &str); 3] = [
    ("burn-leader", "leader burns 2 s"),
    ("burn-orphan", "orphaned setsid child burns 2 s"),
    ("burn-children", "100 children burn 20 ms each"),
];

/// Reported and true CPU seconds.
fn result(job: &mut Running) -> Result<(f64, f64)> {
    ensure!(job.ended(Duration::from_secs(60))?, "the job does not end");
    let usage = fs::read_to_string(job.directory.0.join("usage")).context("no usage")?;
    let field = |name: &str| -> f64 {
        let value = usage.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.and_then(|value| value.parse().ok()).unwrap_or(0.0)
    };
    let truth: i64 = job.stamps.all()?.iter().skip(usize::try_from(TOTAL)?).sum();
    #[allow(clippy::cast_precision_loss, reason = "a few seconds in nanoseconds")]
    let truth = truth as f64 / 1e9;
    ensure!(truth > 1.9, "the job did not burn");
    Ok((field("ru_utime") + field("ru_stime"), truth))
}

pub(super) fn accuracy(rig: &mut Rig<'_>, rows: &mut Vec<Row>) -> Result<()> {
    for (mode, what) in BEHAVIOURS {
        // Seconds and deviation in per cent, stock then ours; truth.
        let (mut seconds, mut deviation) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
        let mut truths = Vec::new();
        for _ in 0..RUNS {
            // Side by side: what is compared is CPU time, not the clock.
            let mut jobs = Vec::new();
            for (index, candidate) in [Candidate::Stock, Candidate::Ours].into_iter().enumerate() {
                if rig.here(candidate) {
                    jobs.push((index, rig.start(candidate, mode, &[BURN_MS], &[])?));
                }
            }
            for (index, job) in &mut jobs {
                let (reported, truth) = result(job)?;
                seconds[*index].push(reported);
                deviation[*index].push((reported - truth).abs() / truth * 100.0);
                truths.push(truth);
            }
        }
        let [stock, ours] = [0, 1].map(|index: usize| median(&seconds[index]));
        rows.push(Row::new(
            "T21",
            format!("{what}: CPU reported, s, p50 (n={RUNS})"),
            stock,
            ours,
            median(&truths),
        ));
        let [stock, ours] = [0, 1].map(|index: usize| super::rig::most(&deviation[index]));
        let row = Row::new("T21", format!("{what}: worst deviation, per cent"), stock, ours, None);
        rows.push(Row { target: "ours <= 1", met: ours.map(|ours| ours <= 1.0), ..row });
    }
    Ok(())
}
