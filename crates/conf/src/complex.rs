//! The complex: the table of attributes that load values, thresholds and requests refer to (`qconf -sc`).

use oxherd_model::specifier::{self, Writer};

use crate::diagnostic::Diagnostic;
use crate::source::Source;
use crate::value::words;

/// Type of a complex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the manual's words")]
pub enum ComplexType {
    Int,
    Double,
    Time,
    Memory,
    Bool,
    String,
    Cstring,
    Restring,
    Host,
}

impl ComplexType {
    const WORDS: [(&'static str, Self); 9] = [
        ("INT", Self::Int),
        ("DOUBLE", Self::Double),
        ("TIME", Self::Time),
        ("MEMORY", Self::Memory),
        ("BOOL", Self::Bool),
        ("STRING", Self::String),
        ("CSTRING", Self::Cstring),
        ("RESTRING", Self::Restring),
        ("HOST", Self::Host),
    ];

    /// Whether values are numbers, so that the complex may be consumable.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::Int | Self::Double | Self::Time | Self::Memory | Self::Bool)
    }

    /// What is wrong with `text` as a value of this type, `None` if nothing is.
    pub fn complaint(self, text: &str) -> Option<String> {
        let error = match self {
            Self::Int | Self::Double => specifier::parse_double(text, Writer::Admin).err(),
            Self::Time => specifier::parse_time(text, Writer::Admin).err(),
            Self::Memory => specifier::parse_memory(text, Writer::Admin).err(),
            Self::Bool => specifier::parse_bool(text).err(),
            Self::String | Self::Cstring | Self::Restring | Self::Host => None,
        };
        error.map(|error| error.to_string())
    }
}

/// `requestable`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the manual's words")]
pub enum Requestable {
    Yes,
    No,
    Forced,
}

/// `consumable`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Consumable {
    /// Compared only.
    No,
    /// Debited per slot.
    Yes,
    /// Debited once per job.
    Job,
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complex {
    /// Full name.
    pub name: String,
    /// Short name.
    pub shortcut: String,
    /// Type of its values.
    pub kind: ComplexType,
    /// `== <= < >= > !=` or `EXCL`.
    pub relop: String,
    /// Whether jobs may or must ask for it.
    pub requestable: Requestable,
    /// Whether jobs use it up.
    pub consumable: Consumable,
    /// What a job takes that does not ask.
    pub default: String,
    /// Share in a job's urgency.
    pub urgency: String,
}

/// The table of a fresh 8.1.9, as `qconf -sc` prints it.
const BUILTIN: &str = include_str!("complex/builtin.txt");

/// The complexes of a fresh 8.1.9. They can be neither deleted nor retyped.
pub fn builtin() -> Vec<Complex> {
    read("builtin", BUILTIN).0
}

/// Reads a table: lines that could be read, and what is wrong with the others.
pub fn read(file: &str, text: &str) -> (Vec<Complex>, Vec<Diagnostic>) {
    let source = Source::new(file, text);
    let mut found: Vec<Complex> = Vec::new();
    let mut diagnostics = Vec::new();
    let mut start = 0;
    for line in source.joined().split_inclusive('\n') {
        let text = line.trim_end();
        if !text.trim_start().is_empty() && !text.trim_start().starts_with('#') {
            match read_line(&source, start, text) {
                Ok(complex) => {
                    let is_taken = |name: &str| found.iter().any(|c| c.name == name || c.shortcut == name);
                    if is_taken(&complex.name) || is_taken(&complex.shortcut) {
                        let message = format!("`{}` or its shortcut is defined twice", complex.name);
                        diagnostics.push(source.error(
                            "complex-duplicate",
                            start..start + text.len(),
                            message,
                        ));
                    } else {
                        found.push(complex);
                    }
                }
                Err(diagnostic) => diagnostics.push(*diagnostic),
            }
        }
        start += line.len();
    }
    (found, diagnostics)
}

fn read_line(source: &Source, start: usize, line: &str) -> Result<Complex, Box<Diagnostic>> {
    let columns: Vec<_> = words(line).collect();
    let [name, shortcut, kind, relop, requestable, consumable, default, urgency] = columns.as_slice() else {
        let message = format!("expected 8 columns, found {}", columns.len());
        let help = "name shortcut type relop requestable consumable default urgency";
        let at = start..start + line.len();
        return Err(Box::new(source.error("complex-columns", at, message).help(help)));
    };
    let fail = |column: &(core::ops::Range<usize>, &str), expected: &str| {
        let at = start + column.0.start..start + column.0.end;
        let message = format!("expected {expected}, found `{}`", column.1);
        Box::new(source.error("complex-column", at, message))
    };
    let upper = |column: &(core::ops::Range<usize>, &str)| column.1.to_ascii_uppercase();
    let complex = Complex {
        name: name.1.to_owned(),
        shortcut: shortcut.1.to_owned(),
        kind: ComplexType::WORDS
            .iter()
            .find(|(word, _)| *word == upper(kind))
            .map(|(_, kind)| *kind)
            .ok_or_else(|| {
                fail(kind, "INT, DOUBLE, TIME, MEMORY, BOOL, STRING, CSTRING, RESTRING or HOST")
            })?,
        relop: match upper(relop).as_str() {
            known @ ("==" | "<=" | "<" | ">=" | ">" | "!=" | "EXCL") => known.to_owned(),
            _ => return Err(fail(relop, "==, <=, <, >=, >, != or EXCL")),
        },
        requestable: match upper(requestable).as_str() {
            "YES" | "Y" => Requestable::Yes,
            "NO" | "N" => Requestable::No,
            "FORCED" | "F" => Requestable::Forced,
            _ => return Err(fail(requestable, "YES, NO or FORCED")),
        },
        consumable: match upper(consumable).as_str() {
            "YES" | "Y" => Consumable::Yes,
            "NO" | "N" => Consumable::No,
            "JOB" | "J" => Consumable::Job,
            _ => return Err(fail(consumable, "YES, NO or JOB")),
        },
        default: default.1.to_owned(),
        urgency: urgency.1.to_owned(),
    };
    if complex.consumable != Consumable::No && !complex.kind.is_numeric() {
        return Err(fail(consumable, "NO, because only numeric complexes are consumable"));
    }
    Ok(complex)
}

/// The table as `qconf -sc` prints it.
pub fn print(complexes: &[Complex]) -> String {
    let longest = |at_least: usize, of: fn(&Complex) -> &str| {
        complexes.iter().map(|complex| of(complex).len() + 1).fold(at_least, usize::max)
    };
    let name_width = longest(20, |complex| &complex.name);
    let shortcut_width = longest(11, |complex| &complex.shortcut);
    let default_width = longest(9, |complex| &complex.default);
    let mut text = format!(
        "{:<name_width$}{:<shortcut_width$}type      relop requestable consumable {:<default_width$}urgency \n",
        "#name", "shortcut", "default"
    );
    text.push_str(&format!("#{}\n", "-".repeat(text.len() - 2)));
    for complex in complexes {
        let kind =
            ComplexType::WORDS.iter().find(|(_, kind)| *kind == complex.kind).map_or("", |(word, _)| word);
        let requestable = match complex.requestable {
            Requestable::Yes => "YES",
            Requestable::No => "NO",
            Requestable::Forced => "FORCED",
        };
        let consumable = match complex.consumable {
            Consumable::Yes => "YES",
            Consumable::No => "NO",
            Consumable::Job => "JOB",
        };
        text.push_str(&format!(
            "{:<name_width$}{:<shortcut_width$}{kind:<10}{:<6}{requestable:<12}{consumable:<11}{:<default_width$}{}\n",
            complex.name, complex.shortcut, complex.relop, complex.default, complex.urgency
        ));
    }
    text.push_str("# >#< starts a comment but comments are not saved across edits --------\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builtin_table_prints_as_qconf_does() {
        let (complexes, diagnostics) = read("builtin", BUILTIN);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(complexes.len(), BUILTIN.lines().filter(|line| !line.starts_with('#')).count());
        assert_eq!(print(&complexes), BUILTIN);
    }

    #[test]
    fn broken_lines_are_named() {
        let text = "a a INT <= YES YES 0 0\nb b FLOAT == YES NO 0 0\nc c INT\na x INT == YES NO 0 0\n\
                    d d STRING == YES YES NONE 0\n";
        let (complexes, diagnostics) = read("c", text);
        assert_eq!(complexes.len(), 1);
        let found: Vec<_> = diagnostics.iter().map(|d| (d.line(), d.code)).collect();
        let expect =
            [(2, "complex-column"), (3, "complex-columns"), (4, "complex-duplicate"), (5, "complex-column")];
        assert_eq!(found, expect);
    }
}
