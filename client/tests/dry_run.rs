//! `oxherd run --dry-run`: every decision and who took it, and nothing touched.
#![forbid(unsafe_code)]

#[allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]
mod common;

use common::{Place, example};

/// The value and source of a decision in the text.
fn decision<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    text.lines()
        .find(|line| line.split("  ").next() == Some(name))
        .map(|line| line.split("  ").skip(1).map(str::trim).filter(|part| !part.is_empty()).collect())
        .unwrap_or_default()
}

#[test]
fn decisions_name_who_took_them_and_nothing_is_touched() {
    let place = Place::new();
    let (queue, script) = (example("all.q.conf"), example("hello.sh"));
    let end = place.oxherd([
        "run",
        "--dry-run",
        "--queue",
        &queue,
        "--host",
        "bignode",
        "--set",
        "notify=7",
        "--notify",
        "-l",
        "h_vmem=1G",
        "-o",
        "$HOME/$JOB_ID.out",
        &script,
        "one argument",
    ]);
    assert_eq!(end.code, Some(0), "{end:?}");
    for (name, expected) in [
        ("h_rt", ["24:00:00", "host bignode"]),
        ("h_fsize", ["10G", "queue default"]),
        ("h_cpu", ["0:5:0", "script line 4: -l"]),
        ("h_vmem", ["1G", "command line: -l"]),
        ("notify", ["7", "command line: -notify"]),
        ("job_name", ["hello", "script line 3: -N"]),
        ("job_arg1", ["one argument", "command line"]),
        ("priority", ["5", "queue default"]),
    ] {
        assert_eq!(decision(&end.stdout, name), expected, "{name}");
    }
    assert!(decision(&end.stdout, "stdout")[0].ends_with("/1.out"), "{end:?}");
    assert!(!place.state().exists());
}

#[test]
fn without_a_queue_the_defaults_are_built_in() {
    let end = Place::new().oxherd(["run", "--dry-run", "true"]);
    assert_eq!(decision(&end.stdout, "h_rt"), ["INFINITY", "built in"], "{end:?}");
    assert_eq!(decision(&end.stdout, "script_file"), ["true", "command line"]);
}

#[test]
fn the_same_as_json() {
    let place = Place::new();
    let queue = place.queue(&[("hostlist", "c1 c2")]);
    let end = place.oxherd([
        "run",
        "--dry-run",
        "--json",
        "--queue",
        &queue,
        "--host",
        "n1",
        "-l",
        "mem=1",
        "true",
    ]);
    let object: serde_json::Value = serde_json::from_str(&end.stdout).expect("JSON");
    let decisions = object["decisions"].as_array().expect("an array");
    let h_rt = decisions.iter().find(|found| found["name"] == "h_rt").expect("h_rt");
    assert_eq!((&h_rt["value"], &h_rt["source"]), (&"01:00:00".into(), &"queue default".into()));
    let notes = serde_json::json!([
        "host `n1` is not in the hostlist of queue `all.q`",
        "command line: `-l mem` is ignored: it is no limit of a queue",
    ]);
    assert_eq!(object["notes"], notes);
    assert_eq!(end.stderr, "");
}

#[test]
fn options_of_the_script_without_effect_are_named_once() {
    let place = Place::new();
    let script = place.file("job.sh", "#$ -q all.q -m be -M me\n#$ -t 1-5 -cwd\n");
    let end = place.oxherd(["run", "--dry-run", &script]);
    assert_eq!(end.stderr, "oxherd: options of the script without effect here: -q -m -M -t\n");
}

#[test]
fn a_text_file_is_a_script_and_a_program_a_command() {
    let place = Place::new();
    let script = place.file("job", "exit 0\n");
    let shown = |arguments: &[&str]| {
        let end = place.oxherd([&["run", "--dry-run"], arguments].concat());
        decision(&end.stdout, "script_file").first().map(|value| (*value).to_owned()).unwrap_or_default()
    };
    assert!(shown(&[&script]).ends_with("/job_scripts/1"));
    assert_eq!(shown(&["-b", "y", &script]), script);
    assert_eq!(shown(&["/bin/sh", "-c", "exit 3"]), "/bin/sh");
    assert_eq!(shown(&["--", "sleep", "1"]), "sleep");
}
