//! Lines of `trace` and `error`: `MM/DD/YYYY hh:mm:ss [EUID:PID]: text`, local time.
//!
//! execd takes the first line of `error`, date included, as the reason of a failure. A line break in the text
//! would forge further lines, so control characters are shown as `\n`, `\t` or `\xNN`.

use std::fmt::Write as _;

/// A point of local time, made by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTime {
    pub year: i32,
    /// 1 to 12
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
}

/// Appends one line to `out`, with its newline.
pub fn write_line(out: &mut String, at: LocalTime, euid: u32, pid: u32, text: &str) {
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "{:02}/{:02}/{:04} {:02}:{:02}:{:02} [{euid}:{pid}]: ",
        at.month, at.day, at.year, at.hour, at.minute, at.second
    );
    write_visible(out, text);
    out.push('\n');
}

/// Appends text with control characters made visible.
fn write_visible(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

/// The text of a line without its date and ids; the whole line where it does not have the form.
#[must_use]
pub fn text_of(line: &str) -> &str {
    line.split_once("]: ").filter(|(head, _)| head.contains(" [")).map_or(line, |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_date_ids_and_text_and_cannot_become_two() {
        let at = LocalTime { year: 2026, month: 11, day: 30, hour: 16, minute: 14, second: 7 };
        let mut out = String::new();
        write_line(&mut out, at, 103, 16962, "a\nb\u{1b}[2J");
        assert_eq!(out, "11/30/2026 16:14:07 [103:16962]: a\\nb\\x1b[2J\n");
        assert_eq!(text_of(out.trim_end()), "a\\nb\\x1b[2J");
        assert_eq!(text_of("free text"), "free text");
    }
}
