//! From entries to a typed queue, every error of the file in one go.

use core::ops::Range;

use oxherd_model::host_group::HostId;

use super::{ClusterQueue, Reading, Setting, template_setting};
use crate::attribute::{self, ATTRIBUTES, Attribute};
use crate::diagnostic::{Diagnostic, Severity};
use crate::host_value::{HostValue, Written};
use crate::source::Source;
use crate::syntax::{self, Entry, Spanned, SplitValue};
use crate::value::{self, Value};

pub(super) fn read(source: &Source, reading: Reading) -> (Option<ClusterQueue>, Vec<Diagnostic>) {
    let (entries, trailing, diagnostics) = syntax::parse_all(source);
    let mut reader = Reader { source, reading, diagnostics, settings: Vec::new(), seen: Vec::new() };
    for entry in entries {
        reader.entry(entry);
    }
    reader.missing();
    let Reader { mut diagnostics, settings, .. } = reader;
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    let is_usable = !diagnostics.iter().any(Diagnostic::is_error);
    let queue = ClusterQueue { file: source.name().to_owned(), settings, trailing };
    (is_usable.then_some(queue), diagnostics)
}

struct Reader<'a> {
    source: &'a Source,
    reading: Reading,
    diagnostics: Vec<Diagnostic>,
    settings: Vec<Setting>,
    /// Names met so far with their lines, whether their values were good or not.
    seen: Vec<(&'static str, usize)>,
}

impl Reader<'_> {
    fn entry(&mut self, entry: Entry) {
        let name = &entry.name;
        let Some(attribute) = attribute::find(&name.value) else {
            let message = format!("there is no queue attribute `{}`", name.value);
            let mut diagnostic = self.source.error("queue-unknown-attribute", name.at.clone(), message);
            if let Some(known) = attribute::closest(&name.value) {
                diagnostic = diagnostic.help(format!("did you mean `{known}`?"));
            }
            self.diagnostics.push(diagnostic);
            return;
        };
        if let Some((_, line)) = self.seen.iter().find(|(seen, _)| *seen == attribute.name) {
            let message = format!("`{}` is set twice", name.value);
            let diagnostic = self.source.error("queue-duplicate-attribute", name.at.clone(), message);
            self.diagnostics.push(diagnostic.note(format!("the first one is in line {line}")));
            return;
        }
        self.seen.push((attribute.name, name.span.line));
        if let Some(value) = self.values(attribute, &entry.value) {
            self.settings.push(Setting {
                attribute,
                value,
                is_set: false,
                name_span: name.span,
                leading: entry.leading,
                written: Some(entry.written),
            });
        }
    }

    fn values(&mut self, attribute: &'static Attribute, text: &Spanned<String>) -> Option<HostValue<Value>> {
        if !attribute.allows_overrides() {
            if let Some(at) = text.value.find('[') {
                let message = format!("`{}` has one value for all hosts", attribute.name);
                let range = text.at.start + at..text.at.start + at + 1;
                self.diagnostics.push(self.source.error("queue-override-forbidden", range, message));
                return None;
            }
            let default = self.typed(attribute, text)?;
            return Some(HostValue { default, overrides: Vec::new() });
        }
        let (SplitValue { default, overrides }, diagnostics) = syntax::split_overrides(self.source, text);
        let mut is_good = diagnostics.is_empty();
        self.diagnostics.extend(diagnostics);
        let default = default.and_then(|text| self.typed(attribute, &text));
        let mut found: Vec<(HostId, Written<Value>)> = Vec::new();
        let mut places: Vec<(usize, usize)> = Vec::new();
        for one in overrides {
            if let Some(index) = found.iter().position(|(host, _)| host.same(&one.host.value)) {
                is_good = false;
                let message = format!("the value for `{}` is multiply defined", one.host.value);
                let mut diagnostic =
                    self.source.error("queue-host-multiply-defined", one.host.at.clone(), message);
                if let Some((line, column)) = places.get(index) {
                    diagnostic = diagnostic.note(format!("the first one is in line {line}, column {column}"));
                }
                self.diagnostics.push(diagnostic);
                continue;
            }
            match self.typed(attribute, &one.value) {
                Some(value) => {
                    places.push((one.host.span.line, one.host.span.column));
                    found.push((one.host.value, value));
                }
                None => is_good = false,
            }
        }
        let default = default?;
        is_good.then_some(HostValue { default, overrides: found })
    }

    fn typed(&mut self, attribute: &Attribute, text: &Spanned<String>) -> Option<Written<Value>> {
        let (value, remarks) = value::parse(attribute.kind, &text.value, self.reading.writer);
        for remark in remarks {
            let at = shifted(&remark.at, text.at.start);
            let message = format!("{}: {}", attribute.name, remark.message);
            let mut diagnostic = self.source.diagnose(remark.severity, remark.code, at, message);
            diagnostic.help = remark.help;
            self.diagnostics.push(diagnostic);
        }
        let value = value?;
        // qconf breaks long values at blanks, commands included, and indents what follows: one blank was meant.
        if text.span.end - text.span.start == text.value.len() {
            return Some(Written { value, text: text.value.clone(), span: text.span });
        }
        let joined = text.value.split_whitespace().collect::<Vec<_>>().join(" ");
        let value = value::parse(attribute.kind, &joined, self.reading.writer).0.unwrap_or(value);
        Some(Written { value, text: joined, span: text.span })
    }

    /// Every attribute is required (observed on 8.1.9). All missing ones make one diagnostic at the end of the file.
    fn missing(&mut self) {
        let missing: Vec<&'static Attribute> =
            ATTRIBUTES.iter().filter(|a| self.seen.iter().all(|(seen, _)| *seen != a.name)).collect();
        if missing.is_empty() {
            return;
        }
        if self.reading.fill_missing {
            self.settings.extend(missing.iter().map(|a| template_setting(a, a.default)));
            return;
        }
        let end = self.source.joined().trim_end().len();
        let names: Vec<String> = missing.iter().map(|a| format!("`{}`", a.name)).collect();
        let plural = if names.len() == 1 { "attribute is" } else { "attributes are" };
        let message = format!("{} required {plural} missing: {}", names.len(), names.join(", "));
        let mut diagnostic =
            self.source.diagnose(Severity::Error, "queue-missing-attribute", end..end, message);
        if let [one] = missing.as_slice() {
            diagnostic = diagnostic.help(format!("the template has `{} {}`", one.name, one.default));
        }
        self.diagnostics.push(diagnostic);
    }
}

fn shifted(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}
