//! Everything that can be wrong before a job starts: one clear error, its exit code, nothing left behind.
#![forbid(unsafe_code)]

#[allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]
mod common;

use common::{Ended, Place, ended, example, is_root};

/// One line on stderr, or one line and a drawn snippet; the code; no job spooled.
#[track_caller]
fn refused(place: &Place, arguments: &[&str], code: i32, expected: &str) -> Ended {
    let end = place.oxherd(arguments);
    assert_eq!(end.code, Some(code), "{end:?}");
    assert!(end.stderr.starts_with("oxherd: "), "{end:?}");
    assert!(end.stderr.contains(expected), "expected `{expected}`: {end:?}");
    assert_eq!(end.stdout, "", "{end:?}");
    assert!(!place.state().exists(), "something was left behind");
    end
}

#[test]
fn a_queue_file_that_cannot_be_read_is_named() {
    let place = Place::new();
    let missing = place.path().join("missing.q");
    let missing = missing.to_str().expect("UTF-8");
    let end = refused(&place, &["run", "--queue", missing, "true"], 125, "cannot read ");
    assert_eq!(
        end.stderr,
        format!("oxherd: cannot read {missing}: No such file or directory (os error 2)\n")
    );
    let binary = place.file("binary.q", b"qname \xff\n");
    refused(&place, &["run", "--queue", &binary, "true"], 125, "byte 6 is not UTF-8 text");
}

#[test]
fn an_unknown_parameter_is_drawn_with_its_line() {
    let place = Place::new();
    let text = std::fs::read_to_string(example("all.q.conf")).expect("the example");
    let queue = place.file("unknown.q", text.replace("h_rt  ", "hrt   "));
    let end = refused(&place, &["run", "--queue", &queue, "true"], 125, "there is no queue attribute `hrt`");
    assert!(end.stderr.contains("^^^"), "{end:?}");
}

#[test]
fn an_ambiguous_override_names_the_attribute_and_both_groups() {
    let place = Place::new();
    let queue = place.queue(&[("h_rt", "1:0:0,[@big=2:0:0],[@new=3:0:0]")]);
    let big = place.file("big", "group_name @big\nhostlist n1 n2\n");
    let new = place.file("new", "group_name @new\nhostlist n2\n");
    let groups = ["--host-group", &big, "--host-group", &new];
    let end = refused(
        &place,
        &[&["run", "--queue", &queue, "--host", "n2"], &groups[..], &["true"]].concat(),
        125,
        "attribute `h_rt` of queue instance `all.q@n2` is ambiguous",
    );
    assert!(end.stderr.contains("`@big` sets `2:0:0`, `@new` sets `3:0:0`"), "{end:?}");
    let fine = place
        .oxherd([&["run", "--dry-run", "--queue", &queue, "--host", "n1"], &groups[..], &["true"]].concat());
    assert_eq!(fine.code, Some(0), "{fine:?}");
    assert!(
        fine.stdout.lines().any(|l| l.starts_with("h_rt ") && l.ends_with("host group @big")),
        "{fine:?}"
    );
}

#[test]
fn settings_are_checked_like_a_file() {
    let place = Place::new();
    refused(&place, &["run", "--set", "hrt=5", "true"], 125, "there is no such queue attribute");
    refused(&place, &["run", "--set", "h_rt=5d", "true"], 125, "expected a time");
    refused(&place, &["run", "--set", "h_rt", "true"], 125, "--set: expected NAME=VALUE, found `h_rt`");
    refused(&place, &["run", "--set", "tmpdir=var", "true"], 125, "absolute");
    refused(&place, &["run", "--env", "=x", "true"], 125, "--env: expected NAME=VALUE, found `=x`");
}

#[test]
fn users_are_checked() {
    let place = Place::new();
    refused(&place, &["run", "--user", "nobody-here", "true"], 125, "user `nobody-here` does not exist");
    refused(&place, &["run", "--min-uid", "4294967295", "true"], 125, "is below min_uid 4294967295");
    refused(&place, &["run", "--min-gid", "4294967295", "true"], 125, "is below min_gid 4294967295");
    if !is_root() {
        refused(&place, &["run", "--user", "root", "true"], 125, "only root can run a job as `root`");
    }
}

#[test]
fn a_script_or_command_that_is_not_there_is_127() {
    let place = Place::new();
    refused(&place, &["run", "./missing.sh"], 127, "cannot find a script or command `./missing.sh`");
    refused(&place, &["run", "missing-command"], 127, "cannot find a script or command `missing-command`");
    refused(&place, &["run", "-b", "n", "missing.sh"], 127, "cannot read script missing.sh");
    refused(&place, &["run", "-b", "y", "-shell", "n", "a b"], 127, "cannot find a script or command `a b`");
    refused(&place, &["run", "-b", "n", "/"], 126, "cannot read script /");
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let place = Place::new();
    refused(&place, &["run", "-l", "h_rt=90s", "true"], 125, "`-l h_rt`: expected a time");
    refused(&place, &["run", "-N", "1", "true"], 125, "option `-N`");
    refused(&place, &["run", "--set", "h_rt=5", "-l", "h_rt=6", "true"], 125, "is above the limit of queue");
    refused(&place, &["run", "-pe", "smp", "2", "true"], 125, "2 slots are more than the 1");
    let script = place.file("bad.sh", "#!/bin/sh\n#$ -N\n");
    refused(&place, &["run", &script], 125, "script line 2: option `-N` needs a job name");
}

#[test]
fn a_command_line_that_cannot_be_read_is_125() {
    let place = Place::new();
    for arguments in [&["run"][..], &["run", "--nonsense", "true"], &["nonsense"], &[], &["lint"]] {
        let end = place.oxherd(arguments);
        assert_eq!(end.code, Some(125), "{arguments:?}: {end:?}");
        assert!(!end.stderr.is_empty(), "{arguments:?}");
    }
    let help = place.oxherd(["run", "--help"]);
    assert_eq!(help.code, Some(0), "{help:?}");
    assert!(help.stdout.contains("--queue"), "{help:?}");
}

#[test]
fn an_argument_that_could_forge_a_key_is_refused() {
    let place = Place::new();
    let forged = "x\nprolog=root@/bin/sh";
    refused(&place, &["run", "true", forged], 125, "contains a newline");
}

#[test]
fn a_shepherd_that_is_not_there_is_126_and_leaves_nothing() {
    let place = Place::new();
    let end = place.oxherd(["run", "--shepherd-cmd", "/no/such/shepherd", "true"]);
    assert_eq!(end.code, Some(126), "{end:?}");
    assert!(end.stderr.contains("cannot start the shepherd /no/such/shepherd: No such file"), "{end:?}");
    place.assert_nothing_left();
}

#[test]
fn a_state_directory_that_cannot_be_used_is_126() {
    let place = Place::new();
    std::fs::write(place.state(), "a file").expect("written");
    let end = place.oxherd(["run", "true"]);
    assert_eq!(end.code, Some(126), "{end:?}");
    assert!(end.stderr.contains("cannot make directory"), "{end:?}");
}

#[test]
fn a_full_disk_in_the_job_directory_is_126_and_leaves_nothing() {
    if !is_root() {
        eprintln!("SKIPPED: root mounts a small file system");
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.state()).expect("made");
    // A file system of two pages, seen by this command alone.
    let script = place.file("large.sh", "#".repeat(64 * 1024));
    let line = "mount -t tmpfs -o size=8k tmpfs \"$1\" || exit 99; shift; \"$@\"; code=$?; \
        find \"$OXHERD_STATE_DIR\" -mindepth 2; exit $code";
    let oxherd = env!("CARGO_BIN_EXE_oxherd");
    let state = place.state();
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", line, "sh"]).arg(&state).args([oxherd, "run", &script]);
    let end = ended(command.env("OXHERD_STATE_DIR", &state));
    if end.code == Some(99) {
        eprintln!("SKIPPED: no mount in a namespace of its own: {end:?}");
        return;
    }
    assert_eq!(end.code, Some(126), "{end:?}");
    assert!(end.stderr.contains("No space left on device"), "{end:?}");
    assert_eq!(end.stdout, "", "left behind");
}

#[test]
fn own_errors_are_told_from_a_jobs_code_in_json() {
    let place = Place::new();
    let end = place.oxherd(["run", "--json", "--user", "nobody-here", "true"]);
    assert_eq!(end.code, Some(125), "{end:?}");
    let object = end.json();
    assert_eq!(object["exit_code"], 125);
    assert_eq!(object["own_error"], "user `nobody-here` does not exist on this host");
    assert!(object["job_id"].is_null());
}
