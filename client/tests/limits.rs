//! Limits that hold although nothing but the shepherd runs.
#![forbid(unsafe_code)]

#[allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]
mod common;

use common::Place;

/// Writes the time since the start of the system to a file every few milliseconds until it is killed, in a session of
/// its own.
const CLOCK: &str = "setsid perl -MTime::HiRes=clock_gettime,sleep -e \
    'open F, \">\", $ARGV[0]; select F; $| = 1; while (1) { seek F, 0, 0; printf \"%.3f\\n\", clock_gettime(7); \
    sleep 0.005 }' \"$1\" &\n";

/// Prints when the kernel made the job's first process, in hundredths of a second since the start of the system: no
/// program has to run for it, so a busy machine does not move it.
const START: &str = "cut -d ' ' -f 22 /proc/$$/stat\n";

/// Seconds from the job's start to the last sign of life of its last process.
fn life(place: &Place, start: &str) -> f64 {
    let read = |name: &str| -> f64 {
        let text = std::fs::read_to_string(place.path().join(name)).expect("written");
        text.trim().parse().expect("a time")
    };
    read("last") - start.trim().parse::<f64>().expect("a time") / 100.0
}

#[test]
fn h_rt_ends_the_last_process_in_time_and_never_early() {
    let place = Place::new();
    let script = place.file("job.sh", format!("{START}{CLOCK}sleep 60\n"));
    let last = place.path().join("last");
    let end = place.oxherd(["run", "--set", "h_rt=3", &script, last.to_str().expect("UTF-8")]);
    assert_eq!(end.code, Some(137), "{end:?}");
    assert!(end.stderr.contains("h_rt of 3 s exceeded"), "{end:?}");
    let life = life(&place, &end.stdout);
    // The last sign of life may be some milliseconds old.
    assert!((2.95..3.2).contains(&life), "{life} s");
    place.assert_nothing_left();
}

#[test]
fn s_rt_warns_and_h_rt_ends_and_neither_puts_the_other_off() {
    let place = Place::new();
    let trap = "trap 'echo warned; cut -d\" \" -f1 /proc/uptime' USR1\n";
    let script = place.file("job.sh", format!("{trap}{START}while :; do sleep 0.05; done\n"));
    let end = place.oxherd(["run", "--set", "s_rt=1", "--set", "h_rt=3", "--set", "notify=60", &script]);
    assert_eq!(end.code, Some(137), "{end:?}");
    let lines: Vec<_> = end.stdout.lines().collect();
    let [start, "warned", at] = lines[..] else { panic!("warned once: {end:?}") };
    let after = at.parse::<f64>().expect("a time") - start.parse::<f64>().expect("a time") / 100.0;
    assert!((0.95..2.5).contains(&after), "warned after {after} s");
    assert!(end.stderr.contains("h_rt of 3 s exceeded"), "{end:?}");
}

#[test]
fn s_rt_ends_the_job_after_notify_as_the_manual_says() {
    let place = Place::new();
    let script = place.file("job.sh", "trap 'echo warned' USR1\nwhile :; do sleep 0.05; done\n");
    let end = place.oxherd(["run", "--set", "s_rt=1", "--set", "notify=1", &script]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(137), "warned\n"), "{end:?}");
    assert!(end.stderr.contains("s_rt of 1 s exceeded"), "{end:?}");
}

#[test]
fn h_vmem_counts_the_processes_of_a_job_together() {
    let place = Place::new();
    // Four processes of some 60 MiB each: none of them is near the limit, their sum is above it.
    let script = place.file(
        "job.sh",
        "for i in 1 2 3 4; do perl -e '$x = \"x\" x (60 << 20); sleep 60' & done\nwait\necho survived\n",
    );
    let end = place.oxherd(["run", "--json", "--set", "h_vmem=180M", "--set", "s_vmem=INFINITY", &script]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(137), ""), "{end:?}");
    let object = end.json();
    assert_eq!((&object["failed"], &object["exit_status"]), (&37.into(), &137.into()), "{object}");
    let reason = object["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("h_vmem of 180M exceeded: "), "{reason}");
    assert!(
        reason.contains(" processes of the job used ") && reason.contains("M and were ended"),
        "{reason}"
    );
}

#[test]
fn h_cpu_counts_the_processes_of_a_job_together() {
    let place = Place::new();
    let script = place.file("job.sh", "for i in 1 2 3; do (while :; do :; done) & done\nwait\n");
    let end = place.oxherd(["run", "--json", "--set", "h_cpu=2", "--set", "s_cpu=INFINITY", &script]);
    assert_eq!(end.code, Some(137), "{end:?}");
    let object = end.json();
    assert_eq!(object["failed"], 37, "{object}");
    assert!(
        object["reason"].as_str().is_some_and(|r| r.starts_with("h_cpu of 2 s exceeded: the job used 2")),
        "{object}"
    );
}
