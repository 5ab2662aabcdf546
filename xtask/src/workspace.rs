//! Where the workspace is, and how commands are run in it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// The workspace's root. Cargo names the package's directory at run time; without it (the binary started by
/// hand) the directory this was built in is right.
pub(crate) fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map(Path::to_path_buf).unwrap_or(package)
}

/// A cargo command in the workspace's root: the cargo that runs us, no terminal input.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    // What `cargo run` set for us describes the package xtask; a build below must not see it.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs one step of a gate; its failure carries the step's name.
pub(crate) fn step(name: &str, command: &mut Command) -> Result<()> {
    eprintln!("xtask: {name}");
    let status = command.status().with_context(|| format!("step `{name}` cannot be started"))?;
    if !status.success() {
        bail!("step `{name}` FAILED ({status})");
    }
    Ok(())
}

/// Whether a command exists and answers with success; what it prints is dropped.
pub(crate) fn answers(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The standard output of a command that must succeed; what it complained about is part of the error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{name}`"))?;
    if !output.status.success() {
        bail!("`{name}` failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Cargo's target directory, whoever chose it (variable, configuration or default).
pub(crate) fn target_dir() -> Result<PathBuf> {
    let metadata = output(&mut cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    // One string out of a document of cargo's own: no JSON reader for that. A path with a quote or a
    // backslash in it would need one, so it is refused rather than misread.
    let value = metadata
        .split_once("\"target_directory\":\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map(|(value, _)| value)
        .context("cargo metadata names no target directory")?;
    if value.contains('\\') {
        bail!("the target directory `{value}` has characters in its name that xtask does not read");
    }
    Ok(PathBuf::from(value))
}

pub(crate) fn is_root() -> bool {
    crate::spawn::effective_uid() == 0
}

/// Uid and gid of an account, from whatever name service the host uses.
pub(crate) fn account(name: &str) -> Option<(u32, u32)> {
    let output = Command::new("getent").args(["passwd", name]).stdin(Stdio::null()).output().ok()?;
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut fields = line.trim_end().split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
