//! The accounts behaviour tests run jobs under. They are made when missing and left behind.

use std::fs;
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

/// The owner of most jobs; member of [`EXTRA_GROUP`].
pub const ALICE: &str = "oxalice";
/// Another ordinary user.
pub const BOB: &str = "oxbob";
/// A supplementary group of [`ALICE`].
pub const EXTRA_GROUP: &str = "oxgrp";
/// The admin user of the packaged Grid Engine.
pub const ADMIN: &str = "sgeadmin";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    pub home: PathBuf,
}

impl Account {
    /// Looks the account up; `None` if the host does not know it.
    pub fn find(name: &str) -> Option<Self> {
        let passwd = fs::read_to_string("/etc/passwd").expect("/etc/passwd is readable");
        passwd.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let [entry, _, uid, gid, _, home, _] = fields[..] else { return None };
            if entry != name {
                return None;
            }
            Some(Self {
                name: name.to_owned(),
                uid: uid.parse().ok()?,
                gid: gid.parse().ok()?,
                home: home.into(),
            })
        })
    }

    fn get(name: &str) -> Self {
        Self::find(name).unwrap_or_else(|| panic!("the account `{name}` exists"))
    }
}

/// The job owner of most tests.
pub fn alice() -> Account {
    made();
    Account::get(ALICE)
}

/// An ordinary user who is not the job owner.
pub fn bob() -> Account {
    made();
    Account::get(BOB)
}

/// The admin user.
pub fn admin() -> Account {
    Account::get(ADMIN)
}

/// The number of a group.
pub fn gid_of(group: &str) -> u32 {
    find_gid(group).unwrap_or_else(|| panic!("the group `{group}` exists"))
}

fn find_gid(group: &str) -> Option<u32> {
    let groups = fs::read_to_string("/etc/group").expect("/etc/group is readable");
    let line = groups.lines().find(|line| line.split(':').next() == Some(group))?;
    line.split(':').nth(2)?.parse().ok()
}

/// Makes what is missing, one test process at a time.
fn made() {
    let complete =
        || Account::find(ALICE).is_some() && Account::find(BOB).is_some() && find_gid(EXTRA_GROUP).is_some();
    if complete() {
        return;
    }
    let lock = File::create("/tmp/oxherd-tests.accounts.lock").expect("the lock of the accounts");
    lock.lock().expect("lock the accounts");
    if find_gid(EXTRA_GROUP).is_none() {
        tool("groupadd", &[EXTRA_GROUP]);
    }
    for name in [ALICE, BOB] {
        if Account::find(name).is_none() {
            tool("useradd", &["--create-home", "--user-group", "--shell", "/bin/sh", name]);
        }
    }
    tool("usermod", &["--append", "--groups", EXTRA_GROUP, ALICE]);
    assert!(complete(), "the test accounts could not be made");
}

fn tool(program: &str, args: &[&str]) {
    let status =
        Command::new(program).args(args).status().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(status.success(), "{program} {args:?}: {status}");
}
