//! What there is to say about a configuration text. Plain data; drawing it is the binaries' business.

use core::fmt;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Accepted, but worth knowing.
    Warning,
    /// The file is not used.
    Error,
}

impl Severity {
    /// `warning` or `error`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A place in the text as it was written, before lines are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// Line of `start`, from 1.
    pub line: usize,
    /// Column of `start` in characters, from 1.
    pub column: usize,
}

impl Default for Span {
    fn default() -> Self {
        Self { start: 0, end: 0, line: 1, column: 1 }
    }
}

/// One message about a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable name such as `queue-unknown-attribute`.
    pub code: &'static str,
    /// Name of the text: a file name, or `--set`.
    pub file: String,
    /// The place.
    pub span: Span,
    /// What was expected and what was found.
    pub message: String,
    /// More facts, e.g. the place of an earlier definition.
    pub notes: Vec<String>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Line, from 1.
    pub const fn line(&self) -> usize {
        self.span.line
    }

    /// Column in characters, from 1.
    pub const fn column(&self) -> usize {
        self.span.column
    }

    /// Whether the file cannot be used.
    pub const fn is_error(&self) -> bool {
        matches!(self.severity, Severity::Error)
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Sets the help line.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Plain text: the headline, the line with a caret below it, notes and help. `text` is the original file.
    pub fn render(&self, text: &str) -> String {
        let line = text.lines().nth(self.span.line - 1).unwrap_or("");
        let written: String =
            line.chars().skip(self.span.column - 1).take_while(|c| !matches!(c, '\r' | '\n')).collect();
        let length = self.span.end.saturating_sub(self.span.start).clamp(1, written.len().max(1));
        let width = written.get(..length).map_or(length, |part| part.chars().count()).max(1);
        // Tabs stay tabs so that the caret stands below its character.
        let indent: String =
            line.chars().take(self.span.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let mut out = format!("{self}\n  | {}\n  | {indent}{}\n", printable(line), "^".repeat(width));
        for note in &self.notes {
            out.push_str(&format!("  = note: {}\n", printable(note)));
        }
        if let Some(help) = &self.help {
            out.push_str(&format!("  = help: {}\n", printable(help)));
        }
        out
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, severity, code, message, .. } = self;
        let (line, column) = (self.line(), self.column());
        write!(f, "{file}:{line}:{column}: {severity}[{code}]: {}", printable(message))
    }
}

/// Text of a file on its way to a terminal: control characters become replacement characters, one for one.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use crate::source::Source;

    #[test]
    fn carets_stand_below_what_they_mean() {
        let source = Source::new("f", "a\n\tä b\x1bc\n");
        let diagnostic = source.error("some-code", 6..8, "bad `b\x1b`").note("n").help("h");
        assert_eq!(
            diagnostic.render(source.original()),
            "f:2:4: error[some-code]: bad `b\u{fffd}`\n  | \tä b\u{fffd}c\n  | \t  ^^\n  = note: n\n  = help: h\n"
        );
        assert_eq!((diagnostic.line(), diagnostic.column()), (2, 4));
    }
}
