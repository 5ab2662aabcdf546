//! A cluster queue: all attributes of queue_conf(5), typed, with host-dependent values, as written.

mod read;
mod resolve;

use oxherd_model::specifier::Writer;

use crate::attribute::{self, ATTRIBUTES, Attribute};
use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::host_value::{HostValue, Written};
use crate::source::Source;
use crate::value::{self, Value};

/// How strictly a queue file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Who wrote it: [`Writer::Admin`] for a file, [`Writer::Request`] for what a qmaster has accepted already.
    pub writer: Writer,
    /// Take attributes that the file lacks from the template (with no diagnostic) instead of refusing the file.
    pub fill_missing: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self { writer: Writer::Admin, fill_missing: false }
    }
}

/// One attribute of a queue.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its row in the table.
    pub attribute: &'static Attribute,
    /// Its values.
    pub value: HostValue<Value>,
    /// Whether `--set` replaced what the file says.
    pub is_set: bool,
    /// Place of the name.
    pub name_span: Span,
    leading: String,
    written: Option<String>,
}

impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        self.attribute.name == other.attribute.name
            && self.value == other.value
            && self.leading == other.leading
    }
}

/// A cluster queue. Equality compares values and texts, not places.
#[derive(Debug, Clone)]
pub struct ClusterQueue {
    file: String,
    settings: Vec<Setting>,
    trailing: String,
}

impl PartialEq for ClusterQueue {
    fn eq(&self, other: &Self) -> bool {
        self.settings == other.settings && self.trailing == other.trailing
    }
}

/// Width of the name column of `qconf -sq`.
const NAME_WIDTH: usize = 22;

impl ClusterQueue {
    /// The template of 8.1.9 under another name.
    pub fn template(qname: &str) -> Self {
        let settings = ATTRIBUTES
            .iter()
            .map(|attribute| {
                let text = if attribute.name == "qname" { qname } else { attribute.default };
                template_setting(attribute, text)
            })
            .collect();
        Self { file: "template".to_owned(), settings, trailing: String::new() }
    }

    /// Reads a queue file as an administrator's. `name` stands in the diagnostics.
    /// There is a queue unless a diagnostic is an error.
    pub fn read(name: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        Self::read_as(name, text, Reading::default())
    }

    /// As [`ClusterQueue::read`], for another writer or for incomplete files.
    pub fn read_as(name: &str, text: &str, reading: Reading) -> (Option<Self>, Vec<Diagnostic>) {
        read::read(&Source::new(name, text), reading)
    }

    /// The value of `qname`.
    pub fn qname(&self) -> &str {
        match self.get("qname").map(|setting| &setting.value.default.value) {
            Some(Value::Name(name)) => name,
            _ => "",
        }
    }

    /// The name of the text this queue was read from.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// All attributes, in file order.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// One attribute.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.attribute.name == name)
    }

    /// Replaces all values of an attribute, overrides included, as `--set NAME=VALUE` asks for.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type, a bracketed value. The queue is then unchanged.
    #[expect(clippy::result_large_err, reason = "made once per `--set`, never in a loop")]
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), Diagnostic> {
        let text = text.trim();
        let fail = |code, message: String| Diagnostic {
            severity: Severity::Error,
            code,
            file: "--set".to_owned(),
            span: Span { end: text.len(), ..Span::default() },
            message: format!("{name}: {message}"),
            notes: Vec::new(),
            help: None,
        };
        let Some(attribute) = attribute::find(name) else {
            let mut diagnostic =
                fail("queue-unknown-attribute", "there is no such queue attribute".to_owned());
            diagnostic.help = attribute::closest(name).map(|known| format!("did you mean `{known}`?"));
            return Err(diagnostic);
        };
        if text.is_empty() {
            return Err(fail("queue-empty-value", "expected a value, e.g. `NONE`".to_owned()));
        }
        if text.contains(['\n', '\r', '[']) || text.ends_with('\\') {
            return Err(fail(
                "queue-override-forbidden",
                format!("expected one value without brackets and line ends, found `{}`", text.escape_debug()),
            ));
        }
        let (value, remarks) = value::parse(attribute.kind, text, Writer::Admin);
        if let Some(remark) = remarks.into_iter().find(|remark| remark.severity == Severity::Error) {
            let mut diagnostic = fail(remark.code, remark.message);
            diagnostic.span = Span { start: remark.at.start, end: remark.at.end, ..Span::default() };
            diagnostic.span.column = text.get(..remark.at.start).map_or(1, |part| part.chars().count() + 1);
            diagnostic.help = remark.help;
            return Err(diagnostic);
        }
        let Some(value) = value else {
            return Err(fail("queue-empty-value", format!("`{text}` cannot be read")));
        };
        let default = Written { value, text: text.to_owned(), span: Span::default() };
        let value = HostValue { default, overrides: Vec::new() };
        if let Some(setting) = self.settings.iter_mut().find(|s| s.attribute.name == name) {
            setting.value = value;
            setting.is_set = true;
            setting.written = None;
        }
        Ok(())
    }
}

/// A setting with the text of the table. A template text that cannot be read would be a bug; a test reads them all.
fn template_setting(attribute: &'static Attribute, text: &str) -> Setting {
    let (value, _) = value::parse(attribute.kind, text, Writer::Admin);
    debug_assert!(value.is_some(), "template value of {}", attribute.name);
    let value = value.unwrap_or_else(|| Value::Name(text.to_owned()));
    let default = Written { value, text: text.to_owned(), span: Span::default() };
    Setting {
        attribute,
        value: HostValue { default, overrides: Vec::new() },
        is_set: false,
        name_span: Span::default(),
        leading: String::new(),
        written: None,
    }
}

/// The queue as a file. Entries that were read print as they were written, comments and alignment included.
pub fn print(queue: &ClusterQueue) -> String {
    let mut text = String::new();
    for setting in &queue.settings {
        // The last line of a file may lack its end.
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&setting.leading);
        match &setting.written {
            Some(written) => text.push_str(written),
            None => {
                text.push_str(&format!("{:<NAME_WIDTH$}{}\n", setting.attribute.name, setting.value.text()));
            }
        }
    }
    text.push_str(&queue.trailing);
    text
}
