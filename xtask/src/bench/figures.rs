//! From what was measured to the rows of the table: which ratio answers which target.

use super::cluster::PerJob;
use super::cpu::{self, median};
use super::memory;
use super::report::{Ratio, Row};
use super::setup::{KINDS, Kind};
use super::syscalls;

/// T1 to T3. `limits` are the high and the low descriptor limit.
pub(super) fn cpu(
    rows: &mut Vec<Row>,
    alone: &[cpu::Series],
    crowded: &[cpu::Series],
    limits: (u64, u64),
    extra: u32,
) {
    let (high, low) = limits;
    for (descriptors, target, needed) in [(low, "stock/ours >= 6", 6.0), (high, "stock/ours >= 7", 7.0)] {
        let [stock, ours, floor] = KINDS.map(|kind| median(alone, kind, descriptors));
        let row = Row::new("T1", format!("CPU per /bin/true, NOFILE {descriptors}"), stock, ours, floor);
        rows.push(row.clone().at_most(1.6, Ratio::new("ours/floor", ours, floor), "ours/floor <= 1.6"));
        rows.push(row.clone().at_least(needed, Ratio::new("stock/ours", stock, ours), target));
        rows.push(row.most());
    }
    let [stock, ours, floor] = KINDS.map(|kind| Some(median(alone, kind, high)? - median(alone, kind, low)?));
    rows.push(Row {
        target: "ours < 0.1 ms",
        met: ours.map(|ours| ours < 0.1),
        ..Row::new("T2", format!("CPU, NOFILE {high} minus {low}"), stock, ours, floor)
    });
    let [stock, ours, floor] = KINDS.map(|kind| median(crowded, kind, low));
    let row = Row::new("T3", format!("CPU with {extra} unrelated processes"), stock, ours, floor);
    let growth = Ratio::new("ours/T1", ours, median(alone, Kind::Ours, low));
    rows.push(row.clone().at_most(1.1, growth, "ours <= 1.1 x T1"));
    rows.push(row.clone().at_least(13.0, Ratio::new("stock/ours", stock, ours), "stock/ours >= 13 (1000)"));
    rows.push(row.most());
}

/// T6, from the counts of stock, ours and floor.
pub(super) fn syscalls(rows: &mut Vec<Row>, counts: &[Option<syscalls::Count>]) {
    type Pick = fn(&syscalls::Count) -> u32;
    let figures: [(&str, Pick, Option<f64>, &'static str); 7] = [
        ("system calls per job", |count| count.total, Some(300.0), "ours <= 300"),
        ("of them opens", |count| count.opens, Some(30.0), "ours <= 30"),
        ("of them execs", |count| count.execs, Some(2.0), "ours = 2"),
        ("of them closes", |count| count.closes, None, ""),
        ("processes", |count| count.processes, None, ""),
        ("name service, counted apart", |count| count.look_up, None, ""),
        ("name service opens", |count| count.look_up_opens, None, ""),
    ];
    for (what, pick, limit, target) in figures {
        let value = |which: usize| counts[which].as_ref().map(|count| f64::from(pick(count)));
        let row = Row::new("T6", what.to_owned(), value(0), value(1), value(2));
        rows.push(Row {
            ratio: Ratio::new("stock/ours", row.stock, row.ours).filter(|_| limit.is_some()),
            target,
            met: row.ours.and_then(|ours| limit.map(|limit| ours <= limit)),
            ..row
        });
    }
}

/// T7, from the memory of stock, ours and floor.
pub(super) fn memory(rows: &mut Vec<Row>, measured: &[Option<memory::Memory>]) {
    type Pick = fn(&memory::Memory) -> f64;
    let row = |what: &str, pick: Pick| {
        let value = |which: usize| measured[which].as_ref().map(pick);
        Row::new("T7", what.to_owned(), value(0), value(1), value(2))
    };
    let unshared = row("unshared memory per job", |memory| memory.unshared);
    let ratio = Ratio::new("stock/ours", unshared.stock, unshared.ours);
    let met = unshared.ours.map(|ours| ours <= 200.0);
    rows.push(Row { target: "ours <= 200 kB", met, ..unshared.clone() });
    rows.push(unshared.clone().at_least(6.5, ratio, "stock/ours >= 6.5"));
    rows.push(unshared.most());
    rows.push(row("proportional (PSS)", |memory| memory.proportional));
    rows.push(row("resident", |memory| memory.resident));
    rows.push(row("supervisor processes per job", |memory| memory.processes_per_job));
}

/// T4. `mean` knows the candidates by name.
pub(super) fn below_execd(rows: &mut Vec<Row>, mean: impl Fn(&str, fn(&PerJob) -> f64) -> Option<f64>) {
    let row = |what: &str, stock: &str, pick: fn(&PerJob) -> f64| {
        Row::new("T4", what.to_owned(), mean(stock, pick), mean("Ours", pick), mean("Floor", pick))
    };
    let wrapper = row("execd's children, stock = as packaged", "wrapper", |per_job| per_job.children);
    let binary = row("execd's children, stock = its binary", "Stock", |per_job| per_job.children);
    let met = binary.ours.map(|ours| ours <= 7.0);
    rows.push(Row { target: "ours <= 7 ms", met, ..binary.clone() });
    let ratio = Ratio::new("stock/ours", binary.stock, binary.ours);
    rows.push(binary.clone().at_least(3.0, ratio, "stock/ours >= 3"));
    rows.push(binary.most());
    let ratio = Ratio::new("stock/ours", wrapper.stock, wrapper.ours);
    rows.push(wrapper.clone().at_least(11.0, ratio, "stock/ours >= 11"));
    rows.push(wrapper.most());
    rows.push(row("execd itself", "Stock", |per_job| per_job.execd));
}
