//! A job whose processes cannot be ended is waited for, until an administrator gives them up.
#![forbid(unsafe_code)]

#[allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]
mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use common::{Place, ended, is_root, wait_for};

/// A process of root's that the test ends, whatever happens.
struct Rooted(String);

impl Drop for Rooted {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-s", "KILL", &self.0]).status();
    }
}

fn as_nobody(place: &Place, words: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "nobody", "--regid", "nogroup", "--clear-groups", env!("CARGO_BIN_EXE_oxherd")]);
    command.args(words).env("OXHERD_STATE_DIR", place.state()).current_dir("/").stdin(Stdio::null());
    command
}

#[test]
fn a_process_that_cannot_be_ended_is_waited_for_until_it_is_abandoned() {
    if !is_root() {
        eprintln!("SKIPPED: needs root to make a process that the job's user cannot end");
        return;
    }
    let place = Place::new();
    let state = place.state();
    std::fs::create_dir(&state).expect("made");
    std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).expect("changed");
    Command::new("chown").arg("nobody").arg(&state).status().expect("starts");
    // A setuid program by which the job's user gets a process of root's: nobody below root can end it.
    let rooted = place.path().join("rooted");
    std::fs::copy("/usr/bin/setpriv", &rooted).expect("copied");
    std::fs::set_permissions(&rooted, PermissionsExt::from_mode(0o4755)).expect("changed");
    let line = format!("{} --reuid 0 --regid 0 --clear-groups sleep 600", rooted.display());
    // Before it is root's it can be ended.
    let until = "until grep -q '^Uid:.0.0.0' /proc/$!/status && grep -q sleep /proc/$!/comm; do :; done\n";
    let script = place.file("job.sh", format!("{line} >/dev/null 2>&1 &\n{until}echo $!\n"));

    let mut run = as_nobody(&place, &["run", "-wd", "/", &script]);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut lines = BufReader::new(run.stdout.take().expect("piped"));
    let mut pid = String::new();
    lines.read_line(&mut pid).expect("readable");
    if pid.is_empty() {
        run.wait().expect("ends");
        eprintln!("SKIPPED: other users cannot read the program");
        return;
    }
    let rooted = Rooted(pid.trim().to_owned());
    let status = format!("/proc/{}/status", rooted.0);
    let trace = state.join("active_jobs/1.1/trace");
    wait_for("the end of the job's first process", || {
        std::fs::read_to_string(&trace).is_ok_and(|text| text.contains("job exited with"))
    });
    wait_for("a process of root's", || {
        std::fs::read_to_string(&status).is_ok_and(|text| text.contains("Uid:\t0\t0\t0\t0"))
    });
    assert_eq!(run.try_wait().expect("watched"), None, "the job is not reported while a process of it lives");

    let abandoned = ended(&mut as_nobody(&place, &["abandon", "1"]));
    assert_eq!(abandoned.code, Some(0), "{abandoned:?}");
    let mut stderr = String::new();
    run.stderr.take().expect("piped").read_to_string(&mut stderr).expect("readable");
    run.wait().expect("ends");
    assert!(stderr.contains("abandoned by the administrator"), "{stderr}");
    assert!(
        stderr.contains(&rooted.0) && stderr.contains("sleep"),
        "the record names what is left: {stderr}"
    );
    assert!(std::path::Path::new(&status).exists(), "nobody could end it");

    let again = ended(&mut as_nobody(&place, &["abandon", "1"]));
    assert_eq!(again.code, Some(126), "{again:?}");
}
