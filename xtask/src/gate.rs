//! The gate: everything that has to hold before a change goes in.

use std::process::Command;

use anyhow::{Result, bail};

use crate::packages;
use crate::workspace::{answers, cargo, is_root, root, step, target_dir};

/// Runs all tests. `require` names the kinds of test whose skipping is a failure.
///
/// The documentation tests go first, so that the runner's summary is the end of the output. With arguments
/// (usually a filter) they are left out: they take minutes and are not what was asked for.
pub(crate) fn test(arguments: &[String], require: Option<&str>) -> Result<()> {
    packages::install()?;
    step("build", &mut cargo(&["build", "--workspace", "--bins"]))?;
    let binaries = target_dir()?.join("debug");
    let prepare = |mut command: Command| {
        command.env("OXHERD_BIN_DIR", &binaries);
        if let Some(require) = require {
            command.env("OXHERD_REQUIRE", require);
        }
        command
    };
    if arguments.is_empty() {
        step(
            "documentation tests",
            &mut prepare(cargo(&["test", "--quiet", "--workspace", "--doc", "--no-fail-fast"])),
        )?;
    }
    let mut runner = if answers(&mut cargo(&["nextest", "--version"])) {
        let mut runner = prepare(cargo(&["nextest", "run", "--workspace"]));
        if has_full_profile() {
            runner.args(["--profile", "full"]);
        }
        runner
    } else {
        eprintln!("xtask: cargo-nextest is not installed, `cargo test` runs the tests instead");
        // One thread: nextest's groups keep the root and peer tests apart, libtest has no such thing.
        let mut runner = prepare(cargo(&["test", "--workspace", "--lib", "--bins", "--tests"]));
        if require.is_some() {
            runner.arg("--no-fail-fast");
        }
        runner.env("RUST_TEST_THREADS", "1");
        runner
    };
    step("tests", runner.args(arguments))
}

fn has_full_profile() -> bool {
    std::fs::read_to_string(root().join(".config/nextest.toml"))
        .is_ok_and(|text| text.lines().any(|line| line.trim() == "[profile.full]"))
}

pub(crate) fn ci() -> Result<()> {
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !answers(&mut cargo(&[tool, "--version"])) {
            bail!("`cargo {tool}` is missing: install it with `rustup component add {component}`");
        }
    }
    step("formatting", &mut cargo(&["fmt", "--all", "--", "--check"]))?;
    step("clippy", &mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    // A skip is not a pass. Without root neither kind can run, so there nothing is required of them.
    let require = if is_root() {
        Some("root,peer")
    } else {
        eprintln!("xtask: not root: the root and peer tests will be SKIPPED, this is not the whole gate");
        None
    };
    test(&[], require)
}
