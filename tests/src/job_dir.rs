//! A job directory as a stock execd prepares it, and everything around it that the job needs.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::accounts::{self, Account};
use crate::config::Config;
use crate::gid_lease::GidLease;
use crate::process;
use crate::program::Shepherd;
use crate::run::Running;
use crate::scratch::{Scratch, directory, file};

/// The name of every job, as in `sim.o4711`.
pub const JOB_NAME: &str = "sim";

/// A prepared job: change what matters, then [`JobDir::start`] it.
#[derive(Debug)]
pub struct JobDir {
    pub shepherd: Shepherd,
    pub owner: Account,
    pub admin: Account,
    pub config: Config,
    pub gid: GidLease,
    environment: Vec<(String, String)>,
    execd_environment: Vec<(String, String)>,
    scratch: Scratch,
}

impl JobDir {
    pub fn new(shepherd: Shepherd) -> Self {
        let scratch = Scratch::new();
        let (owner, admin, gid) = (accounts::alice(), accounts::admin(), GidLease::take());
        let root = scratch.path().to_owned();
        let job_id = gid.gid.to_string();
        for below in ["spool", "spool/active_jobs", "spool/job_scripts"] {
            directory(&root.join(below), Some(&admin), 0o755);
        }
        directory(&root.join(format!("spool/active_jobs/{job_id}.1")), Some(&admin), 0o755);
        directory(&root.join("work"), Some(&owner), 0o755);
        directory(&root.join("bin"), None, 0o755);
        directory(&root.join("tmp"), None, 0o1777);
        let tmpdir = root.join(format!("tmp/{job_id}.1.all.q"));
        directory(&tmpdir, Some(&owner), 0o755);
        let config = Config::from_template(&[
            ("GID", &job_id),
            ("JOB", &job_id),
            ("NAME", JOB_NAME),
            ("USER", &owner.name),
            ("HOST", &process::host_name()),
            ("WORK", text(&root.join("work"))),
            ("TMP", text(&root.join("tmp"))),
            ("TMPDIR", text(&tmpdir)),
            ("SCRIPT", text(&root.join("spool/job_scripts").join(&job_id))),
        ]);
        let mut job = Self {
            shepherd,
            owner,
            admin,
            config,
            gid,
            environment: Vec::new(),
            execd_environment: Vec::new(),
            scratch,
        };
        job.environment = job.usual_environment();
        job.execd_environment = vec![
            ("PATH".into(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()),
            ("SGE_ROOT".into(), "/var/lib/gridengine".into()),
            ("SGE_CELL".into(), "default".into()),
            ("SGE_ARCH".into(), "lx-amd64".into()),
        ];
        job.script("exit 0\n");
        job
    }

    fn usual_environment(&self) -> Vec<(String, String)> {
        let id = self.id();
        let tmpdir = self.config.get("tmpdir");
        let owner = &self.owner;
        let pairs = [
            ("PATH", format!("{tmpdir}:/usr/local/bin:/bin:/usr/bin")),
            ("REQNAME", JOB_NAME.to_owned()),
            ("HOME", owner.home.display().to_string()),
            ("SHELL", "/bin/sh".to_owned()),
            ("USER", owner.name.clone()),
            ("LOGNAME", owner.name.clone()),
            ("JOB_NAME", JOB_NAME.to_owned()),
            ("JOB_SCRIPT", self.config.get("script_file").to_owned()),
            ("REQUEST", JOB_NAME.to_owned()),
            ("HOSTNAME", process::host_name()),
            ("QUEUE", "all.q".to_owned()),
            ("JOB_ID", id.to_string()),
            ("ENVIRONMENT", "BATCH".to_owned()),
            ("ARC", "lx-amd64".to_owned()),
            ("NQUEUES", "1".to_owned()),
            ("NSLOTS", "1".to_owned()),
            ("NHOSTS", "1".to_owned()),
            ("RESTARTED", "0".to_owned()),
            ("TMPDIR", tmpdir.to_owned()),
            ("TMP", tmpdir.to_owned()),
            ("SGE_CELL", "default".to_owned()),
            ("SGE_TASK_ID", "undefined".to_owned()),
            ("SGE_ARCH", "lx-amd64".to_owned()),
            ("SGE_ROOT", "/var/lib/gridengine".to_owned()),
            ("SGE_ACCOUNT", "sge".to_owned()),
            ("SGE_JOB_SPOOL_DIR", self.path().display().to_string()),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The job number; also the additional group id.
    pub fn id(&self) -> u32 {
        self.gid.gid
    }

    /// The directory everything of this test lies in.
    pub fn root(&self) -> &Path {
        self.scratch.path()
    }

    /// The job directory.
    pub fn path(&self) -> PathBuf {
        self.root().join(format!("spool/active_jobs/{}.1", self.id()))
    }

    /// The working directory of the job, where its output lies as well.
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// A line in the environment of every process of this test.
    pub fn marker(&self) -> String {
        format!("OXHERD_TEST={}", self.root().display())
    }

    /// The text of the job script, spooled with x bits as execd does.
    pub fn script(&mut self, body: &str) -> &mut Self {
        file(Path::new(self.config.get("script_file")), body, Some(&self.admin), 0o755);
        self
    }

    /// Runs a command instead of a script (`-b y`); without the shell if `no_shell`.
    pub fn command(&mut self, path: &str, args: &[&str], no_shell: bool) -> &mut Self {
        self.set("script_file", path)
            .set("handle_as_binary", "1")
            .set("no_shell", if no_shell { "1" } else { "0" });
        self.args(args)
    }

    #[track_caller]
    pub fn set(&mut self, key: &str, value: &str) -> &mut Self {
        self.config.set(key, value);
        self
    }

    pub fn args(&mut self, args: &[&str]) -> &mut Self {
        self.config.set_args(args);
        self
    }

    /// Sets a variable of the job.
    pub fn env(&mut self, name: &str, value: &str) -> &mut Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets a variable of the shepherd itself.
    pub fn execd_env(&mut self, name: &str, value: &str) -> &mut Self {
        self.execd_environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Grants a parallel environment on this host.
    pub fn pe(&mut self, name: &str, slots: u32) -> &mut Self {
        let hostfile = self.path().join("pe_hostfile");
        let work = self.work();
        self.config.set_pe(name, slots, text(&hostfile), text(&work));
        self.env("NSLOTS", &slots.to_string()).env("PE", name).env("PE_HOSTFILE", text(&hostfile))
    }

    /// Writes an executable `#!/bin/sh` file and gives its path.
    pub fn procedure(&self, name: &str, body: &str) -> String {
        let path = self.root().join("bin").join(name);
        file(&path, &format!("#!/bin/sh\n{body}\n"), None, 0o755);
        text(&path).to_owned()
    }

    /// A path in the working directory.
    pub fn in_work(&self, name: &str) -> String {
        text(&self.work().join(name)).to_owned()
    }

    /// What a file in the working directory holds; empty if there is none.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap_or_default()
    }

    /// The lines of a file in the working directory.
    pub fn lines(&self, name: &str) -> Vec<String> {
        self.read(name).lines().map(str::to_owned).collect()
    }

    /// What the job wrote to stdout, with the default paths.
    pub fn stdout(&self) -> String {
        self.read(&format!("{JOB_NAME}.o{}", self.id()))
    }

    /// What the job wrote to stderr, with the default paths.
    pub fn stderr(&self) -> String {
        self.read(&format!("{JOB_NAME}.e{}", self.id()))
    }

    /// Writes `pe_hostfile`, `environment` and `config` as execd does and starts the shepherd.
    #[track_caller]
    pub fn start(&self) -> Running<'_> {
        let slots = self.config.get("host_slots");
        let host = process::host_name();
        let admin = Some(&self.admin);
        file(
            &self.path().join("pe_hostfile"),
            &format!("{host} {slots} all.q@{host} UNDEFINED\n"),
            admin,
            0o644,
        );
        file(&self.path().join("environment"), &self.environment_text(), admin, 0o644);
        file(&self.path().join("config"), &self.config.text(), admin, 0o644);
        Running::start(self, &self.execd_environment)
    }

    /// Starts the job and waits until it wrote `ready` to the file `seen`.
    #[track_caller]
    pub fn start_ready(&self) -> Running<'_> {
        let running = self.start();
        running.wait_line("seen", "ready");
        running
    }

    /// Starts the job and waits for its end.
    #[track_caller]
    pub fn run(&self) -> crate::Outcome {
        self.start().end()
    }

    fn environment_text(&self) -> String {
        let mut out = String::new();
        let (marker, place) =
            self.marker().split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("a `=`");
        for (name, value) in self.environment.iter().chain([&(marker, place)]) {
            let escaped = value.replace('\\', "\\\\").replace('\n', "\\n");
            writeln!(out, "{name}={escaped}").expect("writing to a string");
        }
        out
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are plain text")
}
