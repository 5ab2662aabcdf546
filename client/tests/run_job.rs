//! Jobs that run, with the shepherd that `oxherd` carries: codes, streams, limits, signals, and what is left.
#![forbid(unsafe_code)]

#[allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]
mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use common::{Place, ended, example, is_root, wait_for};

/// What a process must not do after the end of its job. One that is dead and not yet reaped does not.
fn lives(pid: &str) -> bool {
    !matches!(state(pid), '-' | 'Z')
}

/// The state letter of a process; `-` if it is gone.
fn state(pid: &str) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next()).unwrap_or('-')
}

/// A started `oxherd` whose job writes lines.
struct Started {
    oxherd: Child,
    lines: BufReader<ChildStdout>,
}

impl Started {
    fn new(place: &Place, arguments: &[&str]) -> Self {
        let mut command = place.command(arguments);
        let mut oxherd =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("oxherd starts");
        let lines = BufReader::new(oxherd.stdout.take().expect("piped"));
        Self { oxherd, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("readable");
        line.trim_end().to_owned()
    }

    fn signal(&self, name: &str) {
        let pid = self.oxherd.id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status().expect("kill starts");
        assert!(status.success(), "kill -s {name} {pid}");
    }

    /// The rest of stdout, all of stderr, and the code.
    fn end(mut self) -> (Option<i32>, String, String) {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.lines.read_to_string(&mut stdout).expect("readable");
        self.oxherd.stderr.take().expect("piped").read_to_string(&mut stderr).expect("readable");
        (self.oxherd.wait().expect("waited").code(), stdout, stderr)
    }
}

/// The value behind a word at the beginning of a line.
fn value<'t>(text: &'t str, name: &str) -> &'t str {
    text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("").trim()
}

#[test]
fn the_example_runs_and_its_tmpdir_is_made_and_removed() {
    let place = Place::new();
    let end = place.oxherd(["run", "--queue", &example("all.q.conf"), &example("hello.sh")]);
    assert_eq!(end.code, Some(0), "{end:?}");
    assert!(end.stdout.starts_with("Hello from job 1 (hello) in all.q on "), "{end:?}");
    let tmpdir = value(&end.stdout, "TMPDIR  ");
    assert!(tmpdir.starts_with("/tmp/1.1.all.q"), "{end:?}");
    assert!(end.stdout.lines().any(|line| line.starts_with('d') && line.ends_with(tmpdir)), "{end:?}");
    assert!(!std::path::Path::new(tmpdir).exists(), "{tmpdir} is left");
    assert_eq!(value(&end.stdout, "nice "), "5");
    assert_eq!(value(&end.stdout, "umask "), "0022");
    place.assert_nothing_left();
}

#[test]
fn the_exit_code_is_the_jobs() {
    let place = Place::new();
    let script = place.file("job.sh", "echo out; echo err >&2; exit 7\n");
    let end = place.oxherd(["run", &script]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(7), "out\n"), "{end:?}");
    assert!(end.stderr.ends_with("err\n"), "{end:?}");
    for code in [0, 1, 99, 100, 125, 255] {
        let end = place.oxherd(["run", "-shell", "n", "/bin/sh", "-c", &format!("exit {code}")]);
        assert_eq!(end.code, Some(code), "{end:?}");
    }
    place.assert_nothing_left();
}

#[test]
fn numbers_go_up() {
    let place = Place::new();
    for number in ["1\n", "2\n"] {
        assert_eq!(place.oxherd(["run", "echo $JOB_ID"]).stdout, number);
    }
}

#[test]
fn a_job_that_is_killed_says_by_what() {
    let place = Place::new();
    let end = place.oxherd(["run", "kill -9 $$"]);
    assert_eq!(end.code, Some(137), "{end:?}");
    assert!(end.stderr.contains("oxherd: job 1: ended by a signal: died through signal 9\n"), "{end:?}");
}

#[test]
fn a_limit_ends_the_job_and_is_named() {
    let place = Place::new();
    let end = place.oxherd(["run", "--set", "h_rt=1", "sleep 30"]);
    assert_eq!(end.code, Some(137), "{end:?}");
    let line = end.stderr.lines().last().unwrap_or("");
    assert!(line.starts_with("oxherd: job 1: exceeded a limit: h_rt of 1 s exceeded"), "{end:?}");
    let end = place.oxherd(["run", "--json", "--set", "h_rt=1", "sleep 30"]);
    let object = end.json();
    assert_eq!((&object["failed"], &object["exit_status"]), (&37.into(), &137.into()), "{object}");
    assert!(object["own_error"].is_null());
    place.assert_nothing_left();
}

#[test]
fn options_reach_the_job() {
    let place = Place::new();
    let out = place.path().join("$JOB_NAME.$JOB_ID");
    let script =
        place.file("job.sh", "#$ -N from_script -j y -v A=1\necho $JOB_NAME $A $B $1; echo err >&2; pwd\n");
    let end = place.oxherd([
        "run",
        "-cwd",
        "-o",
        out.to_str().expect("UTF-8"),
        "-N",
        "given",
        "--env",
        "B=a b,c",
        &script,
        "x y",
    ]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), ""), "{end:?}");
    let here = std::env::current_dir().expect("a directory");
    let written = std::fs::read_to_string(place.path().join("given.1")).expect("the job's output");
    assert_eq!(written, format!("given 1 a b,c x y\nerr\n{}\n", here.display()));
}

#[test]
fn only_the_jobs_own_variables_reach_it() {
    let place = Place::new();
    let names = |arguments: &[&str]| {
        let mut command = place.command([&["run"], arguments, &["-shell", "n", "env"]].concat());
        ended(command.env("CALLERS_OWN", "1").env("LD_LIBRARY_PATH", "/x")).stdout
    };
    let plain = names(&[]);
    assert!(!plain.contains("CALLERS_OWN") && !plain.contains("LD_LIBRARY_PATH"), "{plain}");
    assert!(plain.contains("ENVIRONMENT=BATCH"), "{plain}");
    assert!(names(&["-V"]).contains("CALLERS_OWN=1"));
    assert!(names(&["-v", "CALLERS_OWN"]).contains("CALLERS_OWN=1"));
}

#[test]
fn a_missing_shell_is_127_and_a_missing_directory_126() {
    let place = Place::new();
    let script = place.file("job.sh", "exit 0\n");
    let end = place.oxherd(["run", "-S", "/no/such/shell", &script]);
    assert_eq!(end.code, Some(127), "{end:?}");
    assert!(end.stderr.contains("/no/such/shell"), "{end:?}");
    let end = place.oxherd(["run", "-wd", "/no/such/directory", &script]);
    assert_eq!(end.code, Some(126), "{end:?}");
    assert!(end.stderr.contains("/no/such/directory"), "{end:?}");
    place.assert_nothing_left();
}

#[test]
fn a_tmpdir_that_cannot_be_made_is_126() {
    let place = Place::new();
    let setting = format!("tmpdir={}", place.file("a-file", ""));
    let end = place.oxherd(["run", "--set", &setting, "true"]);
    assert_eq!(end.code, Some(126), "{end:?}");
    assert!(end.stderr.contains("a-file"), "{end:?}");
    place.assert_nothing_left();
}

#[test]
fn a_tmpdir_that_is_taken_is_not_used() {
    let place = Place::new();
    let tmp = place.path().join("tmp");
    std::fs::create_dir_all(tmp.join("1.1.all.q/precious")).expect("made");
    let setting = format!("tmpdir={}", tmp.display());
    let end = place.oxherd(["run", "--set", &setting, "echo $TMPDIR; ls -A $TMPDIR"]);
    let prefix = format!("{}/1.1.all.q.", tmp.display());
    assert!(end.stdout.starts_with(&prefix) && end.stdout.lines().count() == 1, "{end:?}");
    assert!(tmp.join("1.1.all.q/precious").is_dir());
}

#[test]
fn a_kept_directory_can_be_started_again() {
    let place = Place::new();
    let script = place.file("job.sh", "echo $1 $TMPDIR; test -d $TMPDIR; exit 3\n");
    // Below a directory of this test: elsewhere the name may be taken, the second time or the first.
    let setting = format!("tmpdir={}", place.path().display());
    let end = place.oxherd(["run", "--set", &setting, "--keep", &script, "x"]);
    assert_eq!(end.code, Some(3), "{end:?}");
    let dir = place.state().join("active_jobs/1.1");
    assert!(end.stderr.contains(&format!("oxherd: job directory kept: {}\n", dir.display())), "{end:?}");
    assert!(dir.join("usage").is_file());
    std::fs::remove_file(script).expect("removed");
    let again = place.oxherd(["run", "--from", dir.to_str().expect("UTF-8")]);
    assert_eq!((again.code, &again.stdout), (Some(3), &end.stdout), "{again:?}");
    assert!(!place.state().join("active_jobs/2.1").exists());
    let missing = place.oxherd(["run", "--from", "/no/such/dir"]);
    assert_eq!(missing.code, Some(125), "{missing:?}");
}

#[test]
fn the_first_interrupt_ends_the_job_by_its_method_and_the_second_at_once() {
    let place = Place::new();
    let script = place.file("job.sh", "trap 'echo asked' TERM\necho $$\nwhile :; do sleep 0.1; done\n");
    let mut job = Started::new(&place, &["run", "--set", "terminate_method=SIGTERM", &script]);
    let pid = job.line();
    job.signal("INT");
    assert_eq!(job.line(), "asked");
    assert!(lives(&pid));
    job.signal("INT");
    let (code, _, stderr) = job.end();
    assert_eq!(code, Some(137), "{stderr}");
    assert!(!lives(&pid));
    place.assert_nothing_left();
}

#[test]
fn one_interrupt_is_enough_where_the_method_is_a_kill() {
    let place = Place::new();
    let mut job = Started::new(&place, &["run", "echo $$; exec sleep 60"]);
    let pid = job.line();
    job.signal("TERM");
    let (code, _, stderr) = job.end();
    assert_eq!(code, Some(137), "{stderr}");
    assert!(!lives(&pid));
}

#[test]
fn a_signal_that_was_ignored_from_the_start_is_no_order() {
    let place = Place::new();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" run 'echo $$; read line < '\"$1\"'; echo $line'"]);
    let fifo = place.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo starts").success());
    command.arg(env!("CARGO_BIN_EXE_oxherd")).arg(&fifo).env("OXHERD_STATE_DIR", place.state());
    let mut oxherd = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("sh starts");
    let lines = BufReader::new(oxherd.stdout.take().expect("piped"));
    let mut job = Started { oxherd, lines };
    job.line();
    job.signal("HUP");
    std::fs::write(&fifo, "went on\n").expect("the job reads");
    let (code, stdout, stderr) = job.end();
    assert_eq!((code, stdout.as_str()), (Some(0), "went on\n"), "{stderr}");
}

#[test]
fn a_notified_job_is_warned_first() {
    let place = Place::new();
    let script =
        place.file("job.sh", "trap 'echo warned; exit 5' USR2\necho ready\nwhile :; do sleep 0.1; done\n");
    let mut job = Started::new(&place, &["run", "-notify", "--set", "notify=30", &script]);
    assert_eq!(job.line(), "ready");
    job.signal("INT");
    let (code, stdout, stderr) = job.end();
    assert_eq!((code, stdout.as_str()), (Some(5), "warned\n"), "{stderr}");
}

#[test]
fn stopping_oxherd_suspends_the_job_and_continuing_resumes_it() {
    let place = Place::new();
    for signal in ["TSTP", "STOP"] {
        let mut job = Started::new(&place, &["run", "echo $$; exec sleep 60"]);
        let (pid, own) = (job.line(), job.oxherd.id().to_string());
        wait_for("exec", || std::fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == b"sleep\n"));
        for _ in 0..2 {
            job.signal(signal);
            wait_for("oxherd is stopped", || state(&own) == 'T');
            wait_for("the job is stopped", || state(&pid) == 'T');
            job.signal("CONT");
            wait_for("the job runs", || state(&pid) == 'S');
            wait_for("oxherd runs", || state(&own) == 'S');
        }
        job.signal("INT");
        assert_eq!(job.end().0, Some(137));
    }
}

#[test]
fn as_another_user() {
    if !is_root() {
        eprintln!("SKIPPED: only root can run jobs of others");
        return;
    }
    let place = Place::new();
    Command::new("chmod").arg("755").arg(place.path()).status().expect("chmod starts");
    let script = place.file("job.sh", "id -un; id -G; echo err >&2; exit 4\n");
    let end = place.oxherd(["run", "--user", "nobody", "-wd", "/", &script]);
    assert_eq!((end.code, end.stderr.as_str()), (Some(4), "err\n"), "{end:?}");
    let mut lines = end.stdout.lines();
    assert_eq!(lines.next(), Some("nobody"), "{end:?}");
    let groups: Vec<u32> =
        lines.next().unwrap_or("").split(' ').filter_map(|group| group.parse().ok()).collect();
    assert!(groups.iter().any(|group| (64_000..=64_999).contains(group)), "{end:?}");
    place.assert_nothing_left();
}

#[test]
fn without_privilege_the_same_job_runs_and_says_what_is_missing() {
    if !is_root() {
        eprintln!("SKIPPED: every other test of this file runs without privilege already");
        return;
    }
    let place = Place::new();
    let state = place.state();
    std::fs::create_dir(&state).expect("made");
    for (program, arguments) in [("chmod", ["755"]), ("chown", ["nobody"])] {
        let target = if program == "chmod" { place.path() } else { state.as_path() };
        Command::new(program).args(arguments).arg(target).status().expect("starts");
    }
    let script = place.file("job.sh", "id -un; test -d $TMPDIR && echo there; sleep 30\n");
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]);
    command.args([env!("CARGO_BIN_EXE_oxherd"), "run", "-wd", "/", "--set", "h_rt=1", &script]);
    let end = ended(command.env("OXHERD_STATE_DIR", &state).current_dir("/"));
    if end.stderr.starts_with("setpriv: failed to execute") {
        eprintln!("SKIPPED: other users cannot read the program: {end:?}");
        return;
    }
    assert_eq!((end.code, end.stdout.as_str()), (Some(137), "nobody\nthere\n"), "{end:?}");
    let lines: Vec<_> = end.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{end:?}");
    assert!(lines[0].starts_with("oxherd: running as `nobody` without privilege: "), "{end:?}");
    assert!(lines[1].contains("h_rt of 1 s exceeded"), "{end:?}");
    place.assert_nothing_left();
}

#[test]
fn a_shepherd_that_is_killed_leaves_no_process() {
    let place = Place::new();
    let script = place.file(
        "job.sh",
        "(trap '' TERM HUP; setsid sleep 600) & mkdir $TMPDIR/x; echo $PPID $$ $!\nsleep 600\n",
    );
    let setting = format!("tmpdir={}", place.path().display());
    let mut job = Started::new(&place, &["run", "--set", &setting, &script]);
    let line = job.line();
    let pids: Vec<_> = line.split(' ').collect();
    let [shepherd, rest @ ..] = &pids[..] else { panic!("no process ids: {line}") };
    let killed = Command::new("kill").args(["-s", "KILL", shepherd]).status().expect("kill starts");
    assert!(killed.success());
    let (code, _, stderr) = job.end();
    assert_eq!(code, Some(126), "{stderr}");
    assert!(stderr.contains("the shepherd was ended by signal 9"), "{stderr}");
    assert!(rest.iter().all(|pid| !lives(pid)), "{line}: {stderr}");
    assert!(!place.path().join("1.1.all.q").exists(), "TMPDIR is left");
    place.assert_nothing_left();
}
