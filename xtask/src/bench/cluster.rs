//! T4: the supervisor below the packaged sge_execd, in a private one-host Grid Engine.
//!
//! The whole cluster lives in namespaces of this process (network, host name, mounts, processes) and ends
//! with it. Every candidate gets a freshly started execd, because a change of `shepherd_cmd` reaches a running one
//! only with its next load report.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::patience::wait_until;
use super::setup::{JOB_USER, Setup};
use crate::workspace::output;

const NODE: &str = "oxbench";
const PROGRAMS: &str = "/usr/lib/gridengine";
const SGE_ROOT: &str = "/var/lib/gridengine";
const SPOOL: &str = "/var/spool/gridengine";
/// Jobs that run at the same time.
const SLOTS: u32 = 20;
/// Kernel clock ticks in /proc/PID/stat are of this length on every Linux of ours.
const TICK_MS: f64 = 10.0;

pub(super) struct Cluster<'a> {
    setup: &'a Setup,
    execd: Option<i32>,
}

/// CPU in ms per job.
#[derive(Clone, Copy)]
pub(super) struct PerJob {
    /// What execd started and reaped: supervisor, job, wrapper.
    pub(super) children: f64,
    pub(super) execd: f64,
}

impl<'a> Cluster<'a> {
    /// Builds the cluster and starts the qmaster. Must run inside the new namespaces.
    pub(super) fn new(setup: &'a Setup) -> Result<Self> {
        let cluster = Self { setup, execd: None };
        let base = setup.base();
        run(Command::new("hostname").arg(NODE))?;
        run(Command::new("ip").args(["link", "set", "lo", "up"]))?;
        fs::write(base.join("hosts"), format!("127.0.0.1 {NODE} localhost\n"))?;
        bind(&base.join("hosts"), Path::new("/etc/hosts"))?;
        let common = base.join("cell/common");
        fs::create_dir_all(&common)?;
        fs::copy("/usr/share/gridengine/default-bootstrap", common.join("bootstrap"))?;
        fs::write(common.join("act_qmaster"), format!("{NODE}\n"))?;
        for name in ["spool/qmaster", "spool/spooldb", "spool/execd"] {
            fs::create_dir_all(base.join(name))?;
        }
        let (uid, gid) = setup.admin();
        // The qmaster writes its own name into the file it found.
        let cell = ["cell", "cell/common", "cell/common/act_qmaster", "cell/common/bootstrap"];
        for name in cell.into_iter().chain(["spool", "spool/qmaster", "spool/spooldb", "spool/execd"]) {
            chown(base.join(name), Some(uid), Some(gid))?;
        }
        fs::create_dir_all(Path::new(SGE_ROOT).join("default"))?;
        bind(&base.join("cell"), &Path::new(SGE_ROOT).join("default"))?;
        bind(&base.join("spool"), Path::new(SPOOL))?;

        let database = format!("{SPOOL}/spooldb");
        run(cluster.as_admin("spoolinit").args(["berkeleydb", "libspoolb", &database, "init"]))?;
        let configuration = cluster.configuration("none")?;
        for arguments in [
            &["configuration", &configuration.to_string_lossy()][..],
            &["complexes", "centry"],
            &["usersets", "usersets"],
            &["managers", "root", "sgeadmin"],
            &["operators", "root", "sgeadmin"],
        ] {
            let resources = Path::new(SGE_ROOT).join("util/resources");
            run(cluster.as_admin("spooldefaults").args(arguments).current_dir(resources))?;
        }
        run(&mut cluster.sge("sge_qmaster"))?;
        wait_until("the qmaster answers", Duration::from_secs(30), || {
            Ok(cluster.answer("qconf", &["-sh"]).is_ok())
        })
        .with_context(|| messages(&base.join("spool/qmaster/messages")))?;
        cluster.answer("qconf", &["-ah", NODE])?;
        cluster.answer("qconf", &["-as", NODE])?;
        cluster.scheduler()?;
        fs::write(base.join("queue"), queue(base))?;
        cluster.answer("qconf", &["-Aq", &base.join("queue").to_string_lossy()])?;
        Ok(cluster)
    }

    /// Runs `jobs` times /bin/true with this `shepherd_cmd`. An error when not all of them succeeded.
    pub(super) fn measure(&mut self, shepherd: &str, jobs: u32) -> Result<PerJob> {
        self.stop_execd()?;
        // What a failed candidate left: jobs in the queue, a queue in error.
        let _ = self.answer("qdel", &["-f", "-u", "*"]);
        let _ = self.answer("qmod", &["-cq", "*"]);
        let configuration = self.configuration(shepherd)?;
        self.answer("qconf", &["-Mconf", &configuration.to_string_lossy()])?;
        self.start_execd()?;
        // The first job pays for what execd and the host do once.
        self.run_jobs(1)?;
        let before = self.cpu()?;
        self.run_jobs(jobs)?;
        let after = self.cpu()?;
        let per_job = |index: usize| (after[index] - before[index]) * TICK_MS / f64::from(jobs);
        Ok(PerJob { execd: per_job(0), children: per_job(1) })
    }

    fn run_jobs(&self, jobs: u32) -> Result<()> {
        let before = self.accounted()?.len();
        let tasks = format!("1-{jobs}");
        let mut submit = Command::new("setpriv");
        let user = crate::workspace::account(JOB_USER).context("the job user is gone")?;
        submit.args(["--reuid", JOB_USER, "--regid", &user.1.to_string(), "--init-groups", "--"]);
        submit.arg(format!("{PROGRAMS}/qsub")).args(["-terse", "-b", "y", "-shell", "n", "-wd", "/"]);
        submit.args(["-o", "/dev/null", "-j", "y", "-t", &tasks, "/bin/true"]);
        self.environment(&mut submit);
        output(&mut submit)?;
        wait_until("all jobs are accounted", Duration::from_secs(60 + u64::from(jobs) / 2), || {
            Ok(self.accounted()?.len() >= before + jobs as usize)
        })?;
        let failed = self.accounted()?.iter().skip(before).filter(|failed| *failed != "0").count();
        ensure!(failed == 0, "{failed} of {jobs} jobs failed");
        // Reaped, so that its CPU time is counted.
        let execd = self.execd.context("no execd")?;
        wait_until("execd has reaped its children", Duration::from_secs(30), || {
            Ok(fs::read_to_string(format!("/proc/{execd}/task/{execd}/children"))?.trim().is_empty())
        })
    }

    /// The field `failed` of every accounting record.
    fn accounted(&self) -> Result<Vec<String>> {
        let path = self.setup.base().join("cell/common/accounting");
        let text = if path.exists() { fs::read_to_string(&path)? } else { String::new() };
        let records = text.lines().filter(|line| !line.starts_with('#'));
        Ok(records.map(|line| line.split(':').nth(11).unwrap_or("").to_owned()).collect())
    }

    /// Ticks of execd itself and of its reaped children.
    fn cpu(&self) -> Result<[f64; 2]> {
        let execd = self.execd.context("no execd")?;
        let stat = fs::read_to_string(format!("/proc/{execd}/stat"))?;
        let (_, fields) = stat.rsplit_once(')').context("an unknown format of /proc/PID/stat")?;
        let field = |number: usize| -> f64 {
            // Numbered as in proc(5); the state, field 3, is the first after the name.
            fields.split_whitespace().nth(number - 3).and_then(|word| word.parse().ok()).unwrap_or(0.0)
        };
        Ok([field(14) + field(15), field(16) + field(17)])
    }

    fn start_execd(&mut self) -> Result<()> {
        run(&mut self.sge("sge_execd"))?;
        let path = Path::new(SPOOL).join("execd").join(NODE).join("execd.pid");
        let mut found = None;
        wait_until("execd runs", Duration::from_secs(30), || {
            let pid: Option<i32> = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
            // The file of the previous one may still be there.
            found = pid.filter(|pid| {
                fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sge_execd\n")
            });
            Ok(found.is_some())
        })?;
        self.execd = found;
        Ok(())
    }

    fn stop_execd(&mut self) -> Result<()> {
        let Some(execd) = self.execd.take() else { return Ok(()) };
        crate::spawn::kill(execd, libc::SIGTERM);
        wait_until("execd has gone", Duration::from_secs(60), || {
            let state = fs::read_to_string(format!("/proc/{execd}/stat")).unwrap_or_default();
            Ok(state.is_empty() || state.contains(") Z "))
        })?;
        // A daemon's parent is the first process of the namespace: us. The next execd must not find its pid.
        let _ = crate::spawn::wait(execd);
        Ok(())
    }

    /// The packages' global configuration with what a bench needs, in the file `qconf -Mconf` wants.
    fn configuration(&self, shepherd: &str) -> Result<PathBuf> {
        let mut text = String::new();
        for line in fs::read_to_string("/usr/share/gridengine/default-configuration")?.lines() {
            let key = line.split_whitespace().next().unwrap_or("");
            let value = match key {
                "shepherd_cmd" => shepherd,
                "gid_range" => "51000-51999",
                "min_uid" | "min_gid" => "0",
                "load_report_time" => "00:00:05",
                "mailer" => "/bin/true",
                "reporting_params" => {
                    "accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:00 \
                     joblog=false sharelog=00:00:00"
                }
                _ => {
                    let _ = writeln!(text, "{line}");
                    continue;
                }
            };
            let _ = writeln!(text, "{key} {value}");
        }
        let path = self.setup.base().join("global");
        fs::write(&path, text)?;
        Ok(path)
    }

    fn scheduler(&self) -> Result<()> {
        let mut text = String::new();
        for line in self.answer("qconf", &["-ssconf"])?.lines() {
            let key = line.split_whitespace().next().unwrap_or("");
            let value = match key {
                "schedule_interval" => "0:0:1",
                "flush_submit_sec" | "flush_finish_sec" => "1",
                "job_load_adjustments" => "none",
                "schedd_job_info" => "false",
                _ => {
                    let _ = writeln!(text, "{line}");
                    continue;
                }
            };
            let _ = writeln!(text, "{key} {value}");
        }
        let path = self.setup.base().join("scheduler");
        fs::write(&path, text)?;
        self.answer("qconf", &["-Msconf", &path.to_string_lossy()]).map(drop)
    }

    fn environment(&self, command: &mut Command) {
        command.env_clear();
        command.envs(self.setup.environment().iter().filter_map(|pair| pair.split_once('=')));
        command.envs([("SGE_QMASTER_PORT", "6444"), ("SGE_EXECD_PORT", "6445")]);
        // What the floor cannot find out by itself when execd starts it.
        command.env("OXHERD_FLOOR_JOB", self.setup.floor_job());
        command.current_dir("/").stdin(Stdio::null());
    }

    fn sge(&self, program: &str) -> Command {
        let mut command = Command::new(format!("{PROGRAMS}/{program}"));
        self.environment(&mut command);
        command
    }

    fn as_admin(&self, program: &str) -> Command {
        let (uid, gid) = self.setup.admin();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string(), "--init-groups", "--"]);
        command.arg(format!("{PROGRAMS}/{program}"));
        self.environment(&mut command);
        command
    }

    fn answer(&self, program: &str, arguments: &[&str]) -> Result<String> {
        output(self.sge(program).args(arguments))
    }
}

/// Runs a command for its effect; what it says is shown only when it failed.
fn run(command: &mut Command) -> Result<()> {
    let name = format!("{command:?}");
    // To files' end rather than a pipe's: a daemon that stays keeps its streams open.
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {name}"))?;
    ensure!(status.success(), "{name} failed ({status})");
    Ok(())
}

/// The end of a daemon's log, for an error.
fn messages(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_else(|error| format!("no log: {error}"));
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}

fn bind(from: &Path, to: &Path) -> Result<()> {
    run(Command::new("mount").arg("--bind").arg(from).arg(to))
}

fn queue(base: &Path) -> String {
    let tmp = base.join("tmp");
    let mut text = format!(
        "qname all.q\nhostlist {NODE}\nseq_no 0\nload_thresholds NONE\nsuspend_thresholds NONE\nnsuspend 1\n\
         suspend_interval 00:05:00\npriority 0\nmin_cpu_interval 00:05:00\nprocessors UNDEFINED\n\
         qtype BATCH INTERACTIVE\nckpt_list NONE\npe_list NONE\nrerun FALSE\nslots {SLOTS}\ntmpdir {}\n\
         shell /bin/sh\nprolog NONE\nepilog NONE\nshell_start_mode unix_behavior\nstarter_method NONE\n\
         suspend_method NONE\nresume_method NONE\nterminate_method NONE\nnotify 00:00:60\n",
        tmp.display()
    );
    for none in ["owner_list", "user_lists", "xuser_lists", "subordinate_list", "complex_values", "projects"]
    {
        let _ = writeln!(text, "{none} NONE");
    }
    text.push_str("xprojects NONE\ncalendar NONE\ninitial_state default\n");
    for limit in ["rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem"] {
        let _ = writeln!(text, "s_{limit} INFINITY\nh_{limit} INFINITY");
    }
    text
}
