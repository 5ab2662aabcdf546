//! From what was measured to the rows of the table: which ratio answers which target.

use super::cluster::PerJob;
use super::cpu::{self, median};
use super::memory;
use super::report::{Ratio, Row};
use super::setup::{COLUMNS, KEYED_COLUMNS, KINDS, Kind};
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
        let versions = [
            (COLUMNS, "", 1.9, "ours/floor <= 1.9"),
            (KEYED_COLUMNS, ", ours with ox_uid keys", 1.6, "ours/floor <= 1.6"),
        ];
        for (columns, which, most, limit) in versions {
            let [stock, ours, floor] = columns.map(|kind| median(alone, kind, descriptors));
            let what = format!("CPU per /bin/true, NOFILE {descriptors}{which}");
            let row = Row::new("T1", what, stock, ours, floor);
            rows.push(row.clone().at_most(most, Ratio::new("ours/floor", ours, floor), limit));
            rows.push(row.clone().at_least(needed, Ratio::new("stock/ours", stock, ours), target));
            if which.is_empty() {
                rows.push(row.most());
            }
        }
    }
    let [stock, ours, floor] =
        COLUMNS.map(|kind| Some(median(alone, kind, high)? - median(alone, kind, low)?));
    rows.push(Row {
        target: "ours < 0.1 ms",
        met: ours.map(|ours| ours < 0.1),
        ..Row::new("T2", format!("CPU, NOFILE {high} minus {low}"), stock, ours, floor)
    });
    let [stock, ours, floor] = COLUMNS.map(|kind| median(crowded, kind, low));
    let row = Row::new("T3", format!("CPU with {extra} unrelated processes"), stock, ours, floor);
    let growth = Ratio::new("ours/T1", ours, median(alone, Kind::Ours, low));
    rows.push(row.clone().at_most(1.1, growth, "ours <= 1.1 x T1"));
    rows.push(row.clone().at_least(13.0, Ratio::new("stock/ours", stock, ours), "stock/ours >= 13 (1000)"));
    rows.push(row.most());
}

/// The values of one figure in the order of the table's columns. `measured` is in the order of [`KINDS`].
fn columns<T>(columns: [Kind; 3], measured: &[Option<T>], pick: fn(&T) -> f64) -> [Option<f64>; 3] {
    columns.map(|column| {
        let index = KINDS.iter().position(|kind| *kind == column)?;
        measured.get(index)?.as_ref().map(pick)
    })
}

/// T6, from the counts of all kinds.
pub(super) fn syscalls(rows: &mut Vec<Row>, counts: &[Option<syscalls::Count>]) {
    type Pick = fn(&syscalls::Count) -> f64;
    let figures: [(&str, Pick, Option<f64>, &'static str); 8] = [
        ("system calls per job", |count| count.total.into(), Some(300.0), "ours <= 300"),
        ("of them opens", |count| count.opens.into(), Some(30.0), "ours <= 30"),
        ("of them execs", |count| count.execs.into(), Some(2.0), "ours = 2"),
        ("of them closes", |count| count.closes.into(), None, ""),
        ("processes", |count| count.processes.into(), None, ""),
        ("guardian, counted apart", |count| count.guardian.into(), None, ""),
        ("name service, counted apart", |count| count.look_up.into(), None, ""),
        ("name service opens", |count| count.look_up_opens.into(), None, ""),
    ];
    for (what, pick, limit, target) in figures {
        let mut push = |what: String, which: [Kind; 3]| {
            let [stock, ours, floor] = columns(which, counts, pick);
            let row = Row::new("T6", what, stock, ours, floor);
            rows.push(Row {
                ratio: Ratio::new("stock/ours", row.stock, row.ours).filter(|_| limit.is_some()),
                target,
                met: row.ours.and_then(|ours| limit.map(|limit| ours <= limit)),
                ..row
            });
        };
        push(what.to_owned(), COLUMNS);
        if limit.is_some_and(|limit| limit > 2.0) {
            push(format!("{what}, ours with ox_uid keys"), KEYED_COLUMNS);
        }
    }
    let whole: Pick = |count| f64::from(count.total + count.guardian + count.look_up);
    let [stock, ours, floor] = columns(COLUMNS, counts, whole);
    rows.push(Row::new("T6", "all of it, guardian and name service included".to_owned(), stock, ours, floor));
}

/// T7, from the memory of all kinds.
pub(super) fn memory(rows: &mut Vec<Row>, measured: &[Option<memory::Memory>]) {
    let row = |what: &str, pick: fn(&memory::Memory) -> f64| {
        let [stock, ours, floor] = columns(COLUMNS, measured, pick);
        Row::new("T7", what.to_owned(), stock, ours, floor)
    };
    // Two answers for two processes: the sum of what each has alone, and with what only these two have in common.
    let sum = row("USS of shepherd and guardian", |memory| memory.private);
    let whole = row("unshared with other jobs, common pages once", |memory| memory.unshared);
    for one in [sum, whole] {
        let ratio = Ratio::new("stock/ours", one.stock, one.ours);
        let met = one.ours.map(|ours| ours <= 200.0);
        rows.push(Row { target: "ours <= 200 kB", met, ..one.clone() });
        rows.push(one.clone().at_least(6.5, ratio, "stock/ours >= 6.5"));
        rows.push(one.most());
    }
    rows.push(row("USS of the shepherd", |memory| memory.private - memory.private_guardian));
    rows.push(row("USS of the guardian", |memory| memory.private_guardian));
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
