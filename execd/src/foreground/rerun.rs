//! `--from DIR`: starting a kept or foreign job directory again, with its own description.
//!
//! What the description says stays; only what belongs to the first run is replaced: its directory, the additional
//! group id, the copy of the script, and the numeric ids of the owner on this host.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use oxherd_handoff::{Config, ConfigWriter, Environment, Key, files};

use super::spool::Spool;
use super::{Finished, Master, RunError, block_signals};
use crate::account::Account;
use crate::gid_lease::GidLease;
use crate::plan::{HostFacts, write_new};

/// The inputs of an earlier run.
#[derive(Debug)]
pub struct Rerun {
    config: Config,
    environment: Environment,
    pe_hostfile: Option<Vec<u8>>,
    script: Option<Vec<u8>>,
    owner: Account,
}

impl Rerun {
    /// Reads the inputs.
    ///
    /// # Errors
    /// Files that are missing or refused, an owner that does not exist here or is not the caller, a script that is gone.
    pub fn read(dir: &Path, uid: u32) -> Result<Self, RunError> {
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        let read = |name: &str| {
            let path = dir.join(name);
            std::fs::read(&path).map_err(|source| RunError::Input { path, source })
        };
        let config = Config::parse(read(files::CONFIG)?)?;
        let environment = Environment::parse(&read(files::ENVIRONMENT)?);
        let pe_hostfile = match read(files::PE_HOSTFILE) {
            Err(RunError::Input { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
            other => Some(other?),
        };
        let owner = Account::by_name(&config.required(Key::JobOwner)?.to_string_lossy())?;
        if uid != 0 && owner.uid != uid {
            return Err(RunError::NotYours { dir, owner: owner.name });
        }
        let script =
            if config.flag(Key::HandleAsBinary, false)? { None } else { Some(script(&config, &dir)?) };
        Ok(Self { config, environment, pe_hostfile, script, owner })
    }

    /// The owner of the job.
    #[must_use]
    pub const fn owner(&self) -> &Account {
        &self.owner
    }

    /// The description for a new directory.
    fn renewed(&self, spool: &mut Spool, gid: Option<u32>) -> Result<(Vec<u8>, Environment), RunError> {
        let mut config = ConfigWriter::new();
        for key in Key::ALL.iter().filter(|key| !matches!(key, Key::NjobArgs | Key::JobArg | Key::AddGrpId)) {
            if let Some(value) = self.config.get(*key) {
                config.set(*key, value);
            }
        }
        for argument in self.config.arguments() {
            config.argument(argument.as_bytes());
        }
        let mut environment = self.environment.clone();
        if let Some(gid) = gid {
            config.number(Key::AddGrpId, gid);
        }
        // The ids of the host the directory was made on mean nothing here.
        config.number(Key::OxUid, self.owner.uid).number(Key::OxGid, self.owner.gid);
        let groups: Vec<_> = self.owner.groups.iter().map(u32::to_string).collect();
        config.set(Key::OxGroups, groups.join(" "));
        config.set(Key::AdminUser, "none");
        if let Some(text) = &self.script {
            let copy = spool.script(text)?.as_os_str().to_owned();
            config.set(Key::ScriptFile, copy.as_bytes());
            environment.set("JOB_SCRIPT", copy);
        }
        environment.set("SGE_JOB_SPOOL_DIR", spool.dir());
        let hostfile = spool.dir().join(files::PE_HOSTFILE);
        if environment.get("PE_HOSTFILE").is_some() {
            environment.set("PE_HOSTFILE", &hostfile);
        }
        if self.config.get(Key::PeHostfile).is_some() {
            config.set(Key::PeHostfile, hostfile.as_os_str().as_bytes());
        }
        // Made by the daemon that wrote the description, and by the shepherd here. A taken name gets another.
        config.number(Key::OxTmpdir, 1);
        Ok((config.text()?, environment))
    }
}

/// The script's copy, where the description says or beside the directory, if that was moved as a whole.
fn script(config: &Config, dir: &Path) -> Result<Vec<u8>, RunError> {
    let named = PathBuf::from(config.required(Key::ScriptFile)?);
    let beside = dir
        .parent()
        .and_then(Path::parent)
        .zip(named.file_name())
        .map(|(spool, name)| spool.join("job_scripts").join(name));
    for path in std::iter::once(named.clone()).chain(beside) {
        match std::fs::read(&path) {
            Ok(text) => return Ok(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(RunError::Input { path, source }),
        }
    }
    Err(RunError::ScriptGone { script: named, dir: dir.to_owned() })
}

impl Master {
    /// Starts an earlier job's description again, in a new directory.
    ///
    /// # Errors
    /// As [`Master::run`].
    pub fn run_again(&self, rerun: &Rerun, host: &HostFacts) -> Result<Finished, RunError> {
        block_signals()?;
        let mut spool = Spool::create(&self.directories)?;
        let lease = self.lease(spool.job_id())?;
        let gid = lease.as_ref().map(GidLease::gid);
        let (config, environment) = rerun.renewed(&mut spool, gid)?;
        if let Some(hostfile) = &rerun.pe_hostfile {
            write_new(&spool.dir().join(files::PE_HOSTFILE), hostfile, 0o644)?;
        }
        write_new(&spool.dir().join(files::ENVIRONMENT), &environment.text(), 0o644)?;
        write_new(&spool.dir().join(files::CONFIG), &config, 0o644)?;
        let own = rerun.config.get(Key::OxStdio).is_some();
        self.supervise(spool, gid, own && rerun.owner.uid != self.uid, host)
    }

    /// Reads the directory of [`Master::run_again`]; see [`Rerun::read`].
    ///
    /// # Errors
    /// As there.
    pub fn read_again(&self, dir: &Path) -> Result<Rerun, RunError> {
        Rerun::read(dir, self.uid)
    }
}
