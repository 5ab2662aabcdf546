//! Warnings about legal queues that surely mean something else.
//!
//! Each check is a function over the queue; what only the host or other files know comes in through
//! [`LintContext`]. A check whose facts are absent stays silent.

mod access;
pub mod codes;
mod limits;
mod paths;
mod references;

use core::fmt;
use core::ops::Range;

use oxherd_model::host_group::HostGroups;

use crate::complex::Complex;
use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::host_value::Written;
use crate::queue::ClusterQueue;
use crate::value::Value;

/// What is the matter with a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProgramState {
    /// It can be run.
    Executable,
    /// There is no such file.
    Missing,
    /// It is there, but is no file or has no execute bit.
    NotExecutable,
    /// It cannot be told, e.g. the directory cannot be read. No diagnostic.
    Unknown,
}

/// Looks at the file system for the linter, which does no I/O itself.
pub trait Programs: fmt::Debug {
    /// The state of the program at an absolute path.
    fn state(&self, path: &str) -> ProgramState;
    /// Whether `path` is a directory; `None` if that cannot be told.
    fn is_directory(&self, path: &str) -> Option<bool>;
}

/// What the linter may know besides the queue. `None` switches the checks off that need it.
#[derive(Debug, Clone, Copy, Default)]
pub struct LintContext<'a> {
    /// The complex table; without it the built-in one is used and unknown names are warnings only.
    pub complexes: Option<&'a [Complex]>,
    /// The host groups.
    pub groups: Option<&'a HostGroups>,
    /// The file system of this host.
    pub programs: Option<&'a dyn Programs>,
    /// Names of all queues.
    pub queues: Option<&'a [String]>,
    /// Names of all calendars.
    pub calendars: Option<&'a [String]>,
    /// Names of all parallel environments.
    pub parallel_environments: Option<&'a [String]>,
    /// Names of all checkpoint environments.
    pub checkpoint_environments: Option<&'a [String]>,
    /// Names of all access lists.
    pub access_lists: Option<&'a [String]>,
    /// Names of all projects.
    pub projects: Option<&'a [String]>,
}

/// All findings about a queue, in file order.
pub fn lint_queue(queue: &ClusterQueue, context: &LintContext<'_>) -> Vec<Diagnostic> {
    let mut lint = Lint { queue, context, found: Vec::new() };
    limits::check(&mut lint);
    paths::check(&mut lint);
    references::check(&mut lint);
    access::check(&mut lint);
    let mut found = lint.found;
    found.sort_by_key(|diagnostic| diagnostic.span.start);
    found
}

struct Lint<'a> {
    queue: &'a ClusterQueue,
    context: &'a LintContext<'a>,
    found: Vec<Diagnostic>,
}

impl<'a> Lint<'a> {
    /// Default and overrides of an attribute.
    fn values(&self, name: &str) -> Vec<&'a Written<Value>> {
        self.queue.get(name).map(|setting| setting.value.all().collect()).unwrap_or_default()
    }

    fn report(
        &mut self,
        severity: Severity,
        code: &'static str,
        span: Span,
        message: String,
    ) -> &mut Diagnostic {
        let file = self.queue.file().to_owned();
        self.found.push(Diagnostic { severity, code, file, span, message, notes: Vec::new(), help: None });
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    fn warn(&mut self, code: &'static str, span: Span, message: String) -> &mut Diagnostic {
        self.report(Severity::Warning, code, span, message)
    }
}

/// The place of a part of a value; the whole value if it is spread over lines.
fn part<T>(written: &Written<T>, at: &Range<usize>) -> Span {
    let span = written.span;
    if span.end - span.start != written.text.len() {
        return span;
    }
    let column = span.column + written.text.get(..at.start).map_or(0, |text| text.chars().count());
    Span { start: span.start + at.start, end: span.start + at.end, line: span.line, column }
}
