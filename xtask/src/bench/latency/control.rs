//! T13, T14 and T16: orders, and what is left of a job when it is over.

use std::time::Duration;

use anyhow::Result;

use super::super::patience::wait_until;
use super::super::report::Row;
use super::rig::{
    CANDIDATES, Candidate, Rig, Running, lives, median, milliseconds, moment, most, pause, state,
};
use super::stamps::{HOPS, MEMBERS, STOP};
use crate::spawn::{self, Watch};

const TREES: usize = 10;
const CHAINS: usize = 20;
const ENDINGS: usize = 10;
const ORPHANED: usize = 10;
/// Of one tree.
const PROCESSES: u64 = 5;
/// A chain that escaped ends by itself after so many seconds.
const CHAIN_LIFE: &str = "40";
/// A supervisor that has not ended its chain after so long has failed to.
const CHAIN_PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(2);

/// One figure for stock, ours and ours without a cgroup, as two rows with the same stock.
struct Figures([Option<f64>; 3]);

impl Figures {
    fn rows(
        &self,
        rows: &mut Vec<Row>,
        name: &'static str,
        what: &str,
        target: &'static str,
        limit: Option<f64>,
    ) {
        for (index, with) in [(1, "with cgroup"), (2, "without")] {
            let row = Row::new(name, format!("{what}, {with}"), self.0[0], self.0[index], None);
            let met = row.ours.and_then(|ours| limit.map(|limit| ours <= limit));
            rows.push(Row { target, met, ..row });
        }
    }
}

fn each(
    rig: &mut Rig<'_>,
    mut measure: impl FnMut(&mut Rig<'_>, Candidate) -> Result<f64>,
) -> Result<Figures> {
    let mut found = [None; 3];
    for (slot, candidate) in found.iter_mut().zip(CANDIDATES) {
        if rig.here(candidate) {
            *slot = Some(measure(rig, candidate)?);
        }
    }
    Ok(Figures(found))
}

/// A job of five processes, all of which run.
fn tree(rig: &mut Rig<'_>, candidate: Candidate) -> Result<(Running, Vec<i32>)> {
    let job = rig.start(candidate, "tree", &[], &[])?;
    let mut pids = Vec::new();
    for index in 0..PROCESSES {
        job.until(MEMBERS + 2 * index, 1)?;
        pids.push(i32::try_from(job.stamps.get(MEMBERS + 2 * index)?)?);
    }
    // A daemon's parents need a moment to be gone.
    pause(20);
    Ok((job, pids))
}

/// T13: from the order to the last of five processes, stopped or gone.
pub(super) fn orders(rig: &mut Rig<'_>, rows: &mut Vec<Row>) -> Result<()> {
    let mut stops = [const { Vec::new() }; 3];
    let mut kills = [const { Vec::new() }; 3];
    let mut missed = [[0.0; 2]; 3];
    for _ in 0..TREES {
        for (index, candidate) in CANDIDATES.into_iter().enumerate() {
            if !rig.here(candidate) {
                continue;
            }
            let (mut job, pids) = tree(rig, candidate)?;
            let order = spawn::monotonic_ns();
            job.signal_job(libc::SIGSTOP)?;
            match moment(PATIENCE, || pids.iter().all(|pid| state(*pid) == 'T')) {
                Some(at) => stops[index].push(milliseconds(at - order)),
                None => missed[index][0] += 1.0,
            }
            job.signal_job(libc::SIGCONT)?;
            let _ = moment(PATIENCE, || pids.iter().all(|pid| state(*pid) != 'T'));
            pause(20);
            let order = spawn::monotonic_ns();
            job.order(libc::SIGTSTP);
            match moment(PATIENCE, || pids.iter().all(|pid| !lives(*pid))) {
                Some(at) => kills[index].push(milliseconds(at - order)),
                None => missed[index][1] += 1.0,
            }
            job.ended(Duration::from_secs(10))?;
            end(&pids);
        }
    }
    for (what, times, which) in [("suspend", &stops, 0), ("kill", &kills, 1)] {
        let each =
            |pick: fn(&[f64]) -> Option<f64>| Figures([0, 1, 2].map(|index: usize| pick(&times[index])));
        let text = format!("{what}: order to all five, ms, p50 (n={TREES})");
        each(median).rows(rows, "T13", &text, "ours <= 10 ms", Some(10.0));
        each(most).rows(rows, "T13", &format!("{what}: the same, max"), "", None);
        let survivors = Figures(
            [0, 1, 2].map(|index: usize| rig.here(CANDIDATES[index]).then_some(missed[index][which])),
        );
        let text = format!("{what}: runs of {TREES} that missed one for 2 s");
        survivors.rows(rows, "T13", &text, "ours = 0", Some(0.0));
    }
    Ok(())
}

/// T14: chains that fork without end, after an order to end the job, and after the job's own end.
pub(super) fn chains(rig: &mut Rig<'_>, rows: &mut Vec<Row>) -> Result<()> {
    let mut longest = [None; 3];
    let killed = each(rig, |rig, candidate| {
        let mut jobs = Vec::new();
        for _ in 0..CHAINS {
            jobs.push(rig.start(candidate, "hop", &[CHAIN_LIFE], &[])?);
        }
        for job in &jobs {
            job.until(HOPS, 10)?;
        }
        let order = spawn::monotonic_ns();
        for job in &jobs {
            job.order(libc::SIGTSTP);
        }
        let watches: Vec<Watch> = jobs.iter().map(|job| Watch::new(job.supervisor)).collect();
        let ends = spawn::ends(&watches, CHAIN_PATIENCE);
        let index = CANDIDATES.iter().position(|one| *one == candidate).unwrap_or(0);
        // None where one did not leave in time.
        let last = ends.into_iter().collect::<Option<Vec<i64>>>().and_then(|ends| ends.into_iter().max());
        longest[index] = last.map(|last| milliseconds(last - order));
        still_hopping(&jobs)
    })?;
    killed.rows(rows, "T14", &format!("forking chains of {CHAINS} alive after kill"), "ours = 0", Some(0.0));
    Figures(longest).rows(rows, "T14", "order to the last supervisor gone, ms", "", None);
    let left = each(rig, |rig, candidate| {
        let mut alive = 0.0;
        for _ in 0..ENDINGS {
            let mut job = rig.start(candidate, "leave", &[CHAIN_LIFE], &[])?;
            // One that stays with a chain it cannot end has not ended it.
            job.ended(CHAIN_PATIENCE)?;
            alive += still_hopping(&[job])?;
        }
        Ok(alive)
    })?;
    left.rows(rows, "T14", &format!("chains of {ENDINGS} alive after the job's end"), "ours = 0", Some(0.0));
    Ok(())
}

/// How many chains go on after their supervisors have gone; they are told to end.
fn still_hopping(jobs: &[Running]) -> Result<f64> {
    pause(100);
    let mut before = Vec::new();
    for job in jobs {
        before.push(job.stamps.get(HOPS)?);
    }
    pause(300);
    let mut alive = 0.0;
    for (job, before) in jobs.iter().zip(before) {
        if job.stamps.get(HOPS)? != before {
            alive += 1.0;
            job.stamps.set(STOP, 1)?;
        }
    }
    if alive > 0.0 {
        // Chains that end disturb what is measured next.
        pause(200);
    }
    Ok(alive)
}

/// T16: supervisors that are killed, and their jobs a second later.
pub(super) fn orphaned(rig: &mut Rig<'_>, rows: &mut Vec<Row>) -> Result<()> {
    let (mut jobs_alive, mut gone) = ([None; 3], [None; 3]);
    let processes = each(rig, |rig, candidate| {
        let mut trees = Vec::new();
        for _ in 0..ORPHANED {
            trees.push(tree(rig, candidate)?);
        }
        let all: Vec<i32> = trees.iter().flat_map(|(_, pids)| pids.clone()).collect();
        let order = spawn::monotonic_ns();
        for (job, _) in &trees {
            job.order(libc::SIGKILL);
        }
        let end_of_all = moment(Duration::from_secs(1), || all.iter().all(|pid| !lives(*pid)));
        let index = CANDIDATES.iter().position(|one| *one == candidate).unwrap_or(0);
        gone[index] = end_of_all.map(|at| milliseconds(at - order));
        let mut alive = 0.0;
        let mut jobs = 0.0;
        for (_, pids) in &trees {
            let living = pids.iter().filter(|pid| lives(**pid)).count();
            alive += f64::from(u32::try_from(living)?);
            jobs += f64::from(u8::from(living > 0));
        }
        jobs_alive[index] = Some(jobs);
        for (job, pids) in &mut trees {
            job.ended(Duration::from_secs(5))?;
            end(pids);
        }
        Ok(alive)
    })?;
    let what = format!("SIGKILL to {ORPHANED} shepherds: jobs alive 1 s later");
    Figures(jobs_alive).rows(rows, "T16", &what, "ours = 0", Some(0.0));
    let what = format!("the same, processes alive of {}", ORPHANED as u64 * PROCESSES);
    processes.rows(rows, "T16", &what, "ours = 0", Some(0.0));
    Figures(gone).rows(rows, "T16", "the same, ms until the last was gone", "", None);
    Ok(())
}

/// Ends what a supervisor left of a tree, by number: all of them are in this namespace and were started here.
fn end(pids: &[i32]) {
    let left: Vec<i32> = pids.iter().copied().filter(|pid| lives(*pid)).collect();
    for pid in &left {
        spawn::kill(*pid, libc::SIGKILL);
    }
    let _ = wait_until("what was left is gone", PATIENCE, || Ok(left.iter().all(|pid| !lives(*pid))));
}
