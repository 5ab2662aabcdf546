//! A plan as files of the job directory, in the form of 8.1.9 with our own keys behind the last stock one.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use oxherd_handoff::pe_hostfile::{self, Grant};
use oxherd_handoff::{ConfigError, ConfigWriter, Key, files};
use oxherd_model::limit::Limit;

use super::{JobPlan, Stream};
use crate::job::Program;

/// sge_conf(5) has no entry for it: 8.1.9 writes this number of seconds.
const SCRIPT_TIMEOUT: i64 = 120;
/// Seconds after which a `terminate_method` without effect is followed by KILL (design: standalone 2 min).
const TERMINATE_ESCALATION: i64 = 120;
/// Seconds a suspend, resume or terminate method may take.
const METHOD_TIMEOUT: i64 = 120;
/// Seconds after which processes that do not die are named.
const LEFTOVER_TIMEOUT: i64 = 60;

/// Why a plan could not be written down.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A value that a shepherd would misread.
    #[error(transparent)]
    Value(#[from] ConfigError),
    #[error("cannot write {}", path.display())]
    File { path: PathBuf, source: io::Error },
}

impl JobPlan {
    /// The text of `config`.
    ///
    /// # Errors
    /// A value with a newline or a NUL byte, which the file cannot carry.
    pub fn config(&self) -> Result<Vec<u8>, ConfigError> {
        let mut config = ConfigWriter::new();
        self.stock_keys(&mut config);
        self.own_keys(&mut config);
        config.text()
    }

    /// The text of `pe_hostfile`, which serial jobs have as well.
    #[must_use]
    pub fn pe_hostfile(&self) -> String {
        pe_hostfile::text(&[Grant {
            host: self.host.clone(),
            slots: self.slots.value,
            queue_instance: format!("{}@{}", self.queue, self.host),
            processors: self.processors.clone(),
        }])
    }

    /// Writes `pe_hostfile`, `environment` and `config`, in the order of 8.1.9, each new and with mode 0644.
    ///
    /// # Errors
    /// Values that cannot be written, files that exist already, a full disk.
    pub fn write_dir(&self, dir: &Path) -> Result<(), WriteError> {
        let config = self.config()?;
        write_new(&dir.join(files::PE_HOSTFILE), self.pe_hostfile().as_bytes(), 0o644)?;
        write_new(&dir.join(files::ENVIRONMENT), &self.environment.text(), 0o644)?;
        write_new(&dir.join(files::CONFIG), &config, 0o644)
    }

    fn stock_keys(&self, config: &mut ConfigWriter) {
        if let Some(gid) = self.add_grp_id {
            config.number(Key::AddGrpId, gid);
        }
        for (host, path, tmp, staging) in [
            (Key::FsStdinHost, Key::FsStdinPath, Key::FsStdinTmpPath, Key::FsStdinFileStaging),
            (Key::FsStdoutHost, Key::FsStdoutPath, Key::FsStdoutTmpPath, Key::FsStdoutFileStaging),
            (Key::FsStderrHost, Key::FsStderrPath, Key::FsStderrTmpPath, Key::FsStderrFileStaging),
        ] {
            config.set(host, "\"\"").set(path, "").set(tmp, format!("{}/", self.tmpdir)).number(staging, 0);
        }
        config.set(Key::StdoutPath, self.stream(&self.stdout.value).as_bytes());
        config.set(Key::StderrPath, self.stream(&self.stderr.value).as_bytes());
        config.set(Key::StdinPath, self.stdin.value.as_bytes());
        config.number(Key::MergeStderr, self.merge.value);
        config.set(Key::Tmpdir, &self.tmpdir);
        config.number(Key::HandleAsBinary, matches!(self.program, Program::Command(_)));
        config.number(Key::NoShell, self.no_shell.value);
        config.number(Key::CkptJob, 0);
        self.limit_keys(config);
        config.number(Key::Priority, self.priority.value);
        config.set(Key::ShellPath, &self.shell.value);
        config.set(Key::ScriptFile, self.script_file.as_bytes());
        config.set(Key::JobOwner, &self.owner.name);
        config.number(Key::MinGid, self.facts.min_gid).number(Key::MinUid, self.facts.min_uid);
        config.set(Key::Cwd, self.cwd.value.as_bytes());
        config.set(Key::Prolog, &self.prolog.value).set(Key::Epilog, &self.epilog.value);
        config.set(Key::StarterMethod, &self.starter_method.value);
        config.set(Key::SuspendMethod, &self.suspend_method.value);
        config.set(Key::ResumeMethod, &self.resume_method.value);
        config.set(Key::TerminateMethod, &self.terminate_method.value);
        config.number(Key::ScriptTimeout, SCRIPT_TIMEOUT);
        config.set(Key::Pe, self.pe.as_ref().map_or("none", |pe| pe.name.value.as_str()));
        config.number(Key::PeSlots, self.slots.value).number(Key::HostSlots, self.slots.value);
        if let Some(pe) = &self.pe {
            config.set(Key::PeHostfile, self.job_dir.join(files::PE_HOSTFILE).as_os_str().as_bytes());
            config.set(Key::PeStart, &pe.start).set(Key::PeStop, &pe.stop).set(Key::PeQsort, "none");
            config.set(Key::PeStdoutPath, self.stream(&self.stdout.value).as_bytes());
            config.set(Key::PeStderrPath, self.stream(&self.stderr.value).as_bytes());
        }
        config.set(Key::ShellStartMode, self.shell_start_mode.value.as_str());
        config.number(Key::UseLoginShell, self.login_shell);
        config.set(Key::MailList, format!("{}@{}", self.owner.name, self.host)).number(Key::MailOptions, 0);
        config.number(Key::ForbidReschedule, 0).number(Key::ForbidApperror, 0);
        config.set(Key::Queue, &self.queue).set(Key::Host, &self.host);
        config.set(Key::Processors, &self.processors).set(Key::Binding, "NULL");
        config.set(Key::JobName, &self.name.value);
        config.number(Key::JobId, self.job_id.0).number(Key::JaTaskId, 0);
        config.set(Key::Account, "sge");
        config.set(Key::SubmissionTime, self.submission_time.to_string());
        config.set(Key::Notify, self.notify.value.to_string());
        config.set(Key::AcctProject, "none");
        for argument in &self.arguments {
            config.argument(argument.as_bytes());
        }
        config.set(Key::QueueTmpdir, &self.queue_tmpdir.value);
        config.number(Key::UseAfs, 0).set(Key::AdminUser, &self.facts.admin_user);
        config.number(Key::NotifyKillType, 1).set(Key::NotifyKill, "default");
        config.number(Key::NotifySuspType, 1).set(Key::NotifySusp, "default");
        config.set(Key::QsubGid, "no").number(Key::Pty, 0).number(Key::WriteOsjobId, 1);
        // Only what `environment` says reaches the job: what a shell happened to export does not.
        config.number(Key::InheritEnv, 0);
        config.number(Key::EnableWindomacc, 0).number(Key::EnableAddgrpKill, 1).number(Key::Csp, 0);
        config.number(Key::IgnoreFqdn, 0).set(Key::DefaultDomain, "none");
    }

    fn limit_keys(&self, config: &mut ConfigWriter) {
        for limit in &self.limits {
            let (key, per_job) = match limit.name {
                "h_vmem" => (Key::HVmem, Some(Key::HVmemJob)),
                "s_vmem" => (Key::SVmem, Some(Key::SVmemJob)),
                "h_cpu" => (Key::HCpu, Some(Key::HCpuJob)),
                "s_cpu" => (Key::SCpu, Some(Key::SCpuJob)),
                "h_stack" => (Key::HStack, Some(Key::HStackJob)),
                "s_stack" => (Key::SStack, Some(Key::SStackJob)),
                "h_data" => (Key::HData, Some(Key::HDataJob)),
                "s_data" => (Key::SData, Some(Key::SDataJob)),
                "h_core" => (Key::HCore, None),
                "s_core" => (Key::SCore, None),
                "h_rss" => (Key::HRss, None),
                "s_rss" => (Key::SRss, None),
                "h_fsize" => (Key::HFsize, None),
                "s_fsize" => (Key::SFsize, None),
                // Stock has no key for wall-clock limits; ours stand at the end.
                _ => continue,
            };
            config.set(key, &limit.text);
            if let Some(per_job) = per_job {
                config.number(per_job, 0);
            }
        }
        for key in [
            Key::SDescriptors,
            Key::HDescriptors,
            Key::SMaxproc,
            Key::HMaxproc,
            Key::SMemorylocked,
            Key::HMemorylocked,
            Key::SLocks,
            Key::HLocks,
        ] {
            config.set(key, "UNDEFINED");
        }
    }

    fn own_keys(&self, config: &mut ConfigWriter) {
        config.number(Key::OxUid, self.owner.uid).number(Key::OxGid, self.owner.gid);
        let groups: Vec<_> = self.owner.groups.iter().map(u32::to_string).collect();
        config.set(Key::OxGroups, groups.join(" "));
        config.set(Key::OxCgroup, "auto");
        let seconds =
            |name| match self.limits.iter().find(|limit| limit.name == name).map(|limit| limit.value) {
                Some(Limit::Value(seconds)) => seconds.to_string(),
                _ => "INFINITY".to_owned(),
            };
        config.set(Key::OxSRt, seconds("s_rt")).set(Key::OxHRt, seconds("h_rt"));
        config.number(Key::OxSRtKill, 1).set(Key::OxSRtGrace, self.s_rt_grace.to_string());
        config.number(Key::OxJobLimits, 1).set(Key::OxMemory, "classic").number(Key::OxTmpdir, 1);
        let own: Vec<_> = [("stdout", &self.stdout.value), ("stderr", &self.stderr.value)]
            .into_iter()
            .filter(|(name, _)| *name == "stdout" || !self.merge.value)
            .filter_map(|(name, stream)| (*stream == Stream::Own).then_some(name))
            .collect();
        if !own.is_empty() {
            config.set(Key::OxStdio, own.join(","));
        }
        config.number(Key::OxTerminateEscalation, TERMINATE_ESCALATION);
        config.number(Key::OxMethodTimeout, METHOD_TIMEOUT);
        config.number(Key::OxLeftoverTimeout, LEFTOVER_TIMEOUT);
    }

    /// A stock shepherd does not know `ox_stdio`: it gets the usual file in the working directory.
    fn stream<'a>(&'a self, stream: &'a Stream) -> &'a OsStr {
        match stream {
            Stream::Own => &self.cwd.value,
            Stream::File(path) => path,
        }
    }
}

/// Writes a file that must not exist yet.
pub(crate) fn write_new(path: &Path, content: &[u8], mode: u32) -> Result<(), WriteError> {
    let failed = |source| WriteError::File { path: path.to_owned(), source };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(failed)?;
    file.write_all(content).map_err(failed)
}
