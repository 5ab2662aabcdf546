//! A configuration text with its lines joined, every byte traceable to where it was written.

use core::ops::Range;

use crate::diagnostic::{Diagnostic, Severity, Span};

/// A text. A backslash before the end of a line makes both a blank, before anything else is looked at
/// (queue_conf(5)).
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    original: String,
    joined: String,
    /// Offsets where a run of unchanged bytes starts: in the joined text and in the original.
    runs: Vec<(usize, usize)>,
    line_starts: Vec<usize>,
}

impl Source {
    /// Takes `text`; `name` stands in diagnostics.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let original = text.into();
        let mut joined = String::with_capacity(original.len());
        let mut runs = vec![(0, 0)];
        let mut from = 0;
        for (at, _) in original.match_indices('\\') {
            let rest = original.get(at + 1..).unwrap_or("");
            let newline = if rest.starts_with('\n') {
                1
            } else if rest.starts_with("\r\n") {
                2
            } else {
                continue;
            };
            joined.push_str(original.get(from..at).unwrap_or(""));
            joined.push(' ');
            from = at + 1 + newline;
            runs.push((joined.len(), from));
        }
        joined.push_str(original.get(from..).unwrap_or(""));
        let line_starts =
            core::iter::once(0).chain(original.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { name: name.into(), original, joined, runs, line_starts }
    }

    /// The name given to [`Source::new`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text as written.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// The text with lines joined.
    pub fn joined(&self) -> &str {
        &self.joined
    }

    /// Where a byte of the joined text was written. The blank of a join lies on its backslash.
    pub fn original_offset(&self, joined: usize) -> usize {
        let run = self.runs.partition_point(|(start, _)| *start <= joined);
        let (start, original) = run.checked_sub(1).and_then(|i| self.runs.get(i)).copied().unwrap_or((0, 0));
        (original + joined - start).min(self.original.len())
    }

    /// The span of a range of the joined text.
    pub fn span(&self, joined: Range<usize>) -> Span {
        let start = self.original_offset(joined.start);
        // An end just after a join belongs to the byte before it.
        let end = match joined.end.checked_sub(1) {
            Some(last) if joined.end > joined.start => self.original_offset(last) + 1,
            _ => start,
        };
        let line = self.line_starts.partition_point(|at| *at <= start).max(1);
        let line_start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let column = self.original.get(line_start..start).map_or(1, |text| text.chars().count() + 1);
        Span { start, end: end.max(start), line, column }
    }

    /// A diagnostic about a range of the joined text.
    pub fn diagnose(
        &self,
        severity: Severity,
        code: &'static str,
        joined: Range<usize>,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            severity,
            code,
            file: self.name.clone(),
            span: self.span(joined),
            message: message.into(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// As [`Source::diagnose`], an error.
    pub fn error(&self, code: &'static str, joined: Range<usize>, message: impl Into<String>) -> Diagnostic {
        self.diagnose(Severity::Error, code, joined, message)
    }

    /// As [`Source::diagnose`], a warning.
    pub fn warning(
        &self,
        code: &'static str,
        joined: Range<usize>,
        message: impl Into<String>,
    ) -> Diagnostic {
        self.diagnose(Severity::Warning, code, joined, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_lines_map_back_to_line_and_column() {
        let source = Source::new("q", "a b, \\\n  c\nd\\\r\ne\\x\n");
        assert_eq!(source.joined(), "a b,    c\nd e\\x\n");
        let at = source.joined().find('c').unwrap();
        let span = source.span(at..at + 1);
        assert_eq!((span.line, span.column, span.end - span.start), (2, 3, 1));
        let at = source.joined().find('e').unwrap();
        let span = source.span(at..at + 1);
        assert_eq!((span.line, span.column), (4, 1));
    }

    #[test]
    fn ends_and_empty_texts_are_harmless() {
        let source = Source::new("q", "");
        assert_eq!(source.span(0..0), Span::default());
        assert_eq!(source.span(5..9).start, 0);
        let source = Source::new("q", "ä\\\n");
        assert_eq!(source.span(0..source.joined().len()).line, 1);
    }
}
