//! A running shepherd, driven the way execd drives it.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{fs, io};

use crate::job_dir::JobDir;
use crate::outcome::Outcome;
use crate::process::{self, Process};
use crate::program::Shepherd;
use crate::scratch;
use crate::spawn;
use crate::wait::{poll, secs, wait_for, wait_until};

/// How long a job of a test may take before the test fails.
const END: Duration = secs(45);

/// A shepherd that was started and not yet waited for. Dropping it ends whatever is left of the test.
#[derive(Debug)]
pub struct Running<'a> {
    job: &'a JobDir,
    child: Child,
    /// Set once the shepherd was reaped: its pid may then be somebody else's.
    status: Option<ExitStatus>,
}

impl<'a> Running<'a> {
    #[track_caller]
    pub(crate) fn start(job: &'a JobDir, environment: &[(String, String)]) -> Self {
        let program = job.shepherd.path();
        let mut command = Command::new(&program);
        let (marker, place) = ("OXHERD_TEST", job.root());
        command.arg0(format!("sge_shepherd-{}", job.id())).current_dir(job.path()).env_clear();
        command.envs(environment.iter().map(|(name, value)| (name, value))).env(marker, place);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        spawn::as_execd(&mut command, &job.admin);
        let child = command.spawn().unwrap_or_else(|error| panic!("start {}: {error}", program.display()));
        Self { job, child, status: None }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid")
    }

    /// Sends a signal to the shepherd as execd does: effective uid admin, real uid 0.
    #[track_caller]
    pub fn send(&self, signal: i32) {
        assert_eq!(self.status, None, "the shepherd has ended already");
        spawn::signal_as_admin(self.pid(), signal, &self.job.admin).expect("execd can signal the shepherd");
    }

    /// Waits until the stock shepherd sleeps: it loses orders that follow another within milliseconds (D16).
    fn settled(&self) {
        if self.job.shepherd == Shepherd::Ours {
            return;
        }
        let mut calm = 0;
        let asleep = || {
            // Gone is calm, too.
            let sleeping = Process::read(self.pid()).is_none_or(|process| process.state == 'S');
            calm = if sleeping { calm + 1 } else { 0 };
            calm > 10
        };
        wait_until("the stock shepherd to be idle", secs(5), asleep);
    }

    /// `qdel`, `h_rt`, …: the job is to be killed.
    #[track_caller]
    pub fn order_kill(&self) {
        self.settled();
        self.send(libc::SIGTSTP);
    }

    /// Any signal for the job by way of the `signal` file.
    #[track_caller]
    pub fn order_signal(&self, signal: i32) {
        self.settled();
        scratch::file(&self.job.path().join("signal"), &format!("{signal}\n"), Some(&self.job.admin), 0o644);
        self.send(libc::SIGTTIN);
    }

    /// `qmod -sj`.
    #[track_caller]
    pub fn order_suspend(&self) {
        self.order_signal(libc::SIGSTOP);
    }

    /// `qmod -usj`.
    #[track_caller]
    pub fn order_resume(&self) {
        self.settled();
        self.send(libc::SIGCONT);
    }

    /// The pid of the job, once it is in its file and the job script runs.
    #[track_caller]
    pub fn job_pid(&self) -> i32 {
        wait_for("the file job_pid", secs(20), || {
            fs::read_to_string(self.job.path().join("job_pid")).ok()?.trim().parse().ok()
        })
    }

    /// Waits until the job itself is stopped.
    #[track_caller]
    pub fn wait_stopped(&self, limit: Duration) {
        let pid = self.job_pid();
        if poll(limit, || process::stopped(pid).then_some(())).is_none() {
            panic!("the job is not stopped after {limit:?}: {:#?}\n{}", self.processes(), self.trace());
        }
    }

    /// The trace so far.
    pub fn trace(&self) -> String {
        fs::read_to_string(self.job.path().join("trace")).unwrap_or_default()
    }

    /// Waits until a file in the working directory has a line `line`.
    #[track_caller]
    pub fn wait_line(&self, name: &str, line: &str) {
        wait_until(&format!("`{line}` in {name}: {:?}", self.job.read(name)), secs(20), || {
            self.job.lines(name).iter().any(|known| known == line)
        });
    }

    /// True while the shepherd runs.
    pub fn is_running(&mut self) -> bool {
        self.reap().is_none()
    }

    fn reap(&mut self) -> Option<ExitStatus> {
        self.status = self.child.try_wait().expect("wait for the shepherd");
        self.status
    }

    /// The wait status if the shepherd ends within `limit`.
    pub fn ends_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        poll(limit, || self.reap())
    }

    /// Waits for the end and reads what was left.
    #[track_caller]
    pub fn end(&mut self) -> Outcome {
        match self.ends_within(END) {
            Some(status) => Outcome::read(&self.job.path(), status),
            None => {
                let trace = self.trace();
                panic!(
                    "the shepherd did not end within {END:?}:\n{trace}\nprocesses: {:#?}",
                    self.processes()
                )
            }
        }
    }

    /// The processes that carry the job's additional group id.
    pub fn processes(&self) -> Vec<Process> {
        process::carrying(self.job.id())
    }

    /// Every process that belongs to the test, by group id, by environment and by descent.
    pub fn remains(&self) -> Vec<Process> {
        let mut found = self.processes();
        found.extend(process::marked(&self.job.marker()));
        if self.status.is_none() {
            found.extend(process::tree(self.pid()));
        }
        found
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        for _ in 0..200 {
            self.reap();
            let remains = self.remains();
            if remains.is_empty() && self.status.is_some() {
                break;
            }
            for process in remains {
                let _gone: io::Result<()> = spawn::kill(process.pid, libc::SIGKILL);
            }
        }
        self.remove_groups();
    }
}

impl Running<'_> {
    /// Removes the control group a killed shepherd of ours could not.
    fn remove_groups(&self) {
        for mountpoint in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
            let group = Path::new(mountpoint).join(format!("oxherd-{}-{}", self.job.id(), self.pid()));
            let _in_use = poll(secs(2), || {
                for leaf in fs::read_dir(&group).ok().into_iter().flatten().flatten() {
                    let _a_file_or_in_use = fs::remove_dir(leaf.path());
                }
                let _absent_or_in_use = fs::remove_dir(&group);
                (!group.exists()).then_some(())
            });
        }
    }
}
