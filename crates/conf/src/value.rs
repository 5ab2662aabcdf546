//! Typed values of queue attributes, and how each type is read.

mod list;
mod suggest;
mod typed;

use core::ops::Range;

use oxherd_model::host_group::HostId;
use oxherd_model::limit::{Bytes, Limit, Seconds, SlotCount};
use oxherd_model::method::Method;
use oxherd_model::procedure::Procedure;
use oxherd_model::queue_instance::{ComplexValue, InitialState, ProcessorRange, QueueType};
use oxherd_model::shell_start_mode::ShellStartMode;
use oxherd_model::specifier::{self, Note, Parsed, SpecifierError, Writer};
use oxherd_model::subordinate::SubordinateList;

use crate::attribute::Kind;
use crate::diagnostic::Severity;

pub(crate) use list::words;
pub use typed::FromValue;

/// A value of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// [`Kind::Name`].
    Name(String),
    /// [`Kind::HostList`].
    Hosts(Vec<HostId>),
    /// [`Kind::Number`].
    Number(u32),
    /// [`Kind::Slots`].
    Slots(SlotCount),
    /// [`Kind::Priority`].
    Priority(i32),
    /// [`Kind::Time`].
    Time(Limit<Seconds>),
    /// [`Kind::Memory`].
    Memory(Limit<Bytes>),
    /// [`Kind::Bool`].
    Bool(bool),
    /// [`Kind::Names`].
    Names(Vec<String>),
    /// [`Kind::QueueType`].
    QueueType(QueueType),
    /// [`Kind::ComplexValues`].
    ComplexValues(Vec<ComplexValue>),
    /// [`Kind::Processors`].
    Processors(Option<Vec<ProcessorRange>>),
    /// [`Kind::Directory`] and [`Kind::Shell`].
    Path(String),
    /// [`Kind::Procedure`].
    Procedure(Option<Procedure>),
    /// [`Kind::Starter`] and [`Kind::OptionalName`].
    Optional(Option<String>),
    /// [`Kind::Method`].
    Method(Method),
    /// [`Kind::StartMode`].
    StartMode(ShellStartMode),
    /// [`Kind::Subordinates`].
    Subordinates(SubordinateList),
    /// [`Kind::InitialState`].
    InitialState(InitialState),
}

/// Something to say about a value's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// An error makes the value unusable.
    pub severity: Severity,
    /// Stable name.
    pub code: &'static str,
    /// Bytes of the value's text it is about.
    pub at: Range<usize>,
    /// What was expected and found.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl Remark {
    fn new(severity: Severity, code: &'static str, at: Range<usize>, message: impl Into<String>) -> Self {
        Self { severity, code, at, message: message.into(), help: None }
    }

    fn error(code: &'static str, at: Range<usize>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, at, message)
    }

    fn warning(code: &'static str, at: Range<usize>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, at, message)
    }

    #[must_use]
    fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}

/// Reads `text` as a value of `kind`. Remarks come with or without a value; an error never comes with one.
pub fn parse(kind: Kind, text: &str, writer: Writer) -> (Option<Value>, Vec<Remark>) {
    let mut remarks = Vec::new();
    let value = match read(kind, text, writer, &mut remarks) {
        Ok(value) => Some(value),
        Err(remark) => {
            remarks.push(remark);
            None
        }
    };
    if kind.is_scalar()
        && let Some(remark) = forgotten_brackets(text, writer)
    {
        // A value that stock refuses as well is an error for both writers.
        let severity = if value.is_some() { remark.severity } else { Severity::Error };
        return (value.filter(|_| severity != Severity::Error), vec![Remark { severity, ..remark }]);
    }
    (value.filter(|_| remarks.iter().all(|r| r.severity != Severity::Error)), remarks)
}

/// `1G,eh1=2G`: 8.1.9 takes 1G for all hosts and keeps the rest as text (observed for memory, priority and shell).
fn forgotten_brackets(text: &str, writer: Writer) -> Option<Remark> {
    let (first, rest) = text.split_once(',')?;
    let (host, value) = rest.trim().split_once('=')?;
    let severity = match writer {
        Writer::Admin => Severity::Error,
        Writer::Request => Severity::Warning,
    };
    let message = format!("`{}` after the value has no effect in 8.1.9: brackets are missing", rest.trim());
    let help = format!("write `{},[{}={}]`", first.trim(), host.trim(), value.trim());
    Some(Remark::new(severity, "queue-override-brackets", first.len()..text.len(), message).help(help))
}

fn read(kind: Kind, text: &str, writer: Writer, remarks: &mut Vec<Remark>) -> Result<Value, Remark> {
    let whole = 0..text.len();
    let is_none = text.eq_ignore_ascii_case("none");
    match kind {
        Kind::Name => list::single_name(text).map(Value::Name),
        Kind::OptionalName if is_none => Ok(Value::Optional(None)),
        Kind::OptionalName => list::single_name(text).map(|name| Value::Optional(Some(name))),
        Kind::HostList => list::hosts(text, remarks).map(Value::Hosts),
        Kind::Number => number(text, u32::MAX, remarks).map(Value::Number),
        Kind::Slots => number(text, 9_999_999, remarks).map(|n| Value::Slots(SlotCount(n))),
        Kind::Priority => priority(text, writer, remarks).map(Value::Priority),
        Kind::Time => {
            accept("value-time", text, specifier::parse_time(text, writer), remarks).map(Value::Time)
        }
        Kind::Memory => {
            accept("value-memory", text, specifier::parse_memory(text, writer), remarks).map(Value::Memory)
        }
        Kind::Bool => accept("value-bool", text, specifier::parse_bool(text), remarks).map(Value::Bool),
        Kind::Names => list::names(text, remarks).map(Value::Names),
        Kind::QueueType => list::queue_type(text).map(Value::QueueType),
        Kind::ComplexValues => list::complex_values(text, remarks).map(Value::ComplexValues),
        Kind::Processors => list::processors(text).map(Value::Processors),
        Kind::Directory => Ok(Value::Path(text.to_owned())),
        Kind::Shell if text.starts_with('/') => Ok(Value::Path(text.to_owned())),
        Kind::Shell => Err(Remark::error(
            "value-shell",
            whole,
            format!("expected an absolute path of a shell, found `{text}`"),
        )
        .help("a queue always has a shell; the usual one is `/bin/sh`")),
        Kind::Procedure if is_none => Ok(Value::Procedure(None)),
        Kind::Procedure => procedure(text),
        Kind::Starter => Ok(Value::Optional((!is_none).then(|| text.to_owned()))),
        Kind::Method => Method::parse(text)
            .map(Value::Method)
            .map_err(|error| Remark::error("value-method", whole, error.to_string())),
        Kind::StartMode => ShellStartMode::parse(text)
            .map(Value::StartMode)
            .map_err(|error| Remark::error("value-start-mode", whole, error.to_string())),
        Kind::Subordinates => SubordinateList::parse(text)
            .map(Value::Subordinates)
            .map_err(|error| Remark::error("value-subordinates", whole, error.to_string())),
        Kind::InitialState => initial_state(text).map(Value::InitialState),
    }
}

/// Turns a specifier's notes into warnings and its error into a remark.
fn accept<T>(
    code: &'static str,
    text: &str,
    result: Result<Parsed<T>, SpecifierError>,
    remarks: &mut Vec<Remark>,
) -> Result<T, Remark> {
    match result {
        Ok(parsed) => {
            for note in parsed.notes {
                remarks.push(note_remark(text, note));
            }
            Ok(parsed.value)
        }
        Err(error) => {
            let from = error.offset.min(text.len().saturating_sub(1));
            let mut remark = Remark::error(code, from..text.len(), error.to_string());
            remark.help = suggest::instead_of(&error);
            Err(remark)
        }
    }
}

fn note_remark(text: &str, note: Note) -> Remark {
    let code = match note {
        Note::Octal => "value-octal",
        Note::Negative => "value-negative",
        Note::NotANumber => "value-not-a-number",
        Note::Truncated => "value-truncated",
        Note::TextIgnored => "value-text-ignored",
        Note::AboveInt32 => "value-above-int32",
        Note::Saturated => "value-saturated",
        Note::TimeAsMemory => "value-time-as-memory",
        Note::BoolAsMemory => "value-bool-as-memory",
    };
    let from = if note == Note::TextIgnored { text.find([',', '/']).unwrap_or(0) } else { 0 };
    Remark::warning(code, from..text.len(), format!("`{text}`: {note}"))
}

fn number(text: &str, max: u32, remarks: &mut Vec<Remark>) -> Result<u32, Remark> {
    let value = accept("value-number", text, specifier::parse_number(text), remarks)?;
    if value > max {
        let message = format!("expected a number from 0 to {max}, found `{text}`");
        return Err(Remark::error("value-number", 0..text.len(), message));
    }
    Ok(value)
}

/// 8.1.9 reads the leading integer of whatever starts with one (observed: `1.5`, `1.5x`, `1e1`, `5,eh1=6`).
/// Of these an administrator may write a fraction; the others are taken from a qmaster.
fn priority(text: &str, writer: Writer, remarks: &mut Vec<Remark>) -> Result<i32, Remark> {
    let fail = || {
        let message = format!("expected a nice value from -20 to 20, found `{text}`");
        Remark::error("value-priority", 0..text.len(), message)
    };
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at_checked(text.len() - unsigned.len() + digits).unwrap_or((text, ""));
    let value: i32 = whole.parse().map_err(|_| fail())?;
    if !(-20..=20).contains(&value) {
        return Err(fail());
    }
    let is_fraction = rest.strip_prefix('.').is_some_and(|part| part.bytes().all(|b| b.is_ascii_digit()));
    if !rest.is_empty() {
        if writer == Writer::Admin && !is_fraction {
            return Err(fail());
        }
        let message = format!("`{text}`: a nice value is a whole number, taken as {value}");
        remarks.push(Remark::warning("value-fraction", whole.len()..text.len(), message));
    }
    Ok(value)
}

fn procedure(text: &str) -> Result<Value, Remark> {
    let procedure = Procedure::parse(text);
    if procedure.user.as_deref() == Some("") {
        return Err(Remark::error("value-procedure", 0..text.len(), "expected a user name before `@`"));
    }
    if procedure.command.is_empty() {
        let message = format!("expected `[user@]path arguments` or `NONE`, found `{text}`");
        return Err(Remark::error("value-procedure", 0..text.len(), message));
    }
    Ok(Value::Procedure(Some(procedure)))
}

fn initial_state(text: &str) -> Result<InitialState, Remark> {
    [InitialState::Default, InitialState::Enabled, InitialState::Disabled]
        .into_iter()
        .find(|state| state.as_str().eq_ignore_ascii_case(text))
        .ok_or_else(|| {
            let message = format!("expected `default`, `enabled` or `disabled`, found `{text}`");
            Remark::error("value-initial-state", 0..text.len(), message)
        })
}
