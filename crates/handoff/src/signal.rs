//! How execd tells a shepherd what to do: one signal to its process id, for some with a number in the file `signal`.

/// Reads the file `signal`: a decimal system signal number and a newline; 0 or anything else is no order.
#[must_use]
pub fn parse(text: &[u8]) -> Option<i32> {
    let number: i32 = std::str::from_utf8(text).ok()?.split_ascii_whitespace().next()?.parse().ok()?;
    (1..=64).contains(&number).then_some(number)
}

/// The text of the file.
#[must_use]
pub fn text(number: i32) -> Vec<u8> {
    format!("{number}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_signal_numbers_are_orders() {
        assert_eq!(parse(b"19\n"), Some(19));
        assert_eq!(parse(b"0\n"), None);
        assert_eq!(parse(b"-9\n"), None);
        assert_eq!(parse(b"65\n"), None);
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"STOP"), None);
        assert_eq!(parse(&text(10)), Some(10));
    }
}
