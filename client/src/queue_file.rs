//! Files of queues, host groups and parallel environments: reading them, and drawing what there is to say about them.

use std::path::{Path, PathBuf};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use oxherd_conf::diagnostic::{Diagnostic, Severity};
use oxherd_conf::object::{HostGroup, ParallelEnvironment};
use oxherd_conf::queue::ClusterQueue;
use oxherd_model::host_group::HostGroups;

use crate::failure::{BAD_INPUT, Failure};

/// A file as text.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| anyhow::Error::new(error).context(format!("cannot read {}", path.display())))
        .map_err(|error| Failure::new(BAD_INPUT, error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::text(BAD_INPUT, format!("cannot read {}: byte {at} is not UTF-8 text", path.display()))
    })
}

/// The queue in a file, and how many warnings there are. Errors are drawn into the failure.
pub(crate) fn queue(path: &Path) -> Result<(ClusterQueue, usize), Failure> {
    let text = read(path)?;
    let name = path.display().to_string();
    let (queue, diagnostics) = ClusterQueue::read(&name, &text);
    let errors: Vec<_> = diagnostics.iter().filter(|found| found.is_error()).collect();
    match queue {
        Some(queue) if errors.is_empty() => Ok((queue, diagnostics.len())),
        _ => Err(refused(&name, &text, &errors)),
    }
}

/// Host groups, one to a file as `qconf -shgrp` prints them.
pub(crate) fn host_groups(paths: &[PathBuf]) -> Result<HostGroups, Failure> {
    let mut groups = HostGroups::new();
    for path in paths {
        let text = read(path)?;
        let name = path.display().to_string();
        let (group, diagnostics) = HostGroup::read(&name, &text);
        let errors: Vec<_> = diagnostics.iter().filter(|found| found.is_error()).collect();
        match group {
            Some(group) if errors.is_empty() => groups.insert(group.name, group.members),
            _ => return Err(refused(&name, &text, &errors)),
        }
    }
    Ok(groups)
}

/// Parallel environments, one to a file as `qconf -sp` prints them.
pub(crate) fn parallel_environments(paths: &[PathBuf]) -> Result<Vec<ParallelEnvironment>, Failure> {
    paths
        .iter()
        .map(|path| {
            let text = read(path)?;
            let name = path.display().to_string();
            let (pe, diagnostics) = ParallelEnvironment::read(&name, &text);
            let errors: Vec<_> = diagnostics.iter().filter(|found| found.is_error()).collect();
            pe.filter(|_| errors.is_empty()).ok_or_else(|| refused(&name, &text, &errors))
        })
        .collect()
}

fn refused(name: &str, text: &str, errors: &[&Diagnostic]) -> Failure {
    let drawn: String = errors.iter().map(|error| draw(error, text)).collect();
    let count = errors.len();
    let errors = if count == 1 { "1 error".to_owned() } else { format!("{count} errors") };
    Failure::text(BAD_INPUT, format!("{name} cannot be used: {errors}\n{}", drawn.trim_end()))
}

/// A diagnostic with its line and a caret below what it is about.
pub(crate) fn draw(diagnostic: &Diagnostic, text: &str) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    // Never outside the text, and on the borders of characters, whatever the diagnostic says.
    let border =
        |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (start, end) = (border(diagnostic.span.start), border(diagnostic.span.end));
    let snippet = Snippet::source(text)
        .path(diagnostic.file.as_str())
        .annotation(AnnotationKind::Primary.span(start..end.max(start)));
    let mut group = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code).element(snippet);
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    format!("{}\n", Renderer::plain().render(&[group]))
}
