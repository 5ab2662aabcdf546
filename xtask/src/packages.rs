//! What the root and peer tests need from the distribution.
//!
//! Debian's packages are the peer we are measured against. They are installed only as root and only when
//! missing, and without starting the daemons that come with them: the tests start their own, privately.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::{answers, is_root, step};

const NEEDED: [&str; 12] = [
    "gridengine-exec",
    "gridengine-master",
    "gridengine-client",
    "csh",
    "ksh",
    "tcsh",
    "strace",
    "procps",
    "iproute2",
    "util-linux",
    "perl",
    "python3",
];

pub(crate) fn install() -> Result<()> {
    if !answers(Command::new("dpkg-query").arg("--version")) {
        eprintln!("xtask: no Debian packages here: tests that need Grid Engine or a shell will say SKIPPED");
        return Ok(());
    }
    let missing: Vec<&str> = NEEDED.into_iter().filter(|name| !is_installed(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() {
        eprintln!("xtask: not root, so these packages stay missing: {}", missing.join(" "));
        return Ok(());
    }
    let _guard = NoDaemons::new()?;
    step("apt-get update", apt().args(["--quiet", "--quiet", "update"]))?;
    step(
        "apt-get install",
        apt().args(["--quiet", "--quiet", "--yes", "--no-install-recommends", "install"]).args(&missing),
    )
}

fn is_installed(package: &str) -> bool {
    let query = Command::new("dpkg-query").args(["--show", "--showformat=${Status}", package]).output();
    query.is_ok_and(|output| output.stdout == b"install ok installed")
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(std::process::Stdio::null());
    command
}

/// Keeps the packages' own qmaster and execd from being started, by Debian's documented means; a policy that
/// is there already is the host's and stays.
struct NoDaemons {
    made: bool,
}

const POLICY: &str = "/usr/sbin/policy-rc.d";

impl NoDaemons {
    fn new() -> Result<Self> {
        if Path::new(POLICY).exists() {
            return Ok(Self { made: false });
        }
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(POLICY)
            .with_context(|| format!("cannot make `{POLICY}`"))?;
        file.write_all(
            b"#!/bin/sh\n# cargo xtask, while it installs packages: start no daemons\nexit 101\n",
        )?;
        Ok(Self { made: true })
    }
}

impl Drop for NoDaemons {
    fn drop(&mut self) {
        if self.made {
            let _ = fs::remove_file(POLICY);
        }
    }
}
