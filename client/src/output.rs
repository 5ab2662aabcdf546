//! What the program says. A reader that has gone away is no reason to stop: nothing here fails.

use std::io::{self, Write as _};

/// Writes to stdout as it stands.
pub(crate) fn text(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes to stderr as it stands.
pub(crate) fn error_text(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// One line on stderr with the program's name.
pub(crate) fn say(line: impl std::fmt::Display) {
    error_text(&format!("oxherd: {line}\n"));
}

/// A JSON document on one line.
pub(crate) fn json(document: &serde_json::Value) -> String {
    format!("{document}\n")
}
