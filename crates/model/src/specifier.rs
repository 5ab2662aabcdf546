//! The grammar of values: one parser for time, memory, whole numbers, fractions and booleans.
//!
//! The rules were found by trying 8.1.9 (execd.md §22; `tests/specifier_table.rs` pins every row). Two writers exist.
//! An administrator ([`Writer::Admin`]) is told about a sign, an octal number, a NaN or a value that stock cuts to
//! 32 bits: such text surely means something else. A master or a job's request ([`Writer::Request`]) has been accepted
//! by stock already, so it keeps stock's meaning and gets a note.
//!
//! The shepherd links this module: no dependencies, messages assembled from literals only.

mod number;

use core::fmt;

use crate::limit::{Bytes, Limit, Seconds};
use number::{Magnitude, Reading};

/// Who wrote the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Writer {
    /// A queue file, `--set`, qconf: refuse what cannot be meant.
    Admin,
    /// A qmaster, a job's `-l` request or the shepherd's `config`: stock's meaning, with a note.
    Request,
}

/// A value and what there is to say about its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<T> {
    /// The value.
    pub value: T,
    /// Warnings, in order of appearance; empty for ordinary text.
    pub notes: Vec<Note>,
}

/// What a specifier is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expected {
    /// A time in seconds.
    Time,
    /// An amount of memory in bytes.
    Memory,
    /// A whole number from 0 to 2^32-1.
    Number,
    /// A number with a fraction.
    Double,
    /// A truth value.
    Bool,
}

/// Something worth a warning about an accepted text, or the reason for refusing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Note {
    /// A leading 0 makes the number octal.
    Octal,
    /// A sign. Times wrap at 2^32, memory loses the sign (observed on 8.1.9).
    Negative,
    /// `nan` or `inf`, which are not `INFINITY`.
    NotANumber,
    /// A hexadecimal or octal number that 8.1.9 cuts to 32 bits.
    Truncated,
    /// Text after `,` or `/` has no effect.
    TextIgnored,
    /// 8.1.9 shows times from 2^31 seconds on as 596523:14:08.
    AboveInt32,
    /// Too great for 64 bits: taken as infinity.
    Saturated,
    /// A time where memory is meant: the seconds count as bytes.
    TimeAsMemory,
    /// `TRUE` or `FALSE` where memory is meant: 1 or 0 bytes.
    BoolAsMemory,
}

impl Note {
    /// The note as a sentence part.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Octal => "a leading 0 makes the number octal",
            Self::Negative => {
                "a sign has no meaning here (8.1.9 wraps a time at 2^32 and drops the sign of memory)"
            }
            Self::NotANumber => "this is not a number; write `INFINITY` for no limit",
            Self::Truncated => "8.1.9 cuts hexadecimal and octal numbers to 32 bits",
            Self::TextIgnored => "the text from `,` or `/` on is ignored",
            Self::AboveInt32 => "8.1.9 shows this time as 596523:14:08 (2^31 seconds)",
            Self::Saturated => "too great for 64 bits, taken as infinity",
            Self::TimeAsMemory => "a time counts as that many bytes here",
            Self::BoolAsMemory => "a truth value counts as 1 or 0 bytes here",
        }
    }

    /// Whether an administrator's text with this note is refused.
    const fn refused_for_admin(self) -> bool {
        matches!(self, Self::Octal | Self::Negative | Self::NotANumber | Self::Truncated)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is no such specifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecifierError {
    /// What was wanted.
    pub expected: Expected,
    /// The whole text.
    pub found: String,
    /// Byte offset in the text where reading stopped.
    pub offset: usize,
    /// Why a text that 8.1.9 accepts is refused; `None` if 8.1.9 refuses it too.
    pub reason: Option<Note>,
}

impl fmt::Display for SpecifierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.expected {
            Expected::Time => "expected a time (seconds, `hh:mm:ss` or `INFINITY`), found `",
            Expected::Memory => {
                "expected an amount of memory (bytes, a number with one of k K m M g G t T, or `INFINITY`), found `"
            }
            Expected::Number => "expected a whole number from 0 to 4294967295, found `",
            Expected::Double => "expected a number, found `",
            Expected::Bool => "expected `TRUE` or `FALSE`, found `",
        })?;
        f.write_str(&self.found)?;
        f.write_str("`")?;
        if let Some(reason) = self.reason {
            f.write_str(": ")?;
            f.write_str(reason.as_str())?;
        }
        Ok(())
    }
}

impl core::error::Error for SpecifierError {}

/// 2^32, where stock's unsigned integers wrap.
const WRAP: u64 = 1 << 32;
/// The first time in seconds that stock's display cannot show.
const ABOVE_INT32: u64 = 1 << 31;

/// Parses a time_specifier: seconds, `h:m:s` with possibly empty parts, or `INFINITY`.
///
/// # Errors
/// What 8.1.9 refuses, and for [`Writer::Admin`] signs, octal numbers, NaN and 32-bit overflow.
pub fn parse_time(text: &str, writer: Writer) -> Result<Parsed<Limit<Seconds>>, SpecifierError> {
    let reading = read(text, Expected::Time)?;
    let mut notes = notes_of(&reading);
    let value = match reading.magnitude {
        Magnitude::Infinity => Limit::Infinity,
        // The value 8.1.9 displays for both `nan` and `inf`.
        Magnitude::NotANumber => Limit::Value(ABOVE_INT32),
        Magnitude::Finite { below_zero: true, value } if value > 0 => {
            Limit::Value(WRAP - 1 - (value - 1) % WRAP)
        }
        Magnitude::Finite { value, .. } => {
            if value >= ABOVE_INT32 {
                notes.push(Note::AboveInt32);
            }
            Limit::Value(value)
        }
        Magnitude::TooGreat => {
            notes.push(Note::Saturated);
            Limit::Infinity
        }
    };
    finish(text, Expected::Time, writer, Parsed { value: value.map(Seconds), notes })
}

/// Parses a memory_specifier: a number with at most one of `k m g t` (powers of 1000) or `K M G T` (of 1024),
/// or `INFINITY`.
///
/// # Errors
/// As [`parse_time`].
pub fn parse_memory(text: &str, writer: Writer) -> Result<Parsed<Limit<Bytes>>, SpecifierError> {
    let reading = read(text, Expected::Memory)?;
    let mut notes = notes_of(&reading);
    if reading.is_time {
        notes.push(Note::TimeAsMemory);
    }
    if reading.is_bool {
        notes.push(Note::BoolAsMemory);
    }
    let value = match reading.magnitude {
        Magnitude::Infinity => Limit::Infinity,
        // Converting NaN to 64 bits gives 2^63 on the machines stock runs on.
        Magnitude::NotANumber => Limit::Value(1 << 63),
        // u64::MAX is RLIM_INFINITY: as a limit it would be infinity under another name.
        Magnitude::TooGreat | Magnitude::Finite { value: u64::MAX, .. } => {
            notes.push(Note::Saturated);
            Limit::Infinity
        }
        Magnitude::Finite { value, .. } => Limit::Value(value),
    };
    finish(text, Expected::Memory, writer, Parsed { value: value.map(Bytes), notes })
}

/// Parses a whole number from 0 to 2^32-1 as queues have it: decimal, `0x`, also `1e1` and `4.0`. Other than in a time
/// or an amount of memory a leading zero means nothing, and nothing may follow (both observed on 8.1.9).
///
/// # Errors
/// Signs below zero, fractions, suffixes, words, `INFINITY`, numbers that do not fit.
pub fn parse_number(text: &str) -> Result<Parsed<u32>, SpecifierError> {
    number::read_whole(text).map(|value| Parsed { value, notes: Vec::new() }).map_err(|offset| {
        SpecifierError { expected: Expected::Number, found: text.to_owned(), offset, reason: None }
    })
}

/// Parses the value of a DOUBLE complex. `INFINITY` is [`f64::MAX`], as in stock.
///
/// # Errors
/// As [`parse_time`], except that signs are legal.
pub fn parse_double(text: &str, writer: Writer) -> Result<Parsed<f64>, SpecifierError> {
    let reading = read(text, Expected::Double)?;
    let mut notes = notes_of(&reading);
    notes.retain(|note| *note != Note::Negative);
    let value = match reading.magnitude {
        Magnitude::Infinity => f64::MAX,
        _ if reading.double.is_infinite() && !notes.contains(&Note::NotANumber) => {
            notes.push(Note::Saturated);
            f64::MAX.copysign(reading.double)
        }
        _ => reading.double,
    };
    finish(text, Expected::Double, writer, Parsed { value, notes })
}

/// Parses a truth value in any case: `TRUE t yes y 1` or `FALSE f no n 0`.
///
/// # Errors
/// Every other word.
pub fn parse_bool(text: &str) -> Result<Parsed<bool>, SpecifierError> {
    let is_one_of = |words: [&str; 5]| words.iter().any(|word| word.eq_ignore_ascii_case(text.trim()));
    let value = if is_one_of(["true", "t", "yes", "y", "1"]) {
        true
    } else if is_one_of(["false", "f", "no", "n", "0"]) {
        false
    } else {
        return Err(SpecifierError {
            expected: Expected::Bool,
            found: text.to_owned(),
            offset: 0,
            reason: None,
        });
    };
    Ok(Parsed { value, notes: Vec::new() })
}

fn read(text: &str, expected: Expected) -> Result<Reading, SpecifierError> {
    number::read(text).map_err(|offset| SpecifierError {
        expected,
        found: text.to_owned(),
        offset,
        reason: None,
    })
}

fn notes_of(reading: &Reading) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut note_if = |holds, note| {
        if holds {
            notes.push(note);
        }
    };
    note_if(reading.is_octal, Note::Octal);
    note_if(reading.is_signed, Note::Negative);
    note_if(matches!(reading.magnitude, Magnitude::NotANumber), Note::NotANumber);
    note_if(reading.is_truncated, Note::Truncated);
    note_if(reading.is_cut_short, Note::TextIgnored);
    notes
}

fn finish<T>(
    text: &str,
    expected: Expected,
    writer: Writer,
    parsed: Parsed<T>,
) -> Result<Parsed<T>, SpecifierError> {
    let refused = parsed.notes.iter().copied().find(|note| note.refused_for_admin());
    match (writer, refused) {
        (Writer::Admin, Some(_)) => {
            Err(SpecifierError { expected, found: text.to_owned(), offset: 0, reason: refused })
        }
        _ => Ok(parsed),
    }
}
