//! Accounts: what the name service knows of the job owner.

use std::ffi::CString;
use std::path::PathBuf;

use oxherd_sys::users::{self, User};

/// A user of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    /// Primary group of the passwd entry.
    pub gid: u32,
    /// Supplementary groups, the primary one included.
    pub groups: Vec<u32>,
    pub home: PathBuf,
    pub shell: PathBuf,
}

/// Why an account cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("user `{0}` does not exist on this host")]
    Unknown(String),
    #[error("user id {0} has no account on this host")]
    UnknownId(u32),
    #[error("cannot look up user `{user}`")]
    Lookup { user: String, source: std::io::Error },
}

impl Account {
    /// Looks a name up.
    ///
    /// # Errors
    /// No such user, or the name service failed.
    pub fn by_name(name: &str) -> Result<Self, AccountError> {
        let unknown = || AccountError::Unknown(name.to_owned());
        let terminated = CString::new(name).map_err(|_| unknown())?;
        match users::by_name(&terminated) {
            Ok(Some(user)) => Self::complete(user),
            Ok(None) => Err(unknown()),
            Err(source) => Err(AccountError::Lookup { user: name.to_owned(), source }),
        }
    }

    /// Looks a user id up.
    ///
    /// # Errors
    /// As [`Account::by_name`].
    pub fn by_uid(uid: u32) -> Result<Self, AccountError> {
        match users::by_uid(uid) {
            Ok(Some(user)) => Self::complete(user),
            Ok(None) => Err(AccountError::UnknownId(uid)),
            Err(source) => Err(AccountError::Lookup { user: uid.to_string(), source }),
        }
    }

    /// The account of the calling process (its effective user id).
    ///
    /// # Errors
    /// As [`Account::by_name`].
    pub fn own() -> Result<Self, AccountError> {
        Self::by_uid(oxherd_sys::credentials::user_ids().effective)
    }

    fn complete(user: User) -> Result<Self, AccountError> {
        let name = user.name.to_string_lossy().into_owned();
        let failed = |source| AccountError::Lookup { user: name.clone(), source };
        let terminated = CString::new(name.clone()).map_err(|error| failed(error.into()))?;
        let groups = users::groups(&terminated, user.gid).map_err(failed)?;
        Ok(Self {
            uid: user.uid,
            gid: user.gid,
            groups,
            home: user.home.into(),
            shell: user.shell.into(),
            name,
        })
    }
}

/// The home directory of a user, for `~user` in paths; `None` if there is no such user.
#[must_use]
pub fn home_of(name: &str) -> Option<PathBuf> {
    let name = CString::new(name).ok()?;
    users::by_name(&name).ok().flatten().map(|user| user.home.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_found_by_name_and_number() {
        let root = Account::by_name("root").expect("every host has root");
        assert_eq!((root.uid, root.gid), (0, 0));
        assert_eq!(Account::by_uid(0).expect("root"), root);
        assert_eq!(home_of("root"), Some(root.home));
    }

    #[test]
    fn an_unknown_user_is_named() {
        let error = Account::by_name("no-such-user-here").expect_err("unknown");
        assert_eq!(error.to_string(), "user `no-such-user-here` does not exist on this host");
    }
}
