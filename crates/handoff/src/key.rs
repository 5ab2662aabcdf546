//! The keys of the `config` file in the order in which 8.1.9 writes them (observed).
//!
//! The order is a security property, not a matter of taste: values that come from the user may contain newlines,
//! so that a line of such a value looks like a key. Every such value is followed by a key that is always written,
//! therefore a forged line is either a key out of its place or makes a real one appear twice. See [`crate::config`].

/// Who decides what a value contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// The administrator's configuration, or execd itself.
    Site,
    /// The job's owner: may contain anything but a NUL byte.
    User,
}

macro_rules! keys {
    ($( $(#[$doc:meta])* $variant:ident = $name:literal $author:ident, )*) => {
        /// A key of the `config` file; the order of the variants is the order of the lines.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Key { $( $(#[$doc])* $variant, )* }

        impl Key {
            /// All keys in file order.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )* ];

            /// How the key is spelled in the file.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )* }
            }

            /// Whose text the value is.
            #[must_use]
            pub const fn author(self) -> Author {
                match self { $( Self::$variant => Author::$author, )* }
            }
        }
    };
}

keys! {
    /// The additional group id that marks the job's processes.
    AddGrpId = "add_grp_id" Site,
    /// Written only where a full group list shall be no error.
    SkipNgroupsMaxSilently = "skip_ngroups_max_silently" Site,
    FsStdinHost = "fs_stdin_host" User,
    FsStdinPath = "fs_stdin_path" User,
    FsStdinTmpPath = "fs_stdin_tmp_path" Site,
    FsStdinFileStaging = "fs_stdin_file_staging" Site,
    FsStdoutHost = "fs_stdout_host" User,
    FsStdoutPath = "fs_stdout_path" User,
    FsStdoutTmpPath = "fs_stdout_tmp_path" Site,
    FsStdoutFileStaging = "fs_stdout_file_staging" Site,
    FsStderrHost = "fs_stderr_host" User,
    FsStderrPath = "fs_stderr_path" User,
    FsStderrTmpPath = "fs_stderr_tmp_path" Site,
    FsStderrFileStaging = "fs_stderr_file_staging" Site,
    StdoutPath = "stdout_path" User,
    StderrPath = "stderr_path" User,
    StdinPath = "stdin_path" User,
    MergeStderr = "merge_stderr" Site,
    Tmpdir = "tmpdir" Site,
    HandleAsBinary = "handle_as_binary" Site,
    NoShell = "no_shell" Site,
    CkptJob = "ckpt_job" Site,
    CkptRestarted = "ckpt_restarted" Site,
    CkptPid = "ckpt_pid" Site,
    CkptOsjobid = "ckpt_osjobid" Site,
    CkptInterface = "ckpt_interface" Site,
    CkptCommand = "ckpt_command" Site,
    CkptMigrCommand = "ckpt_migr_command" Site,
    CkptRestCommand = "ckpt_rest_command" Site,
    CkptCleanCommand = "ckpt_clean_command" Site,
    CkptDir = "ckpt_dir" Site,
    CkptSignal = "ckpt_signal" Site,
    CkptInterval = "ckpt_interval" Site,
    HVmem = "h_vmem" Site,
    HVmemJob = "h_vmem_is_consumable_job" Site,
    SVmem = "s_vmem" Site,
    SVmemJob = "s_vmem_is_consumable_job" Site,
    HCpu = "h_cpu" Site,
    HCpuJob = "h_cpu_is_consumable_job" Site,
    SCpu = "s_cpu" Site,
    SCpuJob = "s_cpu_is_consumable_job" Site,
    HStack = "h_stack" Site,
    HStackJob = "h_stack_is_consumable_job" Site,
    SStack = "s_stack" Site,
    SStackJob = "s_stack_is_consumable_job" Site,
    HData = "h_data" Site,
    HDataJob = "h_data_is_consumable_job" Site,
    SData = "s_data" Site,
    SDataJob = "s_data_is_consumable_job" Site,
    HCore = "h_core" Site,
    SCore = "s_core" Site,
    HRss = "h_rss" Site,
    SRss = "s_rss" Site,
    HFsize = "h_fsize" Site,
    SFsize = "s_fsize" Site,
    SDescriptors = "s_descriptors" Site,
    HDescriptors = "h_descriptors" Site,
    SMaxproc = "s_maxproc" Site,
    HMaxproc = "h_maxproc" Site,
    SMemorylocked = "s_memorylocked" Site,
    HMemorylocked = "h_memorylocked" Site,
    SLocks = "s_locks" Site,
    HLocks = "h_locks" Site,
    Priority = "priority" Site,
    ShellPath = "shell_path" User,
    ScriptFile = "script_file" User,
    JobOwner = "job_owner" Site,
    MinGid = "min_gid" Site,
    MinUid = "min_uid" Site,
    Cwd = "cwd" User,
    Prolog = "prolog" Site,
    Epilog = "epilog" Site,
    StarterMethod = "starter_method" Site,
    SuspendMethod = "suspend_method" Site,
    ResumeMethod = "resume_method" Site,
    TerminateMethod = "terminate_method" Site,
    ScriptTimeout = "script_timeout" Site,
    Pe = "pe" Site,
    PeSlots = "pe_slots" Site,
    HostSlots = "host_slots" Site,
    PeHostfile = "pe_hostfile" Site,
    PeStart = "pe_start" Site,
    PeStop = "pe_stop" Site,
    PeQsort = "pe_qsort" Site,
    PeStdoutPath = "pe_stdout_path" User,
    PeStderrPath = "pe_stderr_path" User,
    ShellStartMode = "shell_start_mode" Site,
    UseLoginShell = "use_login_shell" Site,
    MailList = "mail_list" User,
    MailOptions = "mail_options" Site,
    ForbidReschedule = "forbid_reschedule" Site,
    ForbidApperror = "forbid_apperror" Site,
    Queue = "queue" Site,
    Host = "host" Site,
    Processors = "processors" Site,
    Binding = "binding" Site,
    JobName = "job_name" User,
    JobId = "job_id" Site,
    JaTaskId = "ja_task_id" Site,
    /// Occurs a second time behind `qsub_gid` ([`Key::PeTaskIdAgain`]).
    PeTaskId = "pe_task_id" Site,
    Account = "account" User,
    SubmissionTime = "submission_time" Site,
    Notify = "notify" Site,
    ExecFile = "exec_file" Site,
    AcctProject = "acct_project" Site,
    NjobArgs = "njob_args" Site,
    /// Stands for `job_arg1`, `job_arg2`, …; see [`Key::parse`].
    JobArg = "job_arg" User,
    QueueTmpdir = "queue_tmpdir" Site,
    Display = "display" User,
    UseAfs = "use_afs" Site,
    Coshepherd = "coshepherd" Site,
    SetTokenCmd = "set_token_cmd" Site,
    TokenExtendTime = "token_extend_time" Site,
    AdminUser = "admin_user" Site,
    NotifyKillType = "notify_kill_type" Site,
    NotifyKill = "notify_kill" Site,
    NotifySuspType = "notify_susp_type" Site,
    NotifySusp = "notify_susp" Site,
    QsubGid = "qsub_gid" Site,
    PeTaskIdAgain = "pe_task_id" Site,
    Pty = "pty" Site,
    MasterHost = "master_host" Site,
    CommdPort = "commd_port" Site,
    QrshControlPort = "qrsh_control_port" User,
    QloginDaemon = "qlogin_daemon" Site,
    RshDaemon = "rsh_daemon" Site,
    RloginDaemon = "rlogin_daemon" Site,
    QrshTmpdir = "qrsh_tmpdir" Site,
    QrshPidFile = "qrsh_pid_file" Site,
    WriteOsjobId = "write_osjob_id" Site,
    InheritEnv = "inherit_env" Site,
    EnableWindomacc = "enable_windomacc" Site,
    EnableAddgrpKill = "enable_addgrp_kill" Site,
    Csp = "csp" Site,
    IgnoreFqdn = "ignore_fqdn" Site,
    DefaultDomain = "default_domain" Site,
    // From here on: what only our daemon writes, for our shepherd. A stock shepherd ignores these lines.
    /// Numeric user id of the job owner, so that the shepherd asks no name service.
    OxUid = "ox_uid" Site,
    /// Numeric primary group id, with [`Key::OxUid`].
    OxGid = "ox_gid" Site,
    /// Supplementary group ids, blank separated, with [`Key::OxUid`].
    OxGroups = "ox_groups" Site,
    /// `auto` (default), `none`, or the absolute path of a cgroup v2 directory made for this job.
    OxCgroup = "ox_cgroup" Site,
    /// Wall-clock limits in seconds or `INFINITY`, enforced by the shepherd.
    OxSRt = "ox_s_rt" Site,
    OxHRt = "ox_h_rt" Site,
    /// 1: `notify` seconds after `s_rt` the job is ended, as queue_conf(5) says; 0: warned only, as 8.1.9 does.
    OxSRtKill = "ox_s_rt_kill" Site,
    /// Seconds that `s_rt_kill` waits.
    OxSRtGrace = "ox_s_rt_grace" Site,
    /// 1: the shepherd itself enforces s_cpu, h_cpu, s_vmem and h_vmem over all processes of the job.
    OxJobLimits = "ox_job_limits" Site,
    /// `classic` or `kernel`.
    OxMemory = "ox_memory" Site,
    /// 1: the shepherd makes the job's TMPDIR (`tmpdir`) below `queue_tmpdir` and removes it at the end.
    OxTmpdir = "ox_tmpdir" Site,
    /// Which of `stdout`, `stderr` are the shepherd's own descriptors instead of files, comma separated.
    OxStdio = "ox_stdio" Site,
    /// Seconds after which a `terminate_method` without effect is followed by KILL; 0 or absent: never.
    OxTerminateEscalation = "ox_terminate_escalation" Site,
    /// Seconds a running suspend, resume or terminate method may take.
    OxMethodTimeout = "ox_method_timeout" Site,
    /// Seconds after which processes that do not die are named in the trace.
    OxLeftoverTimeout = "ox_leftover_timeout" Site,
    /// 1: wait for one byte on stdin before anything is started.
    OxGate = "ox_gate" Site,
    /// 1: `usage` and `exit_status` are flushed to the disk before the shepherd leaves.
    OxFsync = "ox_fsync" Site,
    /// Switches of strict compatibility by name, comma separated; see docs/deviations.md.
    OxCompat = "ox_compat" Site,
}

/// Number of keys.
pub const COUNT: usize = Key::ALL.len();

/// Keys that other members of the family write anywhere; known, and without meaning here.
const IGNORED_ANYWHERE: [&[u8]; 4] = [b"h_rt", b"pe_enable_cpuquota", b"use_systemd", b"mem_limit"];

/// What the text before the `=` of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// A key of the grammar.
    Key(Key),
    /// `job_argN`, N counted from 1.
    JobArg(u32),
    /// Known from relatives of 8.1.9 and skipped.
    Ignored,
    /// Not a key at all.
    Unknown,
}

impl Key {
    /// Position in the file, counted from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Reads the name of a line, as far as its first blank or `=`. Of the two `pe_task_id` the first is returned.
    #[must_use]
    pub fn parse(name: &[u8]) -> Name {
        if let Some(digits) = name.strip_prefix(b"job_arg") {
            return match std::str::from_utf8(digits).ok().and_then(|d| d.parse().ok()) {
                // `job_arg07` and `job_arg+7` are no names the writer makes.
                Some(n) if n > 0 && digits.first().is_some_and(u8::is_ascii_digit) && digits[0] != b'0' => {
                    Name::JobArg(n)
                }
                _ => Name::Unknown,
            };
        }
        if IGNORED_ANYWHERE.contains(&name) {
            return Name::Ignored;
        }
        match Self::ALL.iter().find(|key| key.name().as_bytes() == name) {
            Some(Self::JobArg) | None => Name::Unknown,
            Some(key) => Name::Key(*key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_a_user_is_followed_by_a_key_that_is_always_written() {
        // Otherwise a newline in the value could bring an optional key of its own. The one exception is followed by
        // one of three, of which the parser accepts no second.
        const EXCEPTION: Key = Key::QrshControlPort;
        const ALWAYS: [Key; 22] = [
            Key::FsStdinPath,
            Key::FsStdinTmpPath,
            Key::FsStdoutPath,
            Key::FsStdoutTmpPath,
            Key::FsStderrPath,
            Key::FsStderrTmpPath,
            Key::StderrPath,
            Key::StdinPath,
            Key::MergeStderr,
            Key::ScriptFile,
            Key::JobOwner,
            Key::Prolog,
            Key::PeStderrPath,
            Key::ShellStartMode,
            Key::MailOptions,
            Key::JobId,
            Key::SubmissionTime,
            Key::QueueTmpdir,
            Key::UseAfs,
            Key::FsStdinFileStaging,
            Key::FsStdoutFileStaging,
            Key::FsStderrFileStaging,
        ];
        for pair in Key::ALL.windows(2) {
            if pair[0].author() == Author::User && pair[0] != EXCEPTION {
                assert!(ALWAYS.contains(&pair[1]), "{:?} is followed by {:?}", pair[0], pair[1]);
            }
        }
    }

    #[test]
    fn names_are_read_back() {
        for key in Key::ALL {
            let expected = match key {
                Key::JobArg => Name::Unknown,
                Key::PeTaskIdAgain => Name::Key(Key::PeTaskId),
                other => Name::Key(*other),
            };
            assert_eq!(Key::parse(key.name().as_bytes()), expected, "{}", key.name());
        }
        assert_eq!(Key::parse(b"job_arg12"), Name::JobArg(12));
        assert_eq!(Key::parse(b"job_arg0"), Name::Unknown);
        assert_eq!(Key::parse(b"job_arg01"), Name::Unknown);
        assert_eq!(Key::parse(b"mem_limit"), Name::Ignored);
        assert_eq!(Key::parse(b"Prolog"), Name::Unknown);
    }
}
