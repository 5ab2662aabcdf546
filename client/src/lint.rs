//! `oxherd lint`: what is wrong with a queue file, and what surely means something else.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use oxherd_conf::diagnostic::Diagnostic;
use oxherd_conf::lint::{LintContext, ProgramState, Programs, lint_queue};
use oxherd_conf::queue::ClusterQueue;
use serde_json::json;

use crate::failure::{BAD_INPUT, Failure};
use crate::{output, queue_file};

/// Check queue files.
///
/// Exit code 0: nothing, or warnings only; 1: errors; 125: a file cannot be read.
#[derive(Debug, clap::Args)]
pub(crate) struct LintArguments {
    /// Print a JSON array of all diagnostics
    #[arg(long)]
    json: bool,
    /// Host groups that the queues may name, as `qconf -shgrp` prints them
    #[arg(long, value_name = "FILE")]
    host_group: Vec<PathBuf>,
    /// Queue files, as `qconf -sq` prints them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub(crate) fn main(arguments: &LintArguments) -> ExitCode {
    let groups = match queue_file::host_groups(&arguments.host_group) {
        Ok(groups) => groups,
        Err(failure) => {
            output::say(&failure);
            return ExitCode::from(failure.code);
        }
    };
    let context = LintContext {
        // Groups of a cluster are usually not at hand: only who brings some wants to hear of others.
        groups: (!arguments.host_group.is_empty()).then_some(&groups),
        programs: Some(&ThisHost),
        ..LintContext::default()
    };
    let mut unreadable: Option<Failure> = None;
    let (mut documents, mut errors, mut warnings) = (Vec::new(), 0_usize, 0_usize);
    for path in &arguments.files {
        let text = match queue_file::read(path) {
            Ok(text) => text,
            Err(failure) => {
                output::say(&failure);
                unreadable = Some(failure);
                continue;
            }
        };
        for diagnostic in check(path, &text, &context) {
            if diagnostic.is_error() {
                errors += 1;
            } else {
                warnings += 1;
            }
            if arguments.json {
                documents.push(document(&diagnostic));
            } else {
                output::text(&format!("{}\n", queue_file::draw(&diagnostic, &text)));
            }
        }
    }
    if arguments.json {
        output::text(&output::json(&documents.into()));
    } else if errors + warnings > 0 {
        output::text(&format!("{}, {}\n", count(errors, "error"), count(warnings, "warning")));
    }
    match unreadable {
        Some(_) => ExitCode::from(BAD_INPUT),
        None => ExitCode::from(u8::from(errors > 0)),
    }
}

/// Everything there is to say about a file, in the order of its lines.
fn check(path: &Path, text: &str, context: &LintContext<'_>) -> Vec<Diagnostic> {
    let (queue, mut diagnostics) = ClusterQueue::read(&path.display().to_string(), text);
    if let Some(queue) = queue {
        diagnostics.extend(lint_queue(&queue, context));
    }
    diagnostics.sort_by_key(|found| found.span.start);
    diagnostics
}

fn document(found: &Diagnostic) -> serde_json::Value {
    json!({
        "severity": found.severity.as_str(),
        "code": found.code,
        "file": found.file,
        "line": found.line(),
        "column": found.column(),
        "message": found.message,
        "notes": found.notes,
        "help": found.help,
    })
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The file system of this host.
#[derive(Debug)]
struct ThisHost;

impl Programs for ThisHost {
    fn state(&self, path: &str) -> ProgramState {
        use std::os::unix::fs::PermissionsExt as _;
        match std::fs::metadata(path) {
            Ok(facts) if facts.is_file() && facts.permissions().mode() & 0o111 != 0 => {
                ProgramState::Executable
            }
            Ok(_) => ProgramState::NotExecutable,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => ProgramState::Missing,
            Err(_) => ProgramState::Unknown,
        }
    }

    fn is_directory(&self, path: &str) -> Option<bool> {
        match std::fs::metadata(path) {
            Ok(facts) => Some(facts.is_dir()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(false),
            Err(_) => None,
        }
    }
}
