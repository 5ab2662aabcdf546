//! `$name` in procedures and methods (sge_conf(5), queue_conf(5)).

/// Expands variables in a text. A name is the longest run of letters, digits and `_`. What `value` does not know,
/// and a `$` without a name, stay as they are: in 8.1.9 either ends the shepherd.
pub fn expand(text: &[u8], value: impl Fn(&str) -> Option<Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
        out.extend_from_slice(&rest[..at]);
        let tail = &rest[at + 1..];
        let length = tail.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let known =
            std::str::from_utf8(&tail[..length]).ok().filter(|name| !name.is_empty()).and_then(&value);
        match known {
            Some(value) => out.extend_from_slice(&value),
            None => out.extend_from_slice(&rest[at..=at + length]),
        }
        rest = &tail[length..];
    }
    out.extend_from_slice(rest);
    out
}

/// The words of a command line: split at blanks and tabs only, quotes mean nothing (observed on 8.1.9).
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let value = |name: &str| (name == "job_id").then(|| b"4711".to_vec());
        String::from_utf8(expand(text.as_bytes(), value)).expect("UTF-8")
    }

    #[test]
    fn known_names_are_replaced_and_the_rest_stays() {
        assert_eq!(shown("a $job_id b"), "a 4711 b");
        assert_eq!(shown("$job_id$job_id"), "47114711");
        assert_eq!(shown("$job_idx $ $$ $"), "$job_idx $ $$ $");
        assert_eq!(shown("x=${job_id}"), "x=${job_id}");
    }

    #[test]
    fn words_are_split_at_blanks_only() {
        let words: Vec<_> =
            words(b"/p  \"a b\"\tc\\ d").map(|w| String::from_utf8_lossy(w).into_owned()).collect();
        assert_eq!(words, ["/p", "\"a", "b\"", "c\\", "d"]);
    }
}
