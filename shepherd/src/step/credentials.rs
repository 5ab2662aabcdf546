//! Identity: the job owner, or the `user@` of a procedure; groups, additional group, and giving root up for good.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStrExt;

use oxherd_handoff::{ExitState, Key};
use oxherd_sys::{credentials, users};

use super::Failure;
use crate::spec::Spec;

/// An account with its groups, as the child will have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub name: OsString,
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    /// From the name service; empty where it was not asked.
    pub home: OsString,
    pub shell: OsString,
}

impl Identity {
    /// The job owner, from the `ox_` keys where they are there, else from the name service.
    ///
    /// # Errors
    /// A sentence.
    pub fn of_owner(spec: &Spec) -> Result<Self, String> {
        let name = spec.config.required(Key::JobOwner).map_err(|error| error.to_string())?;
        let id = |key| spec.config.id(key).map_err(|error| error.to_string());
        if let (Some(uid), Some(gid)) = (id(Key::OxUid)?, id(Key::OxGid)?) {
            let groups = spec.config.shown(Key::OxGroups);
            let groups = groups.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>();
            let groups = groups.map_err(|_| "config: `ox_groups`: expected group numbers".to_owned())?;
            return Ok(Self {
                name: name.to_owned(),
                uid,
                gid,
                groups,
                home: OsString::new(),
                shell: OsString::new(),
            });
        }
        let mut identity = Self::of_user(name.as_bytes())?;
        // USE_QSUB_GID: the group the job was submitted with. The groups stay those of the account.
        let qsub_gid = spec.config.shown(Key::QsubGid);
        if !matches!(qsub_gid.as_str(), "" | "no") {
            identity.gid = qsub_gid
                .parse()
                .map_err(|_| format!("config: `qsub_gid`: expected a group number, found `{qsub_gid}`"))?;
        }
        Ok(identity)
    }

    /// An account by name.
    ///
    /// # Errors
    /// A sentence where the account does not exist or cannot be looked up.
    pub fn of_user(name: &[u8]) -> Result<Self, String> {
        let shown = String::from_utf8_lossy(name);
        let c_name =
            CString::new(name).map_err(|_| format!("can't get passwd entry for user \"{shown}\""))?;
        let user = users::by_name(&c_name)
            .map_err(|error| format!("can't get passwd entry for user \"{shown}\": {error}"))?
            .ok_or_else(|| {
                format!("can't get passwd entry for user \"{shown}\": no such user on this host")
            })?;
        let groups = users::groups(&c_name, user.gid)
            .map_err(|error| format!("can't get the groups of user \"{shown}\": {error}"))?;
        Ok(Self { name: user.name, uid: user.uid, gid: user.gid, groups, home: user.home, shell: user.shell })
    }

    /// `min_uid` and `min_gid` of sge_conf(5); they bind the job alone (8.1.9).
    ///
    /// # Errors
    /// Code of the phase, with the sentence of 8.1.9.
    pub fn check_minimum(&self, spec: &Spec) -> Result<(), Failure> {
        let name = self.name.to_string_lossy();
        for (key, what, id) in [(Key::MinUid, "uid", self.uid), (Key::MinGid, "gid", self.gid)] {
            let minimum =
                spec.config.id(key).map_err(|error| Failure::phase(error.to_string()))?.unwrap_or(0);
            if id < minimum {
                let text =
                    format!("{what} of user {name} ({id}) less than minimum allowed in conf ({minimum})");
                return Err(Failure::phase(text));
            }
        }
        Ok(())
    }

    /// Adds the group that marks the job's processes.
    pub fn mark(&mut self, add_grp_id: Option<u32>) {
        if let Some(gid) = add_grp_id.filter(|gid| !self.groups.contains(gid)) {
            self.groups.push(gid);
        }
    }

    /// Becomes this account for good.
    ///
    /// # Errors
    /// 38 where the group list is full, else the code of the phase.
    pub fn assume(&self, spec: &Spec) -> Result<(), Failure> {
        self.fit_groups(spec)?;
        credentials::become_user(self.uid, self.gid, &self.groups).map_err(|error| self.failure(&error))
    }

    /// Takes the effective ids alone, to open the job owner's files on the way to another user.
    ///
    /// # Errors
    /// As [`Identity::assume`].
    pub fn assume_effective(&self, spec: &Spec) -> Result<(), Failure> {
        self.fit_groups(spec)?;
        credentials::set_groups(&self.groups)
            .and_then(|()| credentials::set_effective_group(self.gid))
            .and_then(|()| credentials::set_effective_user(self.uid))
            .map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &std::io::Error) -> Failure {
        Failure::phase(format!("can't become user \"{}\": {error}", self.name.to_string_lossy()))
    }

    /// The kernel takes 65536 groups.
    fn fit_groups(&self, spec: &Spec) -> Result<(), Failure> {
        const LARGEST: usize = 65_536;
        if self.groups.len() > LARGEST && spec.config.get(Key::SkipNgroupsMaxSilently) != Some(b"yes") {
            let text = format!(
                "user \"{}\" is in too many groups for the additional one",
                self.name.to_string_lossy()
            );
            return Err(Failure::coded(ExitState::AdditionalGroup, text));
        }
        Ok(())
    }
}

/// Gives effective root back to a child that took a user's effective ids.
///
/// # Errors
/// Code of the phase.
pub fn regain_root() -> Result<(), Failure> {
    credentials::set_effective_user(0)
        .and_then(|()| credentials::set_effective_group(0))
        .map_err(|error| Failure::phase(format!("can't regain root: {error}")))
}
