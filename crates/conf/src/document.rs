//! A `name value` file of any kind: PE, checkpoint environment, host, host group, host configuration.
//!
//! Everything is kept as written; the readers in [`crate::object`] and [`crate::global`] take typed views of it.

use oxherd_model::specifier::Writer;

use crate::attribute::{Kind, closest_of};
use crate::diagnostic::Diagnostic;
use crate::source::Source;
use crate::syntax::{self, Entry};
use crate::value::{self, FromValue};

/// What becomes of names that the caller does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// An error, as stock's qconf has it for objects.
    Refused,
    /// A warning; the line is kept.
    Kept,
}

/// The names a kind of file has.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// The kind in words, e.g. `parallel environment`.
    pub what: &'static str,
    /// Names that must be there.
    pub required: &'static [&'static str],
    /// Names that may be there.
    pub optional: &'static [&'static str],
    /// All others.
    pub unknown: Unknown,
}

/// The entries of a file with the text around them.
#[derive(Debug, Clone)]
pub struct Document {
    source: Source,
    entries: Vec<Entry>,
}

impl Document {
    /// Reads `text`: duplicates and names outside `schema` are diagnosed, all of them.
    pub fn read(name: &str, text: &str, schema: &Schema) -> (Self, Vec<Diagnostic>) {
        let source = Source::new(name, text);
        let (entries, mut diagnostics) = syntax::parse(&source);
        let known = || schema.required.iter().chain(schema.optional).copied();
        for (index, entry) in entries.iter().enumerate() {
            let name = &entry.name;
            if let Some(first) = entries.iter().take(index).find(|other| other.name.value == name.value) {
                let message = format!("`{}` is set twice", name.value);
                let diagnostic = source.error("object-duplicate", name.at.clone(), message);
                diagnostics
                    .push(diagnostic.note(format!("the first one is in line {}", first.name.span.line)));
            } else if !known().any(|known| known == name.value) {
                let message = format!("a {} has no `{}`", schema.what, name.value);
                let mut diagnostic = match schema.unknown {
                    Unknown::Refused => source.error("object-unknown-name", name.at.clone(), message),
                    Unknown::Kept => source.warning("object-unknown-name", name.at.clone(), message),
                };
                if let Some(meant) = closest_of(&name.value, known()) {
                    diagnostic = diagnostic.help(format!("did you mean `{meant}`?"));
                }
                diagnostics.push(diagnostic);
            }
        }
        for required in schema.required {
            if entries.iter().all(|entry| entry.name.value != *required) {
                let end = source.joined().trim_end().len();
                let message = format!("required entry `{required}` of this {} is missing", schema.what);
                diagnostics.push(source.error("object-missing", end..end, message));
            }
        }
        (Self { source, entries }, diagnostics)
    }

    /// The value's text, `None` if the name is absent.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.entry(name).map(|entry| entry.value.value.as_str())
    }

    /// Names and values in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|entry| (entry.name.value.as_str(), entry.value.value.as_str()))
    }

    /// The file as it was written.
    pub fn print(&self) -> &str {
        self.source.original()
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name.value == name)
    }

    /// The typed value of `name`; `otherwise` if it is absent or, with a diagnostic, unreadable.
    pub(crate) fn typed<T: FromValue>(
        &self,
        name: &str,
        kind: Kind,
        otherwise: T,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> T {
        let Some(entry) = self.entry(name) else { return otherwise };
        let (value, remarks) = value::parse(kind, &entry.value.value, Writer::Admin);
        for remark in remarks {
            let base = entry.value.at.start;
            let at = base + remark.at.start..base + remark.at.end;
            let message = format!("{name}: {}", remark.message);
            let mut diagnostic = self.source.diagnose(remark.severity, remark.code, at, message);
            diagnostic.help = remark.help;
            diagnostics.push(diagnostic);
        }
        value.as_ref().and_then(T::from_value).unwrap_or(otherwise)
    }

    /// An error about the value of `name`.
    pub(crate) fn error(&self, name: &str, code: &'static str, message: String) -> Diagnostic {
        let at = self.entry(name).map_or(0..0, |entry| entry.value.at.clone());
        self.source.error(code, at, format!("{name}: {message}"))
    }
}
