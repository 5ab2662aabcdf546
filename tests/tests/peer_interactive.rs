//! Interactive jobs below a stock execd and with the stock clients: `qrsh`, `qlogin`, `qrsh -inherit`.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use oxherd_tests::require::{Need, met, skipped};
use oxherd_tests::wait::poll;
use oxherd_tests::{Cluster, Shepherd, Stopwatch, accounts, secs, wait_for, wait_until};

/// As `both!`, for bodies that get a whole cluster.
macro_rules! both_clusters {
    ($($name:ident),+ $(,)?) => {
        mod theirs {
            $(#[test]
            fn $name() {
                super::run(oxherd_tests::Shepherd::Theirs, super::$name);
            })+
        }
        mod ours {
            $(#[test]
            fn $name() {
                super::run(oxherd_tests::Shepherd::Ours, super::$name);
            })+
        }
    };
}

both_clusters![
    commands_have_pipes_and_the_jobs_world,
    commands_and_logins_have_terminals,
    commands_end_with_their_clients_and_jobs,
    tasks_of_a_parallel_job_are_jobs_of_their_own,
];

fn run(shepherd: Shepherd, body: fn(&Cluster)) {
    if !shepherd.selected() {
        return skipped("OXHERD_UNDER_TEST asks for the other program");
    }
    if met(Need::Root) && met(Need::Peer) {
        body(&interactive(shepherd));
    }
}

/// A cluster with a queue for interactive jobs.
fn interactive(shepherd: Shepherd) -> Cluster {
    let cluster = Cluster::start(shepherd);
    cluster.add_pe("tight", "NONE", "NONE");
    cluster.q("qconf", &["-rattr", "pe", "control_slaves", "TRUE", "tight"]);
    cluster.add_queue("all.q", &[("qtype", "BATCH INTERACTIVE"), ("pe_list", "tight")]);
    if shepherd == Shepherd::Theirs {
        // Without `-bg` the stock program mirrors its trace to descriptor 1, which is the command's output by then:
        // the first line makes it drop the command before that has its settings. execd says `-bg` only where no
        // `shepherd_cmd` is set.
        let path = cluster.procedure("sge_shepherd", r#"exec /usr/lib/gridengine/sge_shepherd "$@" -bg"#);
        cluster.stop_execd();
        cluster.set_configuration("shepherd_cmd", &path);
        cluster.start_execd();
    }
    cluster
}

/// What a client left.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// A shell line of the job owner.
fn line(cluster: &Cluster, line: &str) -> Command {
    let mut command = cluster.command_as(&accounts::alice(), "env");
    command.args(["TERM=xterm", "timeout", "--foreground", "120", "sh", "-c", line]);
    command
}

/// Runs a shell line with this input to its end.
#[track_caller]
fn client(cluster: &Cluster, text: &str, input: &str) -> Said {
    let mut command = line(cluster, text);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("nsenter runs");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("the client reads");
    let output = child.wait_with_output().expect("the client ends");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A shell line on a terminal, with somebody who reads and types.
struct Terminal {
    child: Child,
    output: PathBuf,
}

impl Terminal {
    fn open(cluster: &Cluster, name: &str, text: &str) -> Self {
        let output = cluster.root().join(name);
        let file = File::create(&output).expect("a file for what is seen");
        let on_terminal = format!("exec script -qec '{}' /dev/null", text.replace('\'', r"'\''"));
        let mut command = line(cluster, &on_terminal);
        let child = command.stdin(Stdio::piped()).stdout(file).spawn().expect("nsenter runs");
        Self { child, output }
    }

    fn seen(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).expect("readable")).into_owned()
    }

    #[track_caller]
    fn see(&self, text: &str) {
        let seen = || self.seen().contains(text);
        wait_until(&format!("`{text}` on the terminal {}", self.output.display()), secs(40), seen);
    }

    fn enter(&mut self, text: &str) {
        let keyboard = self.child.stdin.as_mut().expect("a pipe");
        keyboard.write_all(text.as_bytes()).expect("somebody reads");
    }

    /// Waits for the end; what was seen with plain line ends, and the exit code.
    fn close(mut self) -> (String, Option<i32>) {
        // The keyboard stays plugged in: its end would be typed as an end of file.
        let keyboard = self.child.stdin.take();
        let status = self.child.wait().expect("the client ends");
        drop(keyboard);
        (self.seen().replace('\r', ""), status.code())
    }
}

fn commands_have_pipes_and_the_jobs_world(cluster: &Cluster) {
    // Row 60.
    assert_eq!(client(cluster, "qrsh 'exit 5'", "").code, Some(5));
    assert_eq!(client(cluster, "qrsh 'kill -9 $$'", "").code, Some(137));
    let missing = client(cluster, "qrsh nosuchcommand", "");
    assert_eq!(missing.code, Some(127), "{missing:?}");
    assert!(missing.stderr.contains("not found"), "{missing:?}");
    let both = client(cluster, "qrsh 'echo out; echo err >&2'", "");
    assert_eq!((both.stdout.as_str(), both.stderr.as_str()), ("out\n", "err\n"));

    let script = "ls -l /proc/self/fd; echo world; echo $JOB_ID $SGE_CELL $JOB_NAME; pwd; umask; \
                  id -G; grep -E \"^Sig(Blk|Ign)\" /proc/self/status; echo $$ $PPID; \
                  cut -d\" \" -f4,5,6 /proc/$$/stat; cat /proc/$PPID/comm; echo $ASKED";
    let text = format!("export ASKED=for; qrsh -N sim -v ASKED '{script}'");
    let told = client(cluster, &text, "");
    assert_eq!(told.code, Some(0), "{told:?}");
    let (descriptors, world) = told.stdout.split_once("world\n").expect("both parts");
    let targets: Vec<&str> =
        descriptors.lines().filter_map(|line| line.split_once(" -> ")).map(|(_, target)| target).collect();
    assert_eq!(targets.len(), 4, "three and that of `ls`: {descriptors}");
    assert!(targets[..3].iter().all(|target| target.starts_with("pipe:")), "{descriptors}");
    let lines: Vec<&str> = world.lines().collect();
    let [names, home, umask, groups, blocked, ignored, own, stat, starter, asked] = lines[..] else {
        panic!("{told:?}")
    };
    assert!(names.ends_with(" default sim"), "{names}");
    assert_eq!((home, umask, asked), (accounts::alice().home.to_str().expect("text"), "0022", "for"));
    assert!(groups.split(' ').any(|gid| gid.starts_with("62")), "no additional group: {groups}");
    for signals in [blocked, ignored] {
        let set = signals.split_once(":\t").and_then(|(_, digits)| u64::from_str_radix(digits, 16).ok());
        // The stock program leaves 32, which glibc keeps for itself, ignored.
        assert_eq!(set.map(|set| set & 0x7fff_ffff), Some(0), "{signals}");
    }
    let (pid, parent) = own.split_once(' ').expect("two numbers");
    let stat: Vec<&str> = stat.split(' ').collect();
    assert_eq!(stat[..2], [parent, pid], "its own group: {told:?}");
    if cluster.shepherd == Shepherd::Theirs {
        assert_eq!((stat[2], starter), (parent, "qrsh_starter"), "whose session it is in");
    }
    let plain = client(cluster, "qrsh -noshell /bin/echo 'a  b' '$HOME'", "");
    assert_eq!((plain.stdout.as_str(), plain.code), ("a  b $HOME\n", Some(0)));

    // Row 61: input, perhaps before the settings, and its end.
    let echoed = client(cluster, "qrsh cat", "hello\n");
    assert_eq!((echoed.stdout.as_str(), echoed.code), ("hello\n", Some(0)));
    // More than a pipe holds, ahead of the settings, and the stock program waits for ever: it writes to a command that
    // has not been told to start, and does not read on to where that is said.
    let count = if cluster.shepherd == Shepherd::Theirs { 10_000 } else { 300_000 };
    let many: String = (0..count).map(|number| format!("{number}\n")).collect();
    let counted = client(cluster, "qrsh cksum", &many);
    let expected = client(cluster, "cksum", &many);
    assert_eq!(counted.stdout, expected.stdout);
}

fn commands_and_logins_have_terminals(cluster: &Cluster) {
    let resize = cluster.work().join("resize");
    // Row 60c, and the size of the window.
    let command =
        r#"tty; stty size; trap "stty size; exit 6" WINCH; echo ready; while :; do sleep 0.1; done"#;
    let resizer =
        format!("until [ -e {} ]; do sleep 0.1; done; stty rows 33 cols 101 </dev/tty", resize.display());
    let text = format!("stty rows 24 cols 80; ({resizer}) & exec qrsh -pty y '{command}'");
    let (seen, code) = session(cluster, "resized", &text, |terminal| {
        let _none_before = fs::remove_file(&resize);
        terminal.see("ready");
        fs::write(&resize, "").expect("write");
    });
    assert!(seen.contains("/dev/pts/") && seen.contains("24 80\nready\n33 101"), "{seen}");
    assert_eq!(code, Some(6), "{seen}");

    // A typed end of file.
    let (seen, code) = session(cluster, "typed", "qrsh -pty y 'echo ready; cat; exit 4'", |terminal| {
        terminal.see("ready");
        terminal.enter("one\n");
        terminal.see("one\r\none");
        terminal.enter("\x04");
    });
    assert_eq!(code, Some(4), "{seen}");

    // Rows 62 and 63.
    for (name, program, status) in [("qlogin", "qlogin", 3), ("login", "qrsh", 4)] {
        let text = format!("stty rows 24 cols 80; exec {program}");
        let (seen, code) = session(cluster, name, &text, |terminal| {
            terminal.see("$ ");
            terminal.enter("echo begin; tty; stty size; pwd; echo $0; env | sort; echo end''ed\n");
            terminal.see("ended");
            terminal.enter(&format!("exit {status}\n"));
        });
        assert_eq!(code, Some(status), "{seen}");
        let told = seen.split_once("\nbegin\n").expect("the answers").1;
        let lines: Vec<&str> = told.lines().take_while(|line| *line != "ended").collect();
        let [tty, size, home, shell, environment @ ..] = lines.as_slice() else { panic!("{seen}") };
        assert!(tty.starts_with("/dev/pts/"), "{seen}");
        assert_eq!((*size, *shell), ("24 80", "-sh"), "{seen}");
        assert_eq!(*home, accounts::alice().home.to_str().expect("text"));
        for variable in ["HOME=", "LOGNAME=oxalice", "PATH=", "SHELL=/bin/sh", "TERM=xterm"] {
            assert!(environment.iter().any(|line| line.starts_with(variable)), "{variable}: {environment:?}");
        }
        let job_name = if program == "qlogin" { "QLOGIN" } else { "QRLOGIN" };
        let of_session = || {
            let text = cluster.try_q("qacct", &["-j", job_name]).ok()?;
            let field = |name: &str| {
                text.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
            };
            Some((field("failed")?, field("exit_status")?))
        };
        let record = wait_for("the session's record", secs(30), of_session);
        assert_eq!(record, ("0".to_owned(), status.to_string()));
    }
}

/// A session on a terminal with somebody who acts; what was seen, and the client's exit code.
fn session(cluster: &Cluster, name: &str, text: &str, act: impl Fn(&mut Terminal)) -> (String, Option<i32>) {
    for attempt in 0..4 {
        let mut terminal = Terminal::open(cluster, &format!("{name}.{attempt}"), text);
        act(&mut terminal);
        let (seen, code) = terminal.close();
        // The client asks the qmaster for the job after the session, says this where that has forgotten it already, and
        // ends with 1. The stock shepherd loses that race now and then.
        if !seen.contains("could not be scheduled") {
            return (seen, code);
        }
    }
    panic!("{name} did not end well in any session");
}

/// A session in the background whose client and command have told their process numbers.
struct Sleeper {
    child: Child,
    client: String,
    command: String,
    job: u32,
}

impl Sleeper {
    fn start(cluster: &Cluster, name: &str) -> Self {
        let work = cluster.work();
        let file = |what: &str| work.join(format!("{name}.{what}"));
        let (client, command) = (file("client"), file("command"));
        let text = format!(
            "echo $$ >{}; exec qrsh 'echo $JOB_ID $$ >{}; exec sleep 61'",
            client.display(),
            command.display()
        );
        let child = line(cluster, &text)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nsenter runs");
        let told = |path: PathBuf| {
            wait_for("a process number", secs(40), || {
                fs::read_to_string(&path).ok()?.strip_suffix('\n').map(str::to_owned)
            })
        };
        let (client, told) = (told(client), told(command));
        let (job, command) = told.split_once(' ').expect("two numbers");
        let job = job.parse().expect("a job number");
        Self { child, client, command: command.to_owned(), job }
    }

    /// The state letter of the command, if it lives.
    fn state(&self, cluster: &Cluster) -> Option<char> {
        let status = format!("/proc/{}/status", self.command);
        let output = cluster.command("cat").arg(status).stderr(Stdio::null()).output().expect("nsenter runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let state = text.lines().find_map(|line| line.strip_prefix("State:"))?.trim().chars().next()?;
        (!matches!(state, 'Z' | 'X')).then_some(state)
    }

    fn signal_client(&self, cluster: &Cluster, signal: &str) {
        let status = cluster.command("kill").args([signal, &self.client]).status().expect("nsenter runs");
        assert!(status.success());
    }
}

fn commands_end_with_their_clients_and_jobs(cluster: &Cluster) {
    // Row 60b.
    let mut sleeper = Sleeper::start(cluster, "killed");
    sleeper.signal_client(cluster, "-KILL");
    let watch = Stopwatch::start();
    wait_until("the command to end with its client", secs(10), || sleeper.state(cluster).is_none());
    assert!(watch.elapsed() < secs(3), "took {:?}", watch.elapsed());
    let _gone = sleeper.child.wait();
    let record = cluster.wait_gone(sleeper.job);
    assert!(record["failed"].starts_with("100"), "{record:?}");
    assert!(record["exit_status"].starts_with("137"), "{record:?}");

    // PS-052: suspended and resumed, and the client stays.
    let mut sleeper = Sleeper::start(cluster, "suspended");
    let job = sleeper.job.to_string();
    // The stock shepherd can lose an order that comes right behind the start (D16); ours must not.
    let tries = if cluster.shepherd == Shepherd::Ours { 1 } else { 4 };
    let stopped = (0..tries).any(|_| {
        cluster.q("qmod", &["-sj", &job]);
        let stopped = poll(secs(8), || (sleeper.state(cluster) == Some('T')).then_some(())).is_some();
        if !stopped {
            cluster.q("qmod", &["-usj", &job]);
        }
        stopped
    });
    assert!(stopped, "the command did not stop");
    cluster.q("qmod", &["-usj", &job]);
    wait_until("the command to go on", secs(20), || sleeper.state(cluster) == Some('S'));
    // PS-053: deleted.
    cluster.q("qdel", &[&job]);
    wait_until("the command to end", secs(20), || sleeper.state(cluster).is_none());
    let status = sleeper.child.wait().expect("the client ends");
    assert_eq!(status.code(), Some(137));
    let record = cluster.wait_gone(sleeper.job);
    assert!(record["exit_status"].starts_with("137"), "{record:?}");
    assert!(!cluster.queue_states().values().any(|state| state.contains('E')));
}

fn tasks_of_a_parallel_job_are_jobs_of_their_own(cluster: &Cluster) {
    // Row 64.
    let script = "qrsh -inherit $HOSTNAME 'exit 9' </dev/null; echo first $?\n\
                  echo words | qrsh -inherit $HOSTNAME cat; echo second $?\n\
                  qrsh -inherit $HOSTNAME 'echo $JOB_ID $PE $NSLOTS; basename $(dirname $SGE_JOB_SPOOL_DIR)' </dev/null\n";
    let job = cluster.qsub_as(&accounts::alice(), &["-pe", "tight", "2"], script);
    cluster.wait_gone(job);
    let told = cluster.lines(&format!("sim.o{job}"));
    let expected = ["first 9", "words", "second 0", &format!("{job} tight 2"), &format!("{job}.1")];
    assert_eq!(told, expected, "{:?}", cluster.lines(&format!("sim.e{job}")));
    let all = || {
        let records = cluster.records(job);
        (records.len() == 4).then_some(records)
    };
    let records = wait_for("a record of each task and of the job", secs(30), all);
    let mut codes: Vec<&str> = records.iter().map(|record| record["exit_status"].as_str()).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["0", "0", "0", "9"]);
}
