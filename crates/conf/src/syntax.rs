//! Entries of a configuration text: `name value` lines, and the brackets of host-dependent values.

use core::ops::Range;

use oxherd_model::host_group::HostId;

use crate::diagnostic::{Diagnostic, Span};
use crate::source::Source;

/// Something with the place where it was written.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    /// The thing.
    pub value: T,
    /// Its place in the original text.
    pub span: Span,
    /// Its place in the joined text.
    pub(crate) at: Range<usize>,
}

impl Spanned<String> {
    fn new(source: &Source, at: Range<usize>) -> Self {
        let value = source.joined().get(at.clone()).unwrap_or("").to_owned();
        Self { value, span: source.span(at.clone()), at }
    }
}

/// One `name value` line, continuation lines included.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The word before the first blank.
    pub name: Spanned<String>,
    /// The rest without surrounding blanks; empty only after a diagnostic.
    pub value: Spanned<String>,
    /// Comments and empty lines above, as written.
    pub leading: String,
    /// The whole line as written, with its line end.
    pub written: String,
}

/// `[host=value]`.
#[derive(Debug, Clone)]
pub struct Override {
    /// The host or group.
    pub host: Spanned<HostId>,
    /// The value's text.
    pub value: Spanned<String>,
}

/// A value split at its brackets.
#[derive(Debug, Clone, Default)]
pub struct SplitValue {
    /// The part before the first bracket; `None` after a diagnostic.
    pub default: Option<Spanned<String>>,
    /// The bracketed parts that could be read.
    pub overrides: Vec<Override>,
}

/// Entries in file order. Lines that start with `#` and empty lines belong to the entry below them.
pub fn parse(source: &Source) -> (Vec<Entry>, Vec<Diagnostic>) {
    let (entries, _, diagnostics) = parse_all(source);
    (entries, diagnostics)
}

/// As [`parse`], with what follows the last entry.
pub(crate) fn parse_all(source: &Source) -> (Vec<Entry>, String, Vec<Diagnostic>) {
    let joined = source.joined();
    let mut entries: Vec<Entry> = Vec::new();
    let mut diagnostics = Vec::new();
    let original = |range: Range<usize>| {
        let from = source.original_offset(range.start);
        let to = if range.end == joined.len() {
            source.original().len()
        } else {
            source.original_offset(range.end)
        };
        source.original().get(from..to).unwrap_or("").to_owned()
    };
    let mut start = 0;
    let mut leading_from = 0;
    for line in joined.split_inclusive('\n') {
        let end = start + line.len();
        let content = line.trim_end();
        let name_at = start + (content.len() - content.trim_start().len());
        let content_end = start + content.len();
        let text = joined.get(name_at..content_end.max(name_at)).unwrap_or("");
        if !text.is_empty() && !text.starts_with('#') {
            let name_len = text.find(char::is_whitespace).unwrap_or(text.len());
            let name = Spanned::new(source, name_at..name_at + name_len);
            let rest = text.get(name_len..).unwrap_or("");
            let value_at = content_end - rest.trim_start().len();
            if rest.is_empty() {
                diagnostics.push(
                    source
                        .error(
                            "syntax-value-missing",
                            name.at.clone(),
                            format!("`{}` has no value", name.value),
                        )
                        .help(format!("write `{} NONE` if nothing is meant", name.value)),
                );
            } else {
                let mut value = Spanned::new(source, value_at..content_end);
                if value.value.ends_with('\\') {
                    let message = "a backslash joins lines only as the last character of a line";
                    diagnostics.push(
                        source
                            .error("syntax-backslash", content_end - 1..content_end, message)
                            .help("remove the blanks after it, or the backslash"),
                    );
                    let kept = value.value.trim_end_matches(|c: char| c == '\\' || c.is_whitespace()).len();
                    value = Spanned::new(source, value_at..value_at + kept);
                }
                entries.push(Entry {
                    name,
                    value,
                    leading: original(leading_from..start),
                    written: original(start..end),
                });
            }
            leading_from = end;
        } else if text.starts_with('#') && original(start..end).trim_end().contains('\n') {
            diagnostics.push(
                source
                    .warning(
                        "syntax-comment-continued",
                        name_at..name_at + 1,
                        "this comment goes on in the next line because it ends with a backslash",
                    )
                    .help("remove the backslash if the next line is no comment"),
            );
        }
        start = end;
    }
    (entries, original(leading_from..joined.len()), diagnostics)
}

/// Splits `default,[host=value],...` (queue_conf(5)). Every `[` starts a host-dependent value.
pub fn split_overrides(source: &Source, value: &Spanned<String>) -> (SplitValue, Vec<Diagnostic>) {
    let mut splitter = Splitter {
        source,
        text: &value.value,
        base: value.at.start,
        out: SplitValue::default(),
        diagnostics: Vec::new(),
    };
    splitter.run();
    (splitter.out, splitter.diagnostics)
}

struct Splitter<'a> {
    source: &'a Source,
    text: &'a str,
    base: usize,
    out: SplitValue,
    diagnostics: Vec<Diagnostic>,
}

impl Splitter<'_> {
    fn error(&mut self, code: &'static str, at: Range<usize>, message: &str, help: &str) {
        let range = self.base + at.start..self.base + at.end;
        self.diagnostics.push(self.source.error(code, range, message).help(help));
    }

    fn spanned(&self, at: Range<usize>) -> Spanned<String> {
        Spanned::new(self.source, self.base + at.start..self.base + at.end)
    }

    fn rest(&self, at: usize) -> &str {
        self.text.get(at..).unwrap_or("")
    }

    fn skip_blanks(&self, at: usize) -> usize {
        let rest = self.rest(at);
        at + rest.len() - rest.trim_start().len()
    }

    fn run(&mut self) {
        let bracket = self.text.find('[');
        let before = self.text.get(..bracket.unwrap_or(self.text.len())).unwrap_or("").trim_end();
        let default = match (bracket, before.strip_suffix(',')) {
            (Some(_), Some(default)) => default.trim_end(),
            (Some(at), None) if !before.is_empty() => {
                self.comma_missing(at);
                before
            }
            _ => before,
        };
        if default.is_empty() {
            self.error(
                "queue-no-default",
                0..self.text.len(),
                "expected a value for all hosts before the first `[`",
                "write the default first, e.g. `NONE,[host=value]`",
            );
        } else {
            self.out.default = Some(self.spanned(0..default.len()));
        }
        let mut next = bracket;
        while let Some(at) = next {
            next = self.bracket(at);
        }
    }

    fn comma_missing(&mut self, at: usize) {
        self.error(
            "queue-override-comma",
            at..at + 1,
            "expected `,` before `[`",
            "host-dependent values are separated by commas: `default,[host=value],[@group=value]`",
        );
    }

    /// Reads one `[host=value]` and what separates it from the next; returns where that starts.
    fn bracket(&mut self, at: usize) -> Option<usize> {
        let Some(close) = self.rest(at).find(']').map(|length| at + length) else {
            self.error(
                "queue-override-unclosed",
                at..at + 1,
                "this `[` is never closed",
                "write `[host=value]`",
            );
            return None;
        };
        self.inside(at + 1, close);
        let after = self.skip_blanks(close + 1);
        let rest = self.rest(after);
        if rest.is_empty() {
            return None;
        }
        if rest.starts_with('[') {
            self.comma_missing(after);
            return Some(after);
        }
        let bracket = rest.find('[').map(|length| after + length);
        let from = if rest.starts_with(',') { self.skip_blanks(after + 1) } else { after };
        if Some(from) != bracket {
            let found = self.text.get(from..bracket.unwrap_or(self.text.len())).unwrap_or("");
            let end = from + found.trim_end_matches(|c: char| c == ',' || c.is_whitespace()).len();
            let message = if found.is_empty() {
                "expected `[host=value]` after `,`"
            } else {
                "expected `,[host=value]`"
            };
            self.error(
                "queue-override-brackets",
                from.min(self.text.len().saturating_sub(1))..end.max(from),
                message,
                "each host-dependent value stands in its own brackets, the default before all of them",
            );
        }
        bracket
    }

    fn inside(&mut self, from: usize, to: usize) {
        let inner = self.text.get(from..to).unwrap_or("");
        let Some((host, value)) = inner.split_once('=') else {
            self.error(
                "queue-override-host",
                from - 1..to + 1,
                "expected `[host=value]`",
                "name the host or `@group`",
            );
            return;
        };
        let equals = from + host.len();
        if host.contains(char::is_whitespace) || value.trim() != value {
            let help = "blanks are allowed around the commas and within lists, not beside brackets or `=`";
            self.error("queue-override-blank", from - 1..to + 1, "unexpected blank inside `[ ]`", help);
            return;
        }
        if value.is_empty() {
            self.error(
                "queue-empty-value",
                from - 1..to + 1,
                "this host has no value",
                "write `NONE` or remove it",
            );
            return;
        }
        let Some(id) = HostId::parse(host) else {
            self.error(
                "queue-override-host",
                from..equals.max(from + 1),
                "expected a host name or `@group`",
                "write `[host=value]`",
            );
            return;
        };
        let host = self.spanned(from..equals);
        let value = self.spanned(equals + 1..to);
        self.out
            .overrides
            .push(Override { host: Spanned { value: id, span: host.span, at: host.at }, value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, default: Option<&str>, overrides: &[(&str, &str)], codes: &[&str]) {
        let source = Source::new("q", format!("x {value}\n"));
        let (entries, _) = parse(&source);
        let (split, diagnostics) = split_overrides(&source, &entries[0].value);
        assert_eq!(split.default.map(|d| d.value).as_deref(), default, "{value}");
        let found: Vec<_> =
            split.overrides.iter().map(|o| (o.host.value.as_str(), o.value.value.as_str())).collect();
        assert_eq!(found, overrides, "{value}");
        let found: Vec<_> = diagnostics.iter().map(|d| d.code).collect();
        assert_eq!(found, codes, "{value}");
    }

    #[test]
    fn values_split_into_default_and_overrides() {
        check("4", Some("4"), &[], &[]);
        check("4,[a=1],[@b=2]", Some("4"), &[("a", "1"), ("@b", "2")], &[]);
        check("NONE , [a=x y,z] , [b=w]", Some("NONE"), &[("a", "x y,z"), ("b", "w")], &[]);
        check("x,y z,[a=b=c]", Some("x,y z"), &[("a", "b=c")], &[]);
    }

    #[test]
    fn broken_brackets_are_diagnosed_and_the_rest_is_still_read() {
        check("1 [a=2]", Some("1"), &[("a", "2")], &["queue-override-comma"]);
        check("1,[a=2][b=3]", Some("1"), &[("a", "2"), ("b", "3")], &["queue-override-comma"]);
        check("[a=2]", None, &[("a", "2")], &["queue-no-default"]);
        check("1,[a=2],b=3", Some("1"), &[("a", "2")], &["queue-override-brackets"]);
        check("1,[a=2],", Some("1"), &[("a", "2")], &["queue-override-brackets"]);
        check("1,[a=2", Some("1"), &[], &["queue-override-unclosed"]);
        check("1,[ a=2],[b =2],[c= 2],[d=2 ],[e=2]", Some("1"), &[("e", "2")], &["queue-override-blank"; 4]);
        check(
            "1,[=2],[a=],[a]",
            Some("1"),
            &[],
            &["queue-override-host", "queue-empty-value", "queue-override-host"],
        );
    }

    #[test]
    fn comments_and_missing_values() {
        let source = Source::new("q", "# one\n\nname  value\nalone\n# end\n");
        let (entries, trailing, diagnostics) = parse_all(&source);
        assert_eq!(entries.len(), 1);
        assert_eq!(
            (entries[0].leading.as_str(), entries[0].written.as_str()),
            ("# one\n\n", "name  value\n")
        );
        assert_eq!(trailing, "# end\n");
        assert_eq!(diagnostics[0].to_string(), "q:4:1: error[syntax-value-missing]: `alone` has no value");
    }
}
