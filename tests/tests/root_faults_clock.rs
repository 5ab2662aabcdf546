//! Deadlines count time that passes, whatever a clock says.
//!
//! The time since boot is another one in a time namespace, so a deadline that mixed two clocks would come at once or
//! never. A step of the real-time clock cannot be made here without making it for the whole machine: the rig's VM
//! does that.

use std::path::Path;

use oxherd_tests::faults::{COUNTED, Run, Scenario};
use oxherd_tests::require::skipped;
use oxherd_tests::{JobDir, Stopwatch, require, secs};

/// A year on, and as far back as the time since boot allows.
const AHEAD: &[&str] = &["--time", "--boottime", "31536000", "--monotonic", "31536000"];
const APART: &[&str] = &["--time", "--boottime", "100000"];

fn limited(job: &mut JobDir) {
    let (uid, gid) = (job.owner.uid.to_string(), job.owner.gid.to_string());
    for (key, value) in [("ox_h_rt", "2"), ("ox_groups", &gid), ("ox_gid", &gid), ("ox_uid", &uid)] {
        job.config.insert("default_domain", key, value);
    }
    job.script(&format!("{COUNTED}exec sleep 300\n"));
}

fn limited_under(namespaces: &'static [&'static str]) -> Option<Run> {
    if !Path::new("/proc/self/ns/time").exists() {
        skipped("this kernel has no time namespaces");
        return None;
    }
    let scenario = Scenario {
        name: "clock",
        roles: "guardian,job",
        prepare: limited,
        killed: false,
        tmpdir: false,
        hung: None,
        namespaces,
    };
    let watch = Stopwatch::start();
    let run = scenario.run(None);
    let took = watch.elapsed();
    assert!(took > secs(2) && took < secs(5), "h_rt of 2 s came after {took:?}: {:#?}", run.outcome);
    Some(run)
}

fn holds(run: &Run) {
    assert_eq!(run.broken(), Vec::<String>::new(), "{:#?}", run.outcome);
    assert_eq!(run.failed, 37, "{:#?}", run.outcome);
    let wallclock = run.outcome.usage_number("ru_wallclock");
    assert!((2.0..=3.0).contains(&wallclock), "ru_wallclock {wallclock}");
}

#[test]
fn a_limit_holds_on_a_host_that_is_up_for_a_year() {
    require!(root);
    if let Some(run) = limited_under(AHEAD) {
        holds(&run);
    }
}

#[test]
fn a_limit_holds_where_the_clocks_of_the_kernel_are_far_apart() {
    require!(root);
    if let Some(run) = limited_under(APART) {
        holds(&run);
    }
}
