//! Job directories as a stock execd leaves them, and the programs that are started in them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::spawn::{self, Identity, Launch};
use crate::workspace::{account, answers, output};

/// The account the jobs run under; made when it is missing.
pub(super) const JOB_USER: &str = "oxalice";
const ADMIN_USER: &str = "sgeadmin";
/// Additional group ids of the benches: none of Debian's default range, none of our own default.
pub(super) const FIRST_GID: u32 = 51_000;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    Stock,
    Ours,
    /// Ours, told the owner's numbers as our own execd tells them: no look-up is left.
    Keyed,
    Floor,
}

/// Everything that is measured.
pub(super) const KINDS: [Kind; 4] = [Kind::Stock, Kind::Ours, Kind::Keyed, Kind::Floor];
/// The columns of a table, and those of the rows about ours without a look-up.
pub(super) const COLUMNS: [Kind; 3] = [Kind::Stock, Kind::Ours, Kind::Floor];
pub(super) const KEYED_COLUMNS: [Kind; 3] = [Kind::Stock, Kind::Keyed, Kind::Floor];

/// One line of `config`: key and value.
pub(super) type Line = (&'static str, String);

pub(super) struct Setup {
    base: PathBuf,
    stock: Option<PathBuf>,
    ours: Option<PathBuf>,
    floor: PathBuf,
    user: (u32, u32),
    /// All groups of the job's owner, blank separated.
    groups: String,
    admin: (u32, u32),
    admin_name: &'static str,
    host: String,
    environment: Vec<String>,
}

/// One job directory, removed with what it holds when it goes out of scope.
pub(super) struct JobDir(pub(super) PathBuf);

impl Drop for JobDir {
    fn drop(&mut self) {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let _ = fs::remove_file(entry.path());
        }
        let _ = fs::remove_dir(&self.0);
    }
}

impl Setup {
    /// `base` exists and is ours alone.
    pub(super) fn new(base: PathBuf, floor: &Path, stock: &Path, ours: &Path) -> Result<Self> {
        if account(JOB_USER).is_none() {
            let mut useradd = Command::new("useradd");
            if !answers(useradd.args(["--no-create-home", "--shell", "/bin/sh", JOB_USER])) {
                bail!("the account `{JOB_USER}` does not exist and `useradd` cannot make it");
            }
        }
        let user = account(JOB_USER).with_context(|| format!("the account `{JOB_USER}` does not exist"))?;
        let (admin, admin_name) = match account(ADMIN_USER) {
            Some(ids) => (ids, ADMIN_USER),
            None => ((0, 0), "none"),
        };
        let groups = output(Command::new("id").args(["-G", JOB_USER]))?.trim().to_owned();
        fs::set_permissions(&base, fs::Permissions::from_mode(0o755))?;
        let tmpdir = base.join("tmp");
        fs::create_dir(&tmpdir)?;
        chown(&tmpdir, Some(user.0), Some(user.1))?;
        let host = fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_owned();
        let existing = |path: &Path| path.exists().then(|| path.to_path_buf());
        Ok(Self {
            base,
            stock: existing(stock),
            ours: existing(ours),
            floor: floor.to_path_buf(),
            user,
            groups,
            admin,
            admin_name,
            host,
            environment: [
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "SGE_ROOT=/var/lib/gridengine",
                "SGE_CELL=default",
                "SGE_ARCH=lx-amd64",
            ]
            .map(str::to_owned)
            .to_vec(),
        })
    }

    pub(super) fn program(&self, kind: Kind) -> Option<&Path> {
        match kind {
            Kind::Stock => self.stock.as_deref(),
            Kind::Ours | Kind::Keyed => self.ours.as_deref(),
            Kind::Floor => Some(&self.floor),
        }
    }

    pub(super) fn floor(&self) -> &Path {
        &self.floor
    }

    /// What the floor is told by the environment when it is started by sge_execd, which passes no arguments.
    pub(super) fn floor_job(&self) -> String {
        format!("{} {} 0 /bin/true", self.user.0, self.user.1)
    }

    pub(super) fn admin(&self) -> (u32, u32) {
        self.admin
    }

    pub(super) fn environment(&self) -> &[String] {
        &self.environment
    }

    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    pub(super) fn user(&self) -> (u32, u32) {
        self.user
    }

    /// What our own execd would write besides, for this kind.
    pub(super) fn lines(&self, kind: Kind) -> Vec<Line> {
        if kind == Kind::Keyed { self.owner_lines() } else { Vec::new() }
    }

    /// The keys that spare the look-up of the owner.
    pub(super) fn owner_lines(&self) -> Vec<Line> {
        vec![
            ("ox_uid", self.user.0.to_string()),
            ("ox_gid", self.user.1.to_string()),
            ("ox_groups", self.groups.clone()),
        ]
    }

    /// A fresh directory for job `id`, which runs `command`. `lines` replace those of the same key in `config`, or
    /// come after them.
    pub(super) fn job_dir(&self, id: u32, command: &[&str], lines: &[Line]) -> Result<JobDir> {
        let directory = JobDir(self.base.join(format!("{id}.1")));
        fs::create_dir(&directory.0)
            .with_context(|| format!("cannot make the job directory `{}`", directory.0.display()))?;
        let files = [
            ("pe_hostfile", format!("{0} 1 all.q@{0} UNDEFINED\n", self.host)),
            ("environment", self.job_environment(id)),
            ("config", with_lines(self.job_config(id, command), lines)),
        ];
        for (name, text) in files {
            let path = directory.0.join(name);
            fs::write(&path, text)?;
            chown(&path, Some(self.admin.0), Some(self.admin.1))?;
        }
        chown(&directory.0, Some(self.admin.0), Some(self.admin.1))?;
        Ok(directory)
    }

    /// Starts one supervisor in a job directory and returns its pid.
    pub(super) fn start(
        &self,
        kind: Kind,
        id: u32,
        directory: &Path,
        command: &[&str],
        descriptors: u64,
    ) -> Result<i32> {
        let program = self.program(kind).context("this program is not here")?;
        let name = format!("sge_shepherd-{id}");
        let ids = [self.user.0, self.user.1, FIRST_GID + id].map(|number| number.to_string());
        let mut argv = vec![name.as_str()];
        if kind == Kind::Floor {
            argv.push("run");
            argv.extend(ids.iter().map(String::as_str));
            argv.extend(command);
        }
        let environment: Vec<&str> = self.environment.iter().map(String::as_str).collect();
        let launch = Launch {
            program,
            argv: &argv,
            directory,
            environment: &environment,
            identity: Identity::Admin { uid: self.admin.0, gid: self.admin.1 },
            descriptors: Some(descriptors),
        };
        spawn::spawn(&launch).with_context(|| format!("cannot start `{}`", program.display()))
    }

    fn job_environment(&self, id: u32) -> String {
        format!(
            "PATH={tmp}:/usr/local/bin:/bin:/usr/bin\nHOME=/\nSHELL=/bin/sh\nUSER={JOB_USER}\nLOGNAME={JOB_USER}\n\
             JOB_NAME=bench\nJOB_ID={id}\nQUEUE=all.q\nENVIRONMENT=BATCH\nNSLOTS=1\nTMPDIR={tmp}\n\
             SGE_TASK_ID=undefined\nSGE_ROOT=/var/lib/gridengine\nSGE_CELL=default\n",
            tmp = self.base.join("tmp").display(),
        )
    }

    /// What a stock execd 8.1.9 writes for `qsub -b y -shell n -o /dev/null -j y COMMAND`, in its order.
    fn job_config(&self, id: u32, command: &[&str]) -> String {
        let tmp = self.base.join("tmp").display().to_string();
        let mut lines = vec![format!("add_grp_id={}", FIRST_GID + id)];
        for stream in ["stdin", "stdout", "stderr"] {
            lines.push(format!("fs_{stream}_host=\"\""));
            lines.push(format!("fs_{stream}_path="));
            lines.push(format!("fs_{stream}_tmp_path={tmp}/"));
            lines.push(format!("fs_{stream}_file_staging=0"));
        }
        let streams = "stdout_path=/dev/null stderr_path=/dev/null stdin_path=/dev/null merge_stderr=1";
        lines.extend(streams.split(' ').map(str::to_owned));
        lines.push(format!("tmpdir={tmp}"));
        lines.extend(["handle_as_binary=1", "no_shell=1", "ckpt_job=0"].map(str::to_owned));
        for limit in ["vmem", "cpu", "stack", "data"] {
            for which in ["h", "s"] {
                lines.push(format!("{which}_{limit}=INFINITY"));
                lines.push(format!("{which}_{limit}_is_consumable_job=0"));
            }
        }
        for limit in ["core", "rss", "fsize"] {
            lines.extend(["h", "s"].map(|which| format!("{which}_{limit}=INFINITY")));
        }
        for limit in ["descriptors", "maxproc", "memorylocked", "locks"] {
            lines.extend(["s", "h"].map(|which| format!("{which}_{limit}=UNDEFINED")));
        }
        let (script, arguments) = command.split_first().unwrap_or((&"/bin/true", &[]));
        lines.push(format!(
            "priority=0\nshell_path=/bin/sh\nscript_file={script}\njob_owner={JOB_USER}\nmin_gid=0\nmin_uid=0\n\
             cwd=/\nprolog=none\nepilog=none\nstarter_method=NONE\nsuspend_method=NONE\nresume_method=NONE\n\
             terminate_method=NONE\nscript_timeout=120\npe=none\npe_slots=1\nhost_slots=1\n\
             shell_start_mode=unix_behavior\nuse_login_shell=1\nmail_list=root@{host}\nmail_options=0\n\
             forbid_reschedule=0\nforbid_apperror=0\nqueue=all.q\nhost={host}\nprocessors=UNDEFINED\n\
             binding=NULL\njob_name=bench\njob_id={id}\nja_task_id=0\naccount=sge\n\
             submission_time=1700000000\nnotify=0\nacct_project=none\nnjob_args={count}",
            host = self.host,
            count = arguments.len(),
        ));
        for (number, argument) in arguments.iter().enumerate() {
            lines.push(format!("job_arg{}={argument}", number + 1));
        }
        lines.push(format!(
            "queue_tmpdir={tmp}\nuse_afs=0\nadmin_user={admin}\nnotify_kill_type=1\nnotify_kill=default\n\
             notify_susp_type=1\nnotify_susp=default\nqsub_gid=no\npty=0\nwrite_osjob_id=1\ninherit_env=1\n\
             enable_windomacc=0\nenable_addgrp_kill=1\ncsp=0\n\
             ignore_fqdn=0\ndefault_domain=none\n",
            admin = self.admin_name,
        ));
        lines.join("\n")
    }
}

fn with_lines(config: String, lines: &[Line]) -> String {
    let (mut text, mut used) = (String::new(), vec![false; lines.len()]);
    for line in config.lines() {
        let key = line.split_once('=').map_or(line, |(key, _)| key);
        match lines.iter().position(|(other, _)| *other == key) {
            Some(index) => {
                used[index] = true;
                text.push_str(&format!("{key}={}\n", lines[index].1));
            }
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    for ((key, value), _) in lines.iter().zip(&used).filter(|(_, used)| !**used) {
        text.push_str(&format!("{key}={value}\n"));
    }
    text
}

/// Whether the supervisor left what a successful job leaves. A program that does nothing is quick, too.
pub(super) fn succeeded(directory: &Path) -> bool {
    let first_line = |name: &str| {
        fs::read_to_string(directory.join(name)).map(|text| text.lines().next().unwrap_or("").to_owned())
    };
    first_line("exit_status").is_ok_and(|line| line == "0")
        && fs::read_to_string(directory.join("usage"))
            .is_ok_and(|text| text.lines().any(|line| line == "exit_status=0"))
}
