//! What was probably meant by a text that is no specifier.

use oxherd_model::specifier::{Expected, Note, SpecifierError};

/// A help line for the usual mistakes.
pub(super) fn instead_of(error: &SpecifierError) -> Option<String> {
    let text = error.found.trim();
    if error.reason == Some(Note::Octal) {
        let decimal = text.trim_start_matches('0');
        return Some(format!("write `{decimal}`, without the zero, if a decimal number is meant"));
    }
    let is_limit = matches!(error.expected, Expected::Time | Expected::Memory);
    if is_limit
        && ["none", "undefined", "unlimited", "inf", "nan", "-1"].iter().any(|w| text.eq_ignore_ascii_case(w))
    {
        return Some("write `INFINITY` for no limit".to_owned());
    }
    match error.expected {
        Expected::Time => time(text),
        Expected::Memory => memory(text),
        Expected::Number | Expected::Double | Expected::Bool => None,
    }
}

fn time(text: &str) -> Option<String> {
    if let Some((first, second)) = text.split_once(':') {
        let are_numbers = is_number(first) && is_number(second);
        return are_numbers
            .then(|| format!("write `{text}:0` for hours and minutes, `0:{text}` for minutes and seconds"));
    }
    let number = text.get(..text.len().checked_sub(1)?).filter(|number| is_number(number))?;
    match text.chars().last()? {
        's' => Some(format!("write `{number}`")),
        'h' => Some(format!("write `{number}:0:0`")),
        'd' => Some(format!("write `{}:0:0`", number.parse::<u64>().ok()?.checked_mul(24)?)),
        _ => None,
    }
}

fn memory(text: &str) -> Option<String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = text.get(number.len()..)?.trim_start();
    let number = number.trim_end();
    if !is_number(number) {
        return None;
    }
    // Both `1GB` and `1GiB` mean powers of 1024 to whoever writes them into a limit.
    match suffix.to_ascii_lowercase().as_str() {
        "kb" | "kib" | "ki" => Some(format!("write `{number}K`")),
        "mb" | "mib" | "mi" => Some(format!("write `{number}M`")),
        "gb" | "gib" | "gi" => Some(format!("write `{number}G`")),
        "tb" | "tib" | "ti" => Some(format!("write `{number}T`")),
        "p" | "pb" | "pib" | "pi" => {
            Some(format!("write `{}T`", number.parse::<u64>().ok()?.checked_mul(1024)?))
        }
        "b" => Some(format!("write `{number}`")),
        _ => None,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use oxherd_model::specifier::{Writer, parse_memory, parse_time};

    use super::*;

    #[test]
    fn suggestions_are_legal_values() {
        for text in ["1d", "90s", "2h", "010", "NONE", "1:30", "UNLIMITED"] {
            let help = instead_of(&parse_time(text, Writer::Admin).unwrap_err()).unwrap();
            let written = help.split('`').nth(1).unwrap();
            assert!(parse_time(written, Writer::Admin).is_ok(), "{help}");
        }
        for text in ["1GB", "1 GiB", "2kb", "1P", "010K", "none", "7B"] {
            let help = instead_of(&parse_memory(text, Writer::Admin).unwrap_err()).unwrap();
            let written = help.split('`').nth(1).unwrap();
            assert!(parse_memory(written, Writer::Admin).is_ok(), "{help}");
        }
        assert_eq!(instead_of(&parse_time("soon", Writer::Admin).unwrap_err()), None);
    }
}
