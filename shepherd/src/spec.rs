//! What is wanted of the shepherd: the job directory's files, checked and in the types of this program.
//!
//! Whatever `config` asks for and this program cannot do is refused here, as a job error with a sentence, before
//! anything was started. A value that means "off" is no request.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::Duration;

use oxherd_handoff::shepherd_conf::ShepherdConf;
use oxherd_handoff::{Config, ConfigError, Environment, ExitState, Key, files};
use oxherd_model::method::Method;
use oxherd_model::specifier::{self, Writer};

use crate::limit::JobLimits;
use crate::machine::{Checkpointing, Control, Plan, Step, USR1, USR2};
use crate::step::interactive::Interactive;
use crate::step::{binding, procedure};

/// The job is not started: with which code, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub state: ExitState,
    pub text: String,
}

impl Refusal {
    fn job(text: impl Into<String>) -> Self {
        Self { state: ExitState::ApplicationError, text: text.into() }
    }
}

impl From<ConfigError> for Refusal {
    fn from(error: ConfigError) -> Self {
        Self::job(error.to_string())
    }
}

/// Switches that are not the job's but the host's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switches {
    pub cgroup: bool,
    pub terminate_escalation: Option<Duration>,
    pub method_timeout: Duration,
    pub leftover_timeout: Duration,
    compat: Vec<String>,
}

impl Switches {
    /// Whether a stock behaviour is wanted back (docs/deviations.md).
    #[must_use]
    pub fn strict(&self, switch: &str) -> bool {
        self.compat.iter().any(|word| word == switch || word == "strict")
    }
}

/// The files of the job directory.
#[derive(Debug)]
pub struct Spec {
    pub config: Config,
    pub environment: Environment,
    pub switches: Switches,
    /// Below our own execd: the `ox_` keys are there.
    pub ours: bool,
    /// The job's TMPDIR; another than `tmpdir` where that name was taken.
    pub tmpdir: Option<OsString>,
    /// Set where the job is no batch job.
    pub interactive: Option<Interactive>,
    /// Processors the job is bound to, or only told of.
    pub binding: Option<Binding>,
    /// Sentences for the trace.
    pub remarks: Vec<String>,
}

/// A core binding that this machine can meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub processors: Vec<u32>,
    /// The processes are really bound.
    pub set: bool,
}

impl Spec {
    /// Reads a job directory.
    ///
    /// # Errors
    /// [`Refusal`] with code 30 for a `config` that does not keep to its grammar or asks for what is not there, and
    /// with code 7, the only host fault, for files that cannot be read.
    pub fn read_dir(directory: &Path) -> Result<Self, Refusal> {
        let read = |name: &str| {
            std::fs::read(directory.join(name)).map_err(|error| Refusal {
                state: ExitState::BeforeProlog,
                text: format!("cannot read {name} of the job: {error}"),
            })
        };
        let config = Config::parse(read(files::CONFIG)?)?;
        let environment = Environment::parse(&read(files::ENVIRONMENT)?);
        let ours = config.get(Key::OxUid).is_some() || config.get(Key::OxCompat).is_some();
        let mut remarks = Vec::new();
        let switches = if ours {
            Switches {
                cgroup: config.get(Key::OxCgroup) != Some(b"none"),
                terminate_escalation: seconds(&config, Key::OxTerminateEscalation, 0)?,
                method_timeout: seconds(&config, Key::OxMethodTimeout, 120)?
                    .unwrap_or(Duration::from_secs(120)),
                leftover_timeout: seconds(&config, Key::OxLeftoverTimeout, 60)?
                    .unwrap_or(Duration::from_secs(60)),
                compat: config.shown(Key::OxCompat).split([',', ' ']).map(str::to_owned).collect(),
            }
        } else {
            let (conf, complaints) = ShepherdConf::read();
            remarks = complaints;
            let escalation = Duration::from_secs(conf.terminate_escalation);
            Switches {
                cgroup: conf.cgroup,
                terminate_escalation: (!escalation.is_zero()).then_some(escalation),
                method_timeout: Duration::from_secs(conf.method_timeout.max(1)),
                leftover_timeout: Duration::from_secs(conf.leftover_timeout.max(1)),
                compat: conf.compat,
            }
        };
        let mut spec = Self {
            config,
            environment,
            switches,
            ours,
            tmpdir: None,
            interactive: None,
            binding: None,
            remarks,
        };
        spec.refuse_unsupported()?;
        spec.interactive = Interactive::parse(&spec).map_err(Refusal::job)?;
        Ok(spec)
    }

    /// Reads `environment` again: a prolog may have added to it. TMPDIR stays the one that was made.
    ///
    /// # Errors
    /// The file cannot be read; what was read before stays.
    pub fn read_environment(&mut self) -> Result<(), Refusal> {
        let text = std::fs::read(files::ENVIRONMENT).map_err(|error| Refusal {
            state: ExitState::BeforeJob,
            text: format!("cannot read environment of the job again: {error}"),
        })?;
        self.environment = Environment::parse(&text);
        if let Some(made) = self.tmpdir.clone()
            && let Some(wanted) = self.config.get(Key::Tmpdir).map(<[u8]>::to_vec)
            && made.as_bytes() != wanted
        {
            self.set_tmpdir(&wanted, made);
        }
        Ok(())
    }

    /// Everything that is asked for and not there yet.
    fn refuse_unsupported(&self) -> Result<(), Refusal> {
        let config = &self.config;
        for key in [Key::JobOwner, Key::ScriptFile, Key::ShellPath, Key::JobId, Key::Cwd] {
            config.required(key)?;
        }
        if config.flag(Key::UseAfs, false)? {
            return Err(Refusal { state: ExitState::Afs, text: "AFS is not supported".to_owned() });
        }
        let interactive = Interactive::parse(self).map_err(Refusal::job)?;
        if config.get(Key::PeTaskId).is_some() && interactive.is_none() {
            return Err(Refusal::job("a task of a parallel job that is not interactive is not supported"));
        }
        if config.number(Key::Pty, 0)? == 1 && interactive.is_none() {
            return Err(Refusal::job("a pseudo terminal for a batch job (-pty y) is not supported yet"));
        }
        if config.get(Key::OxMemory).is_some_and(|memory| memory != b"classic") {
            return Err(Refusal::job("only `classic` is supported as ox_memory yet"));
        }
        if config.get(Key::OxCgroup).is_some_and(|cgroup| cgroup != b"auto" && cgroup != b"none") {
            return Err(Refusal::job("only `auto` and `none` are supported as ox_cgroup yet"));
        }
        Ok(())
    }

    /// Finds the processors of a core binding; nothing is looked at where none is asked for.
    pub fn bind(&mut self) {
        let found = binding::Request::parse(&self.config.shown(Key::Binding)).and_then(|request| {
            let Some(request) = request else { return Ok(None) };
            let processors = request.processors(&binding::topology())?;
            Ok(Some(Binding { processors, set: !request.environment_only }))
        });
        match found {
            Ok(binding) => self.binding = binding,
            Err(text) => self.remarks.push(format!("the job runs unbound: {text}")),
        }
    }

    /// `-notify` signals and the rest of what the machine must know.
    ///
    /// # Errors
    /// [`Refusal`] for values that mean nothing.
    pub fn plan(&mut self) -> Result<Plan, Refusal> {
        let mut remarks = Vec::new();
        let config = &self.config;
        let set = |key| !config.is_none(key);
        let method = |control: Control, key: Key, remarks: &mut Vec<String>| {
            let text = config.shown(key);
            match Method::parse(if text.is_empty() { "none" } else { &text }) {
                Ok(method) => method,
                // Stock ends with 7 here and puts every queue of the host into error (D10).
                Err(error) => {
                    remarks.push(format!(
                        "{}_method: {error}: the usual signal is used instead",
                        control.name()
                    ));
                    Method::Default
                }
            }
        };
        let methods = [
            method(Control::Suspend, Key::SuspendMethod, &mut remarks),
            method(Control::Resume, Key::ResumeMethod, &mut remarks),
            method(Control::Terminate, Key::TerminateMethod, &mut remarks),
        ];
        let notify_signal = |kind: Key, name: Key, default: i32, remarks: &mut Vec<String>| match config
            .number(kind, 1)
            .unwrap_or(1)
        {
            0 => {
                let text = config.shown(name);
                oxherd_model::signal::number(&text).or_else(|| {
                    remarks.push(format!("{}: `{text}` is no signal: the default is used", name.name()));
                    Some(default)
                })
            }
            2 => None,
            _ => Some(default),
        };
        let script = config.shown(Key::ScriptFile);
        let sweep = config.flag(Key::EnableAddgrpKill, true)?;
        let timeout = seconds(config, Key::ScriptTimeout, 120)?;
        let plan = Plan {
            steps: [
                set(Key::Prolog),
                set(Key::Pe) && set(Key::PeStart),
                !script.eq_ignore_ascii_case("none"),
                set(Key::Pe) && set(Key::PeStop),
                set(Key::Epilog),
            ],
            notify: seconds(config, Key::Notify, 0)?,
            notify_kill: notify_signal(Key::NotifyKillType, Key::NotifyKill, USR2, &mut remarks),
            notify_susp: notify_signal(Key::NotifySuspType, Key::NotifySusp, USR1, &mut remarks),
            methods,
            procedure_timeout: timeout.filter(|_| !self.switches.strict("script_timeout")),
            method_timeout: self.switches.method_timeout,
            terminate_escalation: self.switches.terminate_escalation,
            leftover_timeout: self.switches.leftover_timeout,
            s_rt: wall_clock(config, Key::OxSRt)?,
            h_rt: wall_clock(config, Key::OxHRt)?,
            s_rt_grace: if config.flag(Key::OxSRtKill, false)? {
                Some(Duration::from_secs(unsigned(config, Key::OxSRtGrace, 60)?))
            } else {
                None
            },
            limits: self.job_limits()?,
            checkpointing: self.checkpointing()?,
            foreign: Step::ALL.map(|step| procedure::other_user(self, step).is_some()),
            forbid_reschedule: config.flag(Key::ForbidReschedule, false)?,
            forbid_apperror: config.flag(Key::ForbidApperror, false)?,
            sweep,
            remove_tmpdir: config.flag(Key::OxTmpdir, false)?,
            prolog_not_startable: if self.switches.strict("prolog_not_startable") {
                ExitState::BeforeProlog
            } else {
                ExitState::Prolog
            },
        };
        self.remarks.append(&mut remarks);
        Ok(plan)
    }

    /// The checkpoint block of `config`.
    fn checkpointing(&self) -> Result<Option<Checkpointing>, Refusal> {
        let config = &self.config;
        if !config.flag(Key::CkptJob, false)? {
            return Ok(None);
        }
        let interface = config.shown(Key::CkptInterface).to_ascii_lowercase();
        let commands = match interface.as_str() {
            "application-level" => true,
            "userdefined" | "transparent" => false,
            _ => {
                let text = format!(
                    "checkpointing interface `{interface}` is not supported; expected userdefined, transparent or \
                     application-level"
                );
                return Err(Refusal::job(text));
            }
        };
        let command = |key| {
            let text = config.shown(key);
            (!matches!(text.to_ascii_lowercase().as_str(), "" | "none")).then_some(text)
        };
        let signal = match command(Key::CkptSignal) {
            None => None,
            Some(text) => Some(
                oxherd_model::signal::number(&text)
                    .or_else(|| text.parse().ok().filter(|number| (1..=64).contains(number)))
                    .ok_or_else(|| Refusal::job(format!("ckpt_signal: `{text}` is no signal")))?,
            ),
        };
        Ok(Some(Checkpointing {
            commands,
            signal,
            command: command(Key::CkptCommand),
            migr_command: command(Key::CkptMigrCommand),
            clean_command: command(Key::CkptCleanCommand),
            interval: seconds(config, Key::CkptInterval, 0)?,
        }))
    }

    fn job_limits(&self) -> Result<JobLimits, Refusal> {
        let config = &self.config;
        if !config.flag(Key::OxJobLimits, false)? {
            return Ok(JobLimits::default());
        }
        let slots = |per_job: Key| -> Result<u32, Refusal> {
            if config.flag(per_job, false)? {
                return Ok(1);
            }
            Ok(u32::try_from(unsigned(config, Key::HostSlots, 1)?).unwrap_or(u32::MAX).max(1))
        };
        let text = |key| {
            let text = config.shown(key);
            if text.is_empty() { "INFINITY".to_owned() } else { text }
        };
        let refuse = |key: Key, error: specifier::SpecifierError| Refusal {
            state: ExitState::BeforeJob,
            text: format!("{}: {error}", key.name()),
        };
        let time = |key: Key, per_job: Key| -> Result<Option<Duration>, Refusal> {
            let limit = specifier::parse_time(&text(key), Writer::Request).map_err(|e| refuse(key, e))?.value;
            Ok(limit.times(slots(per_job)?).finite().map(|limit| Duration::from_secs(limit.0)))
        };
        let memory = |key: Key, per_job: Key| -> Result<Option<u64>, Refusal> {
            let limit =
                specifier::parse_memory(&text(key), Writer::Request).map_err(|e| refuse(key, e))?.value;
            Ok(limit.times(slots(per_job)?).finite().map(|limit| limit.0))
        };
        Ok(JobLimits {
            s_cpu: time(Key::SCpu, Key::SCpuJob)?,
            h_cpu: time(Key::HCpu, Key::HCpuJob)?,
            s_vmem: memory(Key::SVmem, Key::SVmemJob)?,
            h_vmem: memory(Key::HVmem, Key::HVmemJob)?,
            processors: std::thread::available_parallelism()
                .map_or(1, |n| u32::try_from(n.get()).unwrap_or(1)),
        })
    }

    /// The task's number for names and variables; 0 where the job is no array.
    #[must_use]
    pub fn task_id(&self) -> String {
        let text = self.config.shown(Key::JaTaskId);
        if text.is_empty() { "0".to_owned() } else { text }
    }

    /// `JOB` or `JOB.TASK`, for names of directories and messages.
    #[must_use]
    pub fn job_name(&self) -> String {
        let (job, task) = (self.config.shown(Key::JobId), self.task_id());
        if task == "0" { job } else { format!("{job}.{task}") }
    }

    /// The additional group id, where one is to be set.
    #[must_use]
    pub fn add_grp_id(&self) -> Option<u32> {
        let write = self.config.flag(Key::WriteOsjobId, true).unwrap_or(true);
        self.config.id(Key::AddGrpId).ok().flatten().filter(|gid| *gid != 0 && write)
    }

    /// Changes the job's TMPDIR, in the environment too.
    pub fn set_tmpdir(&mut self, old: &[u8], new: OsString) {
        self.environment.set("TMPDIR", new.clone());
        self.environment.set("TMP", new.clone());
        if let Some(rest) = self.environment.get("PATH").and_then(|path| path.as_bytes().strip_prefix(old)) {
            let mut path = new.as_bytes().to_vec();
            path.extend_from_slice(rest);
            self.environment.set("PATH", OsString::from_vec(path));
        }
        self.tmpdir = Some(new);
    }
}

/// A time in whole seconds; 0 and nothing at all mean that there is none, unless a default is given.
fn seconds(config: &Config, key: Key, default: u64) -> Result<Option<Duration>, ConfigError> {
    let value = unsigned(config, key, default)?;
    Ok((value > 0).then(|| Duration::from_secs(value)))
}

fn unsigned(config: &Config, key: Key, default: u64) -> Result<u64, ConfigError> {
    let default = i64::try_from(default).unwrap_or(i64::MAX);
    Ok(u64::try_from(config.number(key, default)?).unwrap_or(0))
}

/// A wall-clock limit: `INFINITY` or nothing at all mean that there is none.
fn wall_clock(config: &Config, key: Key) -> Result<Option<Duration>, Refusal> {
    let text = config.shown(key);
    if text.is_empty() {
        return Ok(None);
    }
    let limit = specifier::parse_time(&text, Writer::Request)
        .map_err(|error| Refusal::job(format!("{}: {error}", key.name())))?;
    Ok(limit.value.finite().map(|limit| Duration::from_secs(limit.0)))
}
