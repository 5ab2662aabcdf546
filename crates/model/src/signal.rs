//! Signal names and their numbers on Linux (x86 and ARM share them), as Grid Engine spells them.

/// The names that 8.1.9 knows in control methods and checkpoint environments, without the prefix `SIG`.
pub const SIGNALS: [(&str, i32); 27] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("IOT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("WINCH", 28),
    ("IO", 29),
];

/// The highest real-time signal of Linux.
pub const HIGHEST: i32 = 64;

/// The number of a signal name, with or without the prefix `SIG`. Names are upper case, as `kill -l` prints them.
pub fn number(name: &str) -> Option<i32> {
    let bare = name.strip_prefix("SIG").unwrap_or(name);
    SIGNALS.iter().find(|(known, _)| *known == bare).map(|(_, number)| *number)
}

/// The name of a signal number, without `SIG`; `None` for numbers that Grid Engine has no name for.
pub fn name(number: i32) -> Option<&'static str> {
    SIGNALS.iter().find(|(_, known)| *known == number).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_agree() {
        for (text, value) in SIGNALS {
            assert_eq!(number(text), Some(value));
            assert_eq!(number(&format!("SIG{text}")), Some(value));
            assert_eq!(number(name(value).unwrap()), Some(value));
        }
        assert_eq!(number("SIGFOO"), None);
        assert_eq!(number("term"), None);
        assert_eq!(name(64), None);
    }
}
