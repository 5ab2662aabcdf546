//! Attacks on the queue: a job owner who wants a procedure to fail, hang, or be cut off, so that the queue is put into
//! error or the procedure of an administrator does half its work.
//!
//! A procedure that fails closes its queue (codes 7 to 15 other than 26 to 28 and 30), so nothing that the owner
//! chooses may decide how an administrator's procedure ends.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use oxherd_tests::{Case, JobDir, Outcome, both, ours_only, secs};

both![
    a_pipe_as_stdout_does_not_hold_up_a_root_procedure,
    a_pipe_whose_reader_goes_does_not_end_a_root_procedure,
    a_terminal_of_the_owners_does_not_hold_up_a_root_procedure,
    a_file_size_limit_does_not_cut_an_administrators_file,
    a_process_limit_does_not_bind_a_root_procedure,
    a_deletion_during_a_root_epilog_lets_it_finish,
    a_deletion_during_a_root_prolog_lets_it_finish_and_starts_nothing,
    a_working_directory_without_access_is_a_job_error,
    a_socket_as_stdout_is_a_job_error,
    the_owner_cannot_signal_a_root_procedure,
];

ours_only![
    a_deletion_during_an_epilog_of_the_owners_is_no_failure,
    variables_at_the_kernels_limit_are_a_job_error,
    a_full_device_as_stdout_is_a_job_error_for_a_procedure,
    a_program_of_root_is_not_taken_from_the_working_directory,
];

fn fifo(job: &JobDir, name: &str) -> String {
    let path = job.in_work(name);
    assert!(Command::new("mkfifo").args(["-m", "666"]).arg(&path).status().expect("mkfifo").success());
    path
}

/// The queue stays open: nothing failed, or the failure is the job's own (26 stdout, 27 shell, 28 cwd, 30 error).
#[track_caller]
fn assert_queue_stays_open(out: &Outcome) {
    let code: i32 = out.exit_status.first().and_then(|line| line.parse().ok()).unwrap_or(-1);
    assert!([0, 26, 27, 28, 30].contains(&code), "the queue is put into error: {out:#?}");
}

/// A program of the job owner's outside of the job, that ends with the test.
struct Accomplice {
    child: Child,
    input: ChildStdin,
    output: BufReader<std::process::ChildStdout>,
}

impl Accomplice {
    fn start(job: &JobDir, program: &str, text: &str) -> Self {
        let mut command = Command::new("setpriv");
        let (uid, gid) = (job.owner.uid.to_string(), job.owner.gid.to_string());
        // In a session of its own: SIGCONT needs no right within one.
        command.args(["--reuid", &uid, "--regid", &gid, "--clear-groups", "setsid", "--wait", program]);
        command.args([if program.ends_with("perl") { "-e" } else { "-c" }, text]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("start the accomplice");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, input, output }
    }

    fn says(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("read from the accomplice");
        line.trim().to_owned()
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("write to the accomplice");
    }
}

impl Drop for Accomplice {
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id()).expect("a pid");
        for process in oxherd_tests::process::tree(group) {
            let _ = oxherd_tests::spawn::kill(process.pid, libc::SIGKILL);
        }
        let _ = self.child.wait();
    }
}

fn a_pipe_as_stdout_does_not_hold_up_a_root_procedure(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", "exit 0");
    let path = fifo(&job, "pipe");
    job.set("stdout_path", &path).set("script_timeout", "1").set("prolog", &format!("root@{prolog}"));
    let mut running = job.start();
    if case.ours() {
        running.end().expect_code(26).expect_error("pipe");
    } else {
        assert_eq!(running.ends_within(secs(2)), None, "8.1.9 hangs for ever");
    }
}

fn a_pipe_whose_reader_goes_does_not_end_a_root_procedure(case: &Case) {
    let mut job = case.job();
    let go = job.in_work("go");
    let prolog =
        job.procedure("prolog", &format!("until [ -e {go} ]; do sleep 0.02; done; echo hello; exit 0"));
    let path = fifo(&job, "pipe");
    job.set("stdout_path", &path).set("prolog", &format!("root@{prolog}"));
    let mut running = job.start();
    if !case.ours() {
        drop(fs::File::open(&path).expect("the other end"));
        fs::write(&go, "").expect("written");
        let out = running.end();
        assert_eq!(out.exit_status.first().map(String::as_str), Some("8"), "8.1.9 closes the queue {out:#?}");
        return;
    }
    running.end().expect_code(26);
}

/// The owner of a terminal's other end does not read: whoever writes to it waits. (To interrupt it from there is not
/// possible: a terminal that was opened for writing alone does not become the controlling one.)
fn a_terminal_of_the_owners_does_not_hold_up_a_root_procedure(case: &Case) {
    const TERMINAL: &str = "import os,sys\nm,s=os.openpty()\nprint(os.ttyname(s),flush=True)\n\
                            sys.stdin.readline()\nos.write(m,b'\\x03\\x1c\\x1a\\x13')\nprint('typed',flush=True)\n\
                            sys.stdin.readline()\n";
    let mut job = case.job();
    let go = job.in_work("go");
    let body =
        format!("echo in >seen2; until [ -e {go} ]; do sleep 0.02; done; yes | head -c 300000; exit 0");
    let prolog = job.procedure("prolog", &body);
    let mut terminal = Accomplice::start(&job, "/usr/bin/python3", TERMINAL);
    let path = terminal.says();
    if !path.starts_with("/dev/pts/") {
        return oxherd_tests::require::skipped("no pseudo terminals here");
    }
    job.set("stdout_path", &path).set("stderr_path", &path).set("script_timeout", "2");
    job.set("prolog", &format!("root@{prolog}"));
    let mut running = job.start();
    let begun = oxherd_tests::wait::poll(secs(5), || {
        (!running.is_running() || job.read("seen2") == "in\n").then_some(())
    });
    assert!(begun.is_some(), "neither started nor refused: {}", running.trace());
    terminal.tell("interrupt");
    assert_eq!(terminal.says(), "typed");
    fs::write(&go, "").expect("written");
    if case.ours() {
        assert_queue_stays_open(&running.end());
    } else {
        assert_eq!(running.ends_within(secs(3)), None, "8.1.9 hangs for ever");
    }
}

fn a_file_size_limit_does_not_cut_an_administrators_file(case: &Case) {
    let mut job = case.job();
    let file = job.root().join("accounts");
    let prolog = job.procedure("prolog", &format!("head -c 100000 /dev/zero >{}", file.display()));
    job.set("h_fsize", "1").set("s_fsize", "1").set("prolog", &format!("root@{prolog}"));
    let out = job.run();
    let length = fs::metadata(&file).map_or(0, |metadata| metadata.len());
    if case.ours() {
        out.expect_finished(0);
        assert_eq!(length, 100_000);
    } else {
        assert_ne!(out.exit_status.first().map(String::as_str), Some("0"), "8.1.9 closes the queue {out:#?}");
        assert!(length < 100_000, "8.1.9 cuts the file");
    }
}

fn a_process_limit_does_not_bind_a_root_procedure(case: &Case) {
    let mut job = case.job();
    let body = format!("grep 'Max processes' /proc/self/limits >{}", job.in_work("limit"));
    let prolog = job.procedure("prolog", &body);
    job.set("h_maxproc", "21").set("s_maxproc", "21").set("prolog", &format!("root@{prolog}"));
    job.script("exit 0\n");
    let out = job.run();
    assert_queue_stays_open(&out);
    let bound = job.read("limit").split_whitespace().any(|word| word == "21");
    assert_eq!(bound, !case.ours(), "{}", job.read("limit"));
}

fn a_deletion_during_a_root_epilog_lets_it_finish(case: &Case) {
    let mut job = case.job();
    let go = job.in_work("go");
    let body = format!("echo in >seen2; until [ -e {go} ]; do sleep 0.02; done; echo done >finished");
    let epilog = job.procedure("epilog", &body);
    job.set("epilog", &format!("root@{epilog}"));
    let mut running = job.start();
    running.wait_line("seen2", "in");
    running.order_kill();
    running.order_kill();
    assert_eq!(running.ends_within(oxherd_tests::millis(300)), None);
    fs::write(&go, "").expect("written");
    running.end().expect_finished(0);
    assert_eq!(job.read("finished"), "done\n");
}

fn a_deletion_during_a_root_prolog_lets_it_finish_and_starts_nothing(case: &Case) {
    let mut job = case.job();
    let go = job.in_work("go");
    let body = format!(
        "trap 'echo cut >cut' TERM; echo in >seen2; until [ -e {go} ]; do sleep 0.02; done; echo done >finished"
    );
    let prolog = job.procedure("prolog", &body);
    job.script("echo ran >ran\n");
    job.set("prolog", &format!("root@{prolog}"));
    let mut running = job.start();
    running.wait_line("seen2", "in");
    running.order_kill();
    assert_eq!(running.ends_within(oxherd_tests::millis(300)), None);
    fs::write(&go, "").expect("written");
    assert_queue_stays_open(&running.end());
    assert_eq!((job.read("finished").as_str(), job.read("cut").as_str()), ("done\n", ""));
    assert_eq!(job.read("ran"), "", "the job started all the same");
}

fn a_working_directory_without_access_is_a_job_error(case: &Case) {
    let mut job = case.job();
    let closed = job.root().join("closed");
    oxherd_tests::scratch::directory(&closed, None, 0o700);
    let prolog = job.procedure("prolog", "pwd >&2; exit 0");
    job.set("cwd", closed.to_str().expect("text")).set("prolog", &format!("root@{prolog}"));
    job.run().expect_code(28);
    assert_eq!(fs::read_dir(&closed).expect("there").count(), 0);
}

fn a_socket_as_stdout_is_a_job_error(case: &Case) {
    let mut job = case.job();
    let socket = job.work().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
    let prolog = job.procedure("prolog", "exit 0");
    job.set("stdout_path", socket.to_str().expect("text")).set("prolog", &format!("root@{prolog}"));
    job.run().expect_code(26);
}

fn the_owner_cannot_signal_a_root_procedure(case: &Case) {
    const KILLER: &str = "$| = 1; while ($p = <STDIN>) { chomp $p; $n = 0; \
                          for $s (1, 2, 9, 15, 18, 19) { $n += kill $s, $p } print \"$n\\n\" }";
    let mut job = case.job();
    let go = job.in_work("go");
    let body = format!("echo $$ >pid; echo in >seen2; until [ -e {go} ]; do sleep 0.02; done; exit 0");
    let prolog = job.procedure("prolog", &body);
    job.set("prolog", &format!("root@{prolog}"));
    let mut running = job.start();
    running.wait_line("seen2", "in");
    let mut killer = Accomplice::start(&job, "/usr/bin/perl", KILLER);
    for pid in [job.read("pid").trim().to_owned(), running.pid().to_string()] {
        killer.tell(&pid);
        assert_eq!(killer.says(), "0", "signals that reached {pid}");
    }
    fs::write(&go, "").expect("written");
    running.end().expect_finished(0);
}

fn a_deletion_during_an_epilog_of_the_owners_is_no_failure(case: &Case) {
    let mut job = case.job();
    let epilog = job.procedure("epilog", "trap 'exit 3' TERM; echo in >seen2; while :; do sleep 0.05; done");
    job.set("epilog", &epilog);
    let mut running = job.start();
    running.wait_line("seen2", "in");
    // SIGQUIT: at once, without the ten seconds that SIGTSTP gives.
    running.send(libc::SIGQUIT);
    running.end().expect_finished(0);
}

/// `qsub -v SGE_O_1=… -v SGE_O_2=…`: the procedure itself can still be started, but nothing that it starts with a few
/// more arguments.
fn variables_at_the_kernels_limit_are_a_job_error(case: &Case) {
    let mut job = case.job();
    let words = "x".repeat(100_000);
    let prolog =
        job.procedure("prolog", &format!("set -e; /bin/echo {words} >/dev/null; echo done >finished"));
    for number in 0..16 {
        job.env(&format!("SGE_O_{number}"), &"x".repeat(127_000));
    }
    job.env("SGE_O_16", &"x".repeat(60_000));
    job.set("prolog", &format!("root@{prolog}"));
    job.script("exit 0\n");
    assert_queue_stays_open(&job.run());
}

fn a_full_device_as_stdout_is_a_job_error_for_a_procedure(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", "set -e; echo hello");
    job.set("stdout_path", "/dev/full").set("prolog", &format!("root@{prolog}"));
    assert_queue_stays_open(&job.run());
}

fn a_program_of_root_is_not_taken_from_the_working_directory(case: &Case) {
    for line in ["root@./evil", "root@evil", "root@$job_name"] {
        let mut job = case.job();
        let evil = format!("#!/bin/sh\nid -u >{}\n", job.in_work("pwned"));
        for name in ["evil", oxherd_tests::job_dir::JOB_NAME] {
            oxherd_tests::scratch::file(&job.work().join(name), &evil, Some(&job.owner), 0o755);
        }
        job.set("prolog", line);
        job.run();
        assert_eq!(job.read("pwned"), "", "{line} ran the owner's program");
    }
}
