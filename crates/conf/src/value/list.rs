//! List-valued attributes. Blanks and commas separate elements; `NONE` in any case is the empty list.

use core::ops::Range;

use oxherd_model::host_group::HostId;
use oxherd_model::queue_instance::{ComplexValue, ProcessorRange, QueueType};

use super::Remark;

/// The elements of a list with their places.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut from = 0;
    text.split(|c: char| c == ',' || c.is_whitespace()).filter_map(move |word| {
        let start = from;
        // Separators other than ASCII are longer than a byte; look up where the next word really starts.
        let end = start + word.len();
        from = end + text.get(end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        (!word.is_empty()).then_some((start..end, word))
    })
}

fn is_none(text: &str) -> bool {
    text.eq_ignore_ascii_case("none")
}

/// Whether a name has only characters that can stand in a list and between brackets.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || ",=[]()'\"\\;#".contains(c))
}

pub(super) fn single_name(text: &str) -> Result<String, Remark> {
    if is_name(text) {
        return Ok(text.to_owned());
    }
    Err(Remark::error("value-name", 0..text.len(), format!("expected one name, found `{text}`")))
}

pub(super) fn names(text: &str, remarks: &mut Vec<Remark>) -> Result<Vec<String>, Remark> {
    if is_none(text) {
        return Ok(Vec::new());
    }
    let mut found: Vec<String> = Vec::new();
    for (at, word) in words(text) {
        if !is_name(word) {
            return Err(Remark::error("value-name", at, format!("expected a name, found `{word}`")));
        }
        if is_none(word) {
            return Err(Remark::error("value-name", at, "`NONE` stands alone; this list has other elements"));
        }
        if found.iter().any(|name| name == word) {
            remarks.push(Remark::warning("value-repeated", at, format!("`{word}` is listed twice")));
            continue;
        }
        found.push(word.to_owned());
    }
    not_empty(text, found)
}

fn not_empty<T>(text: &str, list: Vec<T>) -> Result<Vec<T>, Remark> {
    if list.is_empty() {
        let message = format!("expected a list or `NONE`, found `{text}`");
        return Err(Remark::error("value-list", 0..text.len(), message));
    }
    Ok(list)
}

pub(super) fn hosts(text: &str, remarks: &mut Vec<Remark>) -> Result<Vec<HostId>, Remark> {
    if is_none(text) {
        return Ok(Vec::new());
    }
    let mut found: Vec<HostId> = Vec::new();
    for (at, word) in words(text) {
        let Some(id) = HostId::parse(word) else {
            let message = format!("expected a host name or `@group`, found `{word}`");
            return Err(Remark::error("value-host", at, message));
        };
        if is_none(word) {
            return Err(Remark::error("value-host", at, "`NONE` stands alone; this list has other elements"));
        }
        if found.iter().any(|other| other.same(&id)) {
            remarks.push(Remark::warning("value-repeated", at, format!("`{word}` is listed twice")));
            continue;
        }
        found.push(id);
    }
    not_empty(text, found)
}

pub(super) fn queue_type(text: &str) -> Result<QueueType, Remark> {
    let mut result = QueueType::default();
    if is_none(text) {
        return Ok(result);
    }
    let mut any = false;
    for (at, word) in words(text) {
        any = true;
        match word.to_ascii_uppercase().as_str() {
            "BATCH" => result.batch = true,
            "INTERACTIVE" => result.interactive = true,
            old @ ("PARALLEL" | "CHECKPOINTING") => {
                let list = if old == "PARALLEL" { "pe_list" } else { "ckpt_list" };
                let message = format!("`{word}` is no queue type any more");
                return Err(Remark::error("value-queue-type", at, message)
                    .help(format!("the queue takes such jobs as soon as `{list}` is not NONE")));
            }
            _ => {
                let message = format!("expected `BATCH`, `INTERACTIVE` or `NONE`, found `{word}`");
                return Err(Remark::error("value-queue-type", at, message));
            }
        }
    }
    not_empty(text, if any { vec![()] } else { Vec::new() }).map(|_| result)
}

pub(super) fn complex_values(text: &str, remarks: &mut Vec<Remark>) -> Result<Vec<ComplexValue>, Remark> {
    if is_none(text) {
        return Ok(Vec::new());
    }
    let mut found: Vec<ComplexValue> = Vec::new();
    for (at, word) in words(text) {
        let (complex, value) = match word.split_once('=') {
            Some((complex, value)) if is_name(complex) && !value.is_empty() => (complex, value),
            _ => {
                let message = format!("expected `complex=value`, found `{word}`");
                return Err(Remark::error("value-complex", at, message));
            }
        };
        if found.iter().any(|other| other.complex == complex) {
            let message = format!("`{complex}` is set twice; the last one counts");
            remarks.push(Remark::warning("value-repeated", at, message));
            found.retain(|other| other.complex != complex);
        }
        found.push(ComplexValue { complex: complex.to_owned(), value: value.to_owned() });
    }
    not_empty(text, found)
}

/// `1-4,8`, open ends as in `-pe`; `UNDEFINED` only here.
pub(super) fn processors(text: &str) -> Result<Option<Vec<ProcessorRange>>, Remark> {
    if text.eq_ignore_ascii_case("undefined") {
        return Ok(None);
    }
    let mut found = Vec::new();
    for (at, word) in words(text) {
        let Some(range) = range(word) else {
            let message = format!("expected a range like `1-4` or `UNDEFINED`, found `{word}`");
            return Err(Remark::error("value-processors", at, message));
        };
        found.push(range);
    }
    not_empty(text, found).map(Some)
}

fn range(word: &str) -> Option<ProcessorRange> {
    let number = |text: &str| -> Option<u32> {
        // `parse` alone would accept a sign.
        text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
    };
    let (first, last) = match word.split_once('-') {
        None => {
            let only = number(word)?;
            (only, only)
        }
        Some(("", "")) => return None,
        Some(("", last)) => (0, number(last)?),
        Some((first, "")) => (number(first)?, u32::MAX),
        Some((first, last)) => (number(first)?, number(last)?),
    };
    // 8.1.9 accepts the ends in either order (observed).
    Some((first.min(last), first.max(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_separated_by_blanks_and_commas() {
        let found: Vec<_> = words(" a, b\u{a0}c,,d ").collect();
        assert_eq!(found, [(1..2, "a"), (4..5, "b"), (7..8, "c"), (10..11, "d")]);
        assert_eq!(words(" , ").count(), 0);
    }

    #[test]
    fn processor_ranges_may_be_open() {
        assert_eq!(processors("1-4,8").unwrap(), Some(vec![(1, 4), (8, 8)]));
        assert_eq!(processors("4-1").unwrap(), Some(vec![(1, 4)]));
        assert_eq!(processors("undefined").unwrap(), None);
        assert_eq!(processors("-3 5-").unwrap(), Some(vec![(0, 3), (5, u32::MAX)]));
        for refused in ["NONE", "1-9:2", "a", "-", "+1", "1-2-3", ","] {
            assert!(processors(refused).is_err(), "{refused}");
        }
    }
}
