//! A private one-host Grid Engine: stock qmaster and stock execd of the packages, in namespaces of their own.
//!
//! Network, host name, mounts and process numbers are the cluster's own, so nothing of it is seen outside and nothing
//! outlives it: its first process reads from a pipe of the test and ends when that closes, even if the test is killed.

mod client;
mod objects;
mod remains;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::accounts::{self, Account};
use crate::program::Shepherd;
use crate::scratch::{Scratch, directory, file};
use crate::wait::{secs, wait_for, wait_until};

pub use client::Record;
pub use remains::all_groups;

/// The name of the cluster's only host.
pub const HOST: &str = "oxnode";
const BIN: &str = "/usr/lib/gridengine";
const ROOT: &str = "/var/lib/gridengine";
const GID_RANGE: &str = "62000-62499";

/// A running cluster, gone on drop.
#[derive(Debug)]
pub struct Cluster {
    pub shepherd: Shepherd,
    init: i32,
    holder: Child,
    // Closing it ends the first process of the cluster.
    lifeline: Option<ChildStdin>,
    admin: Account,
    scratch: Scratch,
}

impl Cluster {
    /// Builds the cluster, starts it and waits until its host is ready for jobs.
    #[track_caller]
    pub fn start(shepherd: Shepherd) -> Self {
        accounts::alice();
        let admin = accounts::admin();
        let scratch = Scratch::new();
        let root = scratch.path();
        for dir in ["cell", "cell/common", "spool", "spool/qmaster", "spool/spooldb", "spool/execd"] {
            directory(&root.join(dir), Some(&admin), 0o755);
        }
        directory(&root.join("jobtmp"), None, 0o1777);
        directory(&root.join("bin"), None, 0o755);
        directory(&root.join("work"), Some(&accounts::alice()), 0o755);
        let bootstrap =
            fs::read_to_string("/usr/share/gridengine/default-bootstrap").expect("the package's bootstrap");
        file(&root.join("cell/common/bootstrap"), &bootstrap, Some(&admin), 0o644);
        file(&root.join("cell/common/act_qmaster"), &format!("{HOST}\n"), Some(&admin), 0o644);
        file(&root.join("hosts"), &format!("127.0.0.1 {HOST} localhost\n"), None, 0o644);
        let (holder, lifeline, init) = namespaces(root);
        let cluster = Self { shepherd, init, holder, lifeline: Some(lifeline), admin, scratch };
        cluster.populate();
        cluster.start_qmaster();
        cluster.admit_host();
        cluster.start_execd();
        cluster
    }

    /// The directory all files of the cluster lie in, the same path inside and outside.
    pub fn root(&self) -> &Path {
        self.scratch.path()
    }

    /// The working directory of jobs.
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// The directory of a running job.
    pub fn job_dir(&self, job: u32, task: u32) -> PathBuf {
        self.root().join(format!("spool/execd/{HOST}/active_jobs/{job}.{task}"))
    }

    /// A command inside the cluster, as root.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.init.to_string(), "--net", "--uts", "--mount", "--pid", "--"]);
        command
            .arg("env")
            .args(["-i", "-C", "/"])
            .args(environment("/root"))
            .arg(program)
            .stdin(Stdio::null());
        command
    }

    /// A command inside the cluster, as a user in the directory jobs work in.
    pub fn command_as(&self, user: &Account, program: &str) -> Command {
        let mut command = self.command("setpriv");
        command.args(["--reuid", &user.name, "--regid", &user.gid.to_string(), "--init-groups", "env", "-C"]);
        command.arg(self.work()).args(environment(&user.home.to_string_lossy()));
        command.args([format!("USER={}", user.name), format!("LOGNAME={}", user.name)]).arg(program);
        command
    }

    fn populate(&self) {
        let spooldb = "/var/spool/gridengine/spooldb";
        self.admin_tool("spoolinit", &["berkeleydb", "libspoolb", spooldb, "init"]);
        let text = fs::read_to_string("/usr/share/gridengine/default-configuration")
            .expect("the package's configuration");
        let shepherd = self.shepherd_copy();
        let settings = [
            ("execd_spool_dir", "/var/spool/gridengine/execd"),
            ("gid_range", GID_RANGE),
            ("shepherd_cmd", shepherd.to_str().expect("text")),
            ("min_uid", "0"),
            ("min_gid", "0"),
            ("load_report_time", "00:00:05"),
            (
                "reporting_params",
                "accounting=true reporting=false flush_time=00:00:01 joblog=false sharelog=00:00:00",
            ),
        ];
        let text = settings.iter().fold(text, |text, (key, value)| objects::with_line(&text, key, value));
        let path = self.root().join("configuration");
        file(&path, &text, None, 0o644);
        let resources = format!("{ROOT}/util/resources");
        self.admin_tool("spooldefaults", &["configuration", &path.to_string_lossy()]);
        self.admin_tool("spooldefaults", &["complexes", &format!("{resources}/centry")]);
        self.admin_tool("spooldefaults", &["usersets", &format!("{resources}/usersets")]);
        self.admin_tool("spooldefaults", &["managers", "root", &self.admin.name]);
        self.admin_tool("spooldefaults", &["operators", "root", &self.admin.name]);
    }

    /// The stock binary itself, not its wrapper; ours as a copy, since the build may replace it meanwhile.
    fn shepherd_copy(&self) -> PathBuf {
        let program = self.shepherd.path();
        if self.shepherd == Shepherd::Theirs {
            return program;
        }
        let copy = self.root().join("bin/oxherd-shepherd");
        fs::copy(&program, &copy).expect("copy our shepherd");
        copy
    }

    #[track_caller]
    fn admin_tool(&self, tool: &str, args: &[&str]) {
        let mut command = self.command_as(&self.admin, &format!("{BIN}/{tool}"));
        let output = command.args(args).output().expect("nsenter runs");
        assert!(output.status.success(), "{tool} {args:?}: {output:?}");
    }

    #[track_caller]
    fn start_qmaster(&self) {
        self.daemon("sge_qmaster");
        wait_until("the qmaster to answer", secs(30), || self.try_q("qconf", &["-sh"]).is_ok());
    }

    #[track_caller]
    fn admit_host(&self) {
        self.q("qconf", &["-ah", HOST]);
        self.q("qconf", &["-as", HOST]);
        let scheduler = self.q("qconf", &["-ssconf"]);
        let settings = [
            ("schedule_interval", "0:0:1"),
            ("flush_submit_sec", "1"),
            ("flush_finish_sec", "1"),
            ("job_load_adjustments", "none"),
            ("schedd_job_info", "false"),
        ];
        let text =
            settings.iter().fold(scheduler, |text, (key, value)| objects::with_line(&text, key, value));
        self.q_file("qconf", "-Msconf", "scheduler", &text);
    }

    /// Starts execd and waits until it has reported a load.
    #[track_caller]
    pub fn start_execd(&self) {
        self.daemon("sge_execd");
        let ready = || {
            let hosts = self.try_q("qhost", &[]).ok()?;
            let line = hosts.lines().find(|line| line.starts_with(HOST))?.to_owned();
            // After the name: architecture, processors, …, load.
            let words: Vec<&str> = line.split_whitespace().collect();
            (words.len() > 6 && words[1] != "-" && words[6] != "-").then_some(())
        };
        wait_for("the execution host to report its load", secs(40), ready);
    }

    /// Ends execd, leaving its jobs alone.
    #[track_caller]
    pub fn stop_execd(&self) {
        let pidfile = self.root().join(format!("spool/execd/{HOST}/execd.pid"));
        let pid = fs::read_to_string(&pidfile).expect("execd's pid file").trim().to_owned();
        // The number is one of the cluster's pid namespace.
        let status = self.command("kill").args(["-TERM", &pid]).status().expect("nsenter runs");
        assert!(status.success(), "kill execd");
        let gone = || {
            !self.command("kill").args(["-0", &pid]).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
        };
        wait_until("execd to end", secs(20), gone);
    }

    #[track_caller]
    fn daemon(&self, name: &str) {
        let mut command = self.command(&format!("{BIN}/{name}"));
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("nsenter runs");
        assert!(status.success(), "{name} starts: {status}");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        let _ = self.holder.wait();
    }
}

fn environment(home: &str) -> [String; 6] {
    [
        format!("SGE_ROOT={ROOT}"),
        "SGE_CELL=default".to_owned(),
        "SGE_ARCH=lx-amd64".to_owned(),
        format!("PATH={BIN}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
        format!("HOME={home}"),
        "SHELL=/bin/sh".to_owned(),
    ]
}

/// Makes the namespaces; gives the process that holds them, its lifeline, and the first process inside.
fn namespaces(root: &Path) -> (Child, ChildStdin, i32) {
    let (cell, spool, root) = (format!("{ROOT}/default"), "/var/spool/gridengine", root.display());
    // The first process ignores SIGCHLD, so that the kernel reaps what the daemons leave, and ends with its stdin.
    let script = format!(
        "hostname {HOST} && ip link set lo up && mount --bind {root}/hosts /etc/hosts && \
         mount --bind {root}/cell {cell} && mount --bind {root}/spool {spool} && : >{root}/up && \
         exec env --ignore-signal=CHLD cat"
    );
    for mountpoint in [cell.as_str(), spool] {
        fs::create_dir_all(mountpoint).expect("a place to mount on");
    }
    let mut command = Command::new("unshare");
    command.args(["--net", "--uts", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", &script]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut holder = command.spawn().expect("unshare runs");
    let lifeline = holder.stdin.take().expect("its stdin is a pipe");
    let pid = holder.id();
    let init = wait_for("the first process of the cluster", secs(20), || {
        Path::new(&format!("{root}/up")).exists().then_some(())?;
        fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
            .ok()?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    });
    (holder, lifeline, init)
}
