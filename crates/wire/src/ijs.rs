//! The messages of an interactive session, the bodies of `bin` frames between a shepherd and the client that waits.
//!
//! The first byte says what it is, the rest is raw data or a short text. Where there is nothing to say the peer puts
//! one blank, and so do we.

use std::fmt;

/// The most data bytes of one message of ours: the same as a stock client sends in one.
pub const MAX_DATA: usize = 65_535;

/// The longest text of a message that carries no data.
const MAX_TEXT: usize = 256;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const WINDOW_SIZE: u8 = 3;
const REGISTER: u8 = 4;
const UNREGISTER: u8 = 5;
const UNREGISTER_RESPONSE: u8 = 6;
const SETTINGS: u8 = 7;
const SUSPEND: u8 = 8;
const RESUME: u8 = 9;
const STDIN_CLOSED: u8 = 10;

/// The size of the client's terminal; without one a stock client says 60 rows of 80 columns, 480 by 640 pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowSize {
    pub rows: u16,
    pub columns: u16,
    pub x_pixels: u16,
    pub y_pixels: u16,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Client: input for the command.
    Stdin(Vec<u8>),
    /// Shepherd: what the command wrote.
    Stdout(Vec<u8>),
    /// Shepherd: what the command wrote as an error.
    Stderr(Vec<u8>),
    /// Client: its terminal has this size.
    WindowSize(WindowSize),
    /// Shepherd: here I am.
    Register,
    /// Shepherd: the command has ended with this status, and all its output is sent.
    Unregister { status: u32 },
    /// Client: the exit status has arrived.
    UnregisterResponse,
    /// Client: whether the command is to be started without the user's shell.
    Settings { noshell: bool },
    /// Client: stop the command.
    Suspend,
    /// Client: continue it.
    Resume,
    /// Client: there is no more input.
    StdinClosed,
    /// Anything else, kept as it came.
    Unknown { kind: u8, rest: Vec<u8> },
}

/// Why a body is no message. The session can go on without it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// There is not even a type.
    #[error("an empty message")]
    Empty,
    /// The text of a message is not what its type wants.
    #[error("message of type {kind}: expected {expected}, found `{found}`")]
    Text { kind: u8, expected: &'static str, found: String },
}

impl Message {
    /// Reads the body of a frame.
    pub fn decode(body: &[u8]) -> Result<Self, MessageError> {
        let (&kind, rest) = body.split_first().ok_or(MessageError::Empty)?;
        let wrong = |expected| MessageError::Text { kind, expected, found: shown(rest) };
        Ok(match kind {
            STDIN => Self::Stdin(rest.to_vec()),
            STDOUT => Self::Stdout(rest.to_vec()),
            STDERR => Self::Stderr(rest.to_vec()),
            WINDOW_SIZE => Self::WindowSize(window_size(rest).ok_or_else(|| wrong("`WS` and four numbers"))?),
            REGISTER => Self::Register,
            UNREGISTER => {
                let status = text(rest).and_then(|text| text.trim_ascii().parse().ok());
                Self::Unregister { status: status.ok_or_else(|| wrong("an exit status"))? }
            }
            UNREGISTER_RESPONSE => Self::UnregisterResponse,
            SETTINGS => {
                Self::Settings { noshell: noshell(rest).ok_or_else(|| wrong("`noshell = 0` or `1`"))? }
            }
            SUSPEND => Self::Suspend,
            RESUME => Self::Resume,
            STDIN_CLOSED => Self::StdinClosed,
            kind => Self::Unknown { kind, rest: rest.to_vec() },
        })
    }

    /// The body of a frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Stdin(bytes) => with_type(STDIN, bytes),
            Self::Stdout(bytes) => with_type(STDOUT, bytes),
            Self::Stderr(bytes) => with_type(STDERR, bytes),
            Self::WindowSize(size) => with_type(WINDOW_SIZE, size.to_string().as_bytes()),
            Self::Register => with_type(REGISTER, b" "),
            Self::Unregister { status } => with_type(UNREGISTER, status.to_string().as_bytes()),
            Self::UnregisterResponse => with_type(UNREGISTER_RESPONSE, b" "),
            Self::Settings { noshell } => {
                with_type(SETTINGS, format!("noshell = {}\0", u8::from(*noshell)).as_bytes())
            }
            Self::Suspend => with_type(SUSPEND, b" "),
            Self::Resume => with_type(RESUME, b" "),
            Self::StdinClosed => with_type(STDIN_CLOSED, b" "),
            Self::Unknown { kind, rest } => with_type(*kind, rest),
        }
    }
}

impl fmt::Display for WindowSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, x_pixels, y_pixels } = self;
        write!(f, "WS {rows} {columns} {x_pixels} {y_pixels}")
    }
}

pub(crate) fn stdout_body(bytes: &[u8]) -> Vec<u8> {
    with_type(STDOUT, bytes)
}

pub(crate) fn stderr_body(bytes: &[u8]) -> Vec<u8> {
    with_type(STDERR, bytes)
}

fn with_type(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(rest.len().saturating_add(1));
    body.push(kind);
    body.extend_from_slice(rest);
    body
}

/// A short text up to its end or its NUL.
fn text(bytes: &[u8]) -> Option<&str> {
    let text = bytes.split(|byte| *byte == 0).next()?;
    if text.len() > MAX_TEXT {
        return None;
    }
    std::str::from_utf8(text).ok()
}

/// The beginning of bytes that are no text, for a message.
fn shown(bytes: &[u8]) -> String {
    let start = bytes.get(..MAX_TEXT).unwrap_or(bytes);
    start.escape_ascii().to_string()
}

fn window_size(bytes: &[u8]) -> Option<WindowSize> {
    let mut words = text(bytes)?.split_ascii_whitespace();
    if words.next()? != "WS" {
        return None;
    }
    let mut number = || words.next()?.parse().ok();
    let size = WindowSize { rows: number()?, columns: number()?, x_pixels: number()?, y_pixels: number()? };
    words.next().is_none().then_some(size)
}

fn noshell(bytes: &[u8]) -> Option<bool> {
    let (name, value) = text(bytes)?.split_once('=')?;
    match (name.trim_ascii(), value.trim_ascii()) {
        ("noshell", "0") => Some(false),
        ("noshell", "1") => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &[u8], message: Message) {
        assert_eq!(Message::decode(body).as_ref(), Ok(&message));
        assert_eq!(message.encode(), body);
    }

    #[test]
    fn messages_are_the_peers() {
        check(b"\0hi\n", Message::Stdin(b"hi\n".to_vec()));
        check(b"\x01hi\n", Message::Stdout(b"hi\n".to_vec()));
        check(b"\x02", Message::Stderr(Vec::new()));
        let size = WindowSize { rows: 60, columns: 80, x_pixels: 480, y_pixels: 640 };
        check(b"\x03WS 60 80 480 640", Message::WindowSize(size));
        check(b"\x04 ", Message::Register);
        check(b"\x05137", Message::Unregister { status: 137 });
        check(b"\x06 ", Message::UnregisterResponse);
        check(b"\x07noshell = 0\0", Message::Settings { noshell: false });
        check(b"\x07noshell = 1\0", Message::Settings { noshell: true });
        check(b"\x08 ", Message::Suspend);
        check(b"\x09 ", Message::Resume);
        check(b"\x0a ", Message::StdinClosed);
        check(b"\x0bnew", Message::Unknown { kind: 11, rest: b"new".to_vec() });
    }

    #[test]
    fn wrong_texts_are_named() {
        let complaint = |body: &[u8]| Message::decode(body).expect_err("no message").to_string();
        assert_eq!(complaint(b""), "an empty message");
        let expected = "message of type 3: expected `WS` and four numbers, found `WS 1 2 3`";
        assert_eq!(complaint(b"\x03WS 1 2 3"), expected);
        assert!(complaint(b"\x03WS 1 2 3 70000").starts_with("message of type 3"));
        let expected = r"message of type 7: expected `noshell = 0` or `1`, found `noshell = 9\x00`";
        assert_eq!(complaint(b"\x07noshell = 9\0"), expected);
        assert!(complaint(b"\x05\xff").starts_with("message of type 5: expected an exit status"));
    }
}
