//! Resource limits: syntax, floors, scaling by slots.

use oxherd_tests::{Case, Witness, both, witness};

const MIB: u64 = 1 << 20;

/// Values of `config`, slots, and what `/proc/self/limits` then says (`None` is unlimited).
struct Row {
    set: &'static [(&'static str, &'static str)],
    slots: u32,
    limit: &'static str,
    soft: Option<u64>,
    hard: Option<u64>,
}

const fn row(
    set: &'static [(&'static str, &'static str)],
    slots: u32,
    limit: &'static str,
    soft: Option<u64>,
    hard: Option<u64>,
) -> Row {
    Row { set, slots, limit, soft, hard }
}

const fn at(value: u64) -> Option<u64> {
    Some(value)
}

both![
    limits_scale_with_the_slots,
    tiny_limits_are_raised_to_their_floor,
    soft_limits_are_lowered_to_the_hard_ones,
    limits_of_execd_params_are_set_where_defined,
    number_suffixes_are_understood,
    limits_can_be_exceeded_only_with_a_signal,
];

/// Runs one job per row, all of them, and reports every row that differs.
#[track_caller]
fn check(case: &Case, rows: &[Row]) {
    let mut wrong = Vec::new();
    for Row { set, slots, limit, soft, hard } in rows {
        let mut job = case.job();
        if *slots > 1 {
            job.pe("mpi", *slots);
        }
        for (key, value) in *set {
            job.set(key, value);
        }
        job.script(witness::SCRIPT);
        let outcome = job.run();
        let told = Witness::parse(&job.stdout());
        if outcome.code() != 0 || told.all("uid").is_empty() {
            wrong.push(format!("{set:?} x {slots}: the job did not run: {outcome:?}"));
            continue;
        }
        let text = |value: &Option<u64>| value.map_or("unlimited".to_owned(), |number| number.to_string());
        let (expected, found) = ((text(soft), text(hard)), told.limit(limit));
        if expected != found {
            wrong.push(format!("{set:?} x {slots}: {limit} is {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn limits_scale_with_the_slots(case: &Case) {
    check(
        case,
        &[
            row(&[("h_vmem", "300M")], 1, "address space", at(300 * MIB), at(300 * MIB)),
            row(&[("h_vmem", "300M")], 3, "address space", at(900 * MIB), at(900 * MIB)),
            row(
                &[("h_vmem", "300M"), ("h_vmem_is_consumable_job", "1")],
                3,
                "address space",
                at(300 * MIB),
                at(300 * MIB),
            ),
            row(&[("h_cpu", "100")], 3, "cpu time", at(300), at(300)),
            row(&[("s_cpu", "0:1:40"), ("h_cpu", "200")], 2, "cpu time", at(200), at(400)),
            row(&[("h_stack", "100M")], 2, "stack size", at(200 * MIB), at(200 * MIB)),
            row(&[("s_data", "500M")], 2, "data size", at(1000 * MIB), None),
            row(&[("h_fsize", "10M")], 3, "file size", at(10 * MIB), at(10 * MIB)),
            row(&[("h_core", "1M")], 3, "core file size", at(MIB), at(MIB)),
            row(&[("h_rss", "100M")], 3, "resident set", at(100 * MIB), at(100 * MIB)),
        ],
    );
}

fn tiny_limits_are_raised_to_their_floor(case: &Case) {
    check(
        case,
        &[
            row(&[("h_cpu", "1")], 1, "cpu time", at(2), at(2)),
            row(&[("h_fsize", "1k")], 1, "file size", at(15 * 1024), at(15 * 1024)),
            row(&[("h_data", "1k")], 1, "data size", at(10 * MIB), at(10 * MIB)),
            row(&[("h_stack", "1k")], 1, "stack size", at(MIB), at(MIB)),
            row(&[("h_vmem", "1k")], 1, "address space", at(10 * MIB), at(10 * MIB)),
            row(&[("h_rss", "1k")], 1, "resident set", at(10 * MIB), at(10 * MIB)),
            row(&[("h_core", "1")], 1, "core file size", at(1), at(1)),
            // The floor comes before the slots.
            row(&[("h_cpu", "1")], 3, "cpu time", at(6), at(6)),
            row(&[("h_stack", "1k")], 3, "stack size", at(3 * MIB), at(3 * MIB)),
        ],
    );
}

fn soft_limits_are_lowered_to_the_hard_ones(case: &Case) {
    check(
        case,
        &[
            row(&[("s_cpu", "100"), ("h_cpu", "50")], 1, "cpu time", at(50), at(50)),
            row(&[("s_cpu", "50"), ("h_cpu", "100")], 1, "cpu time", at(50), at(100)),
            row(&[("s_vmem", "600M"), ("h_vmem", "300M")], 1, "address space", at(300 * MIB), at(300 * MIB)),
            row(&[("s_vmem", "300M")], 1, "address space", at(300 * MIB), None),
            row(&[("s_fsize", "2M"), ("h_fsize", "3M")], 1, "file size", at(2 * MIB), at(3 * MIB)),
        ],
    );
}

fn limits_of_execd_params_are_set_where_defined(case: &Case) {
    check(
        case,
        &[
            row(&[("s_descriptors", "150"), ("h_descriptors", "200")], 1, "open files", at(150), at(200)),
            row(&[("s_descriptors", "50"), ("h_descriptors", "200")], 2, "open files", at(200), at(400)),
            row(&[("h_descriptors", "300")], 1, "open files", at(300), at(300)),
            row(&[("s_descriptors", "300")], 1, "open files", at(300), at(300)),
            row(&[("h_memorylocked", "1k")], 1, "locked memory", at(4096), at(4096)),
            row(
                &[("s_memorylocked", "64k"), ("h_memorylocked", "64K")],
                2,
                "locked memory",
                at(128_000),
                at(131_072),
            ),
            row(&[("h_maxproc", "1000")], 2, "processes", at(2000), at(2000)),
            row(&[("h_locks", "1")], 1, "file locks", at(2), at(2)),
        ],
    );
}

fn number_suffixes_are_understood(case: &Case) {
    check(
        case,
        &[
            row(&[("h_fsize", "100k")], 1, "file size", at(100_000), at(100_000)),
            row(&[("h_fsize", "100K")], 1, "file size", at(102_400), at(102_400)),
            row(&[("h_fsize", "2m")], 1, "file size", at(2_000_000), at(2_000_000)),
            row(&[("h_fsize", "1.5M")], 1, "file size", at(1_572_864), at(1_572_864)),
            row(&[("h_fsize", "1g")], 1, "file size", at(1_000_000_000), at(1_000_000_000)),
            row(&[("h_fsize", "1G")], 1, "file size", at(1 << 30), at(1 << 30)),
            row(&[("h_fsize", "0x10000")], 1, "file size", at(65_536), at(65_536)),
            row(&[("h_fsize", "infinity")], 1, "file size", None, None),
            row(&[("h_cpu", "1:0:0")], 1, "cpu time", at(3600), at(3600)),
            row(&[("h_cpu", "0:2:")], 1, "cpu time", at(120), at(120)),
            row(&[("h_cpu", "::90")], 1, "cpu time", at(90), at(90)),
        ],
    );
}

fn limits_can_be_exceeded_only_with_a_signal(case: &Case) {
    let mut job = case.job();
    job.set("h_fsize", "20K").set("h_core", "0").script("exec head -c 100000 /dev/zero >big\n");
    job.run().expect_finished(153).expect_usage("signal", "25");
    let mut job = case.job();
    job.set("h_cpu", "2").set("h_core", "0").script("while :; do :; done\n");
    job.run().expect_finished(137).expect_usage("signal", "9");
}
