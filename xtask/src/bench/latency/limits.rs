//! T11 and T12: limits that the supervisor itself has to keep.

use std::time::Duration;

use anyhow::Result;

use super::super::report::Row;
use super::rig::{Candidate, Rig, median, milliseconds, moment, most, pause, quantile};
use super::stamps::{MEMBERS, START, Stamps};
use crate::spawn::{self, Watch};

const LATE_JOBS: usize = 20;
const WALL_CLOCK_S: i64 = 2;

const HOG_RUNS: usize = 5;
const HOGS: u64 = 16;
const HOG_MIB: u64 = 190;
const LIMIT_MIB: f64 = 200.0;

/// T11: `h_rt` of two seconds, against what the job says of its start and the kernel of its end.
pub(super) fn wall_clock(rig: &mut Rig<'_>, rows: &mut Vec<Row>) -> Result<()> {
    let mut jobs = Vec::new();
    for _ in 0..LATE_JOBS {
        let lines = [("ox_h_rt", WALL_CLOCK_S.to_string())];
        let job = rig.start(Candidate::Ours, "beat", &[], &lines)?;
        // One after the other: the start of one is not to disturb another's end.
        job.until(START, 1)?;
        jobs.push(job);
    }
    let mut watches = Vec::new();
    for job in &jobs {
        watches.push(Watch::new(job.job()?));
    }
    let mut late = Vec::new();
    for (job, end) in jobs.iter_mut().zip(spawn::ends(&watches, Duration::from_secs(20))) {
        if let Some(end) = end {
            late.push(
                milliseconds(end - job.stamps.get(START)?) - milliseconds(WALL_CLOCK_S * 1_000_000_000),
            );
        }
        job.ended(Duration::from_secs(10))?;
    }
    anyhow::ensure!(late.len() == LATE_JOBS, "{} of {LATE_JOBS} jobs outlived h_rt", LATE_JOBS - late.len());
    let row = |what: &str, value| {
        Row::new("T11", format!("h_rt=2: {what}, ms late (n={LATE_JOBS})"), None, value, None)
    };
    let first = quantile(&late, 0.0);
    rows.push(Row { target: "never early", met: first.map(|first| first >= 0.0), ..row("the least", first) });
    rows.push(row("p50", median(&late)));
    let p99 = quantile(&late, 0.99);
    rows.push(Row { target: "ours <= 20 ms", met: p99.map(|late| late <= 20.0), ..row("p99 = max", p99) });
    Ok(())
}

/// T12: sixteen processes fill memory as fast as they can under `h_vmem` of all of them together.
pub(super) fn memory(rig: &mut Rig<'_>, rows: &mut Vec<Row>) -> Result<()> {
    let (mut peaks, mut times, mut over) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..HOG_RUNS {
        let lines = [
            ("h_vmem", "200M".to_owned()),
            ("ox_job_limits", "1".to_owned()),
            ("ox_memory", "classic".to_owned()),
        ];
        let arguments = [HOGS.to_string(), HOG_MIB.to_string()];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut job = rig.start(Candidate::Ours, "hog", &arguments, &lines)?;
        // Nobody gives memory back: what they say at the end is the most there was. Looked at by the millisecond,
        // which costs little beside sixteen of them, to know when the limit was passed.
        let mut passed = None;
        let ended = moment(Duration::from_secs(20), || {
            pause(1);
            if passed.is_none() && slots(&job.stamps).is_ok_and(|slots| touched(&slots) > LIMIT_MIB) {
                passed = Some(spawn::monotonic_ns());
            }
            job.ended(Duration::ZERO).unwrap_or(false)
        });
        anyhow::ensure!(ended.is_some(), "h_vmem was not enforced");
        let slots = slots(&job.stamps)?;
        let begin = slots.iter().map(|one| one[1]).filter(|at| *at > 0).min().unwrap_or(0);
        let end = slots.iter().map(|one| one[2]).max().unwrap_or(0);
        peaks.push(touched(&slots) / LIMIT_MIB);
        times.push(milliseconds(end - begin));
        // 0 where it was so short that nobody saw it.
        over.push(passed.map_or(0.0, |passed| milliseconds(end - passed).max(0.0)));
    }
    let row = |what: &str, value| {
        Row::new(
            "T12",
            format!("h_vmem=200M, {HOGS} x {HOG_MIB} MiB, classic: {what} (n={HOG_RUNS})"),
            None,
            value,
            None,
        )
    };
    let peak = median(&peaks);
    rows.push(Row {
        target: "ours <= 2 x",
        met: peak.map(|peak| peak <= 2.0),
        ..row("peak / limit, p50", peak)
    });
    rows.push(row("peak / limit, max", most(&peaks)));
    let time = median(&times);
    rows.push(Row {
        target: "ours <= 150 ms",
        met: time.map(|time| time <= 150.0),
        ..row("ran, ms, p50", time)
    });
    rows.push(row("ran, ms, max", most(&times)));
    rows.push(row("above the limit, ms, p50", median(&over)));
    rows.push(row("above the limit, ms, max", most(&over)));
    Ok(())
}

/// MiB, start and last beat of every hog.
fn slots(stamps: &Stamps) -> Result<Vec<[i64; 3]>> {
    let all = stamps.all()?;
    let first = usize::try_from(MEMBERS)?;
    let hogs = all.get(first..).unwrap_or_default().chunks(4).take(usize::try_from(HOGS)?);
    Ok(hogs.map(|one| [0, 1, 2].map(|slot: usize| one.get(slot).copied().unwrap_or(0))).collect())
}

#[allow(clippy::cast_precision_loss, reason = "a few thousand MiB")]
fn touched(slots: &[[i64; 3]]) -> f64 {
    slots.iter().map(|one| one[0]).sum::<i64>() as f64
}
