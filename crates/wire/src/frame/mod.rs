//! Frames of the communication library.
//!
//! Every frame is `<gmsh><dl>N</dl></gmsh>`, then N bytes of one pseudo-XML element, and behind a message header
//! (`mih`) as many bytes of body as that says. The first frame of each side is a [`Connect`] or the
//! [`ConnectResponse`] to it; all later ones are [`Message`]s, either data or [`Control`].

mod connect;
mod control;
mod decoder;
mod message;

pub use connect::{Condition, Connect, ConnectResponse, Endpoint};
pub use control::{Control, Status};
pub use decoder::Decoder;
pub use message::{Format, Message, MessageIds};

use crate::xml::Element;

/// The longest header element: the peer's own buffer for one, 4096 bytes, holds no more.
pub const MAX_HEADER: usize = 4096;

/// The longest body a [`Decoder`] accepts unless told otherwise. A stock client sends at most 65,536 bytes.
pub const MAX_BODY: usize = 1 << 20;

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// `cm`: a client introduces itself.
    Connect(Connect),
    /// `crm`: the answer to it.
    ConnectResponse(ConnectResponse),
    /// `mih` and its body.
    Message(Message),
}

impl Frame {
    /// The bytes of the frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Connect(connect) => connect.encode(),
            Self::ConnectResponse(response) => response.encode(),
            Self::Message(message) => message.encode(),
        }
    }
}

/// Why bytes are no frame. The stream cannot be read any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes do not begin with `<gmsh><dl>N</dl></gmsh>`.
    #[error("no length header at the start of a frame")]
    NotAFrame,
    /// The length header promises nothing or more than [`MAX_HEADER`].
    #[error("a header of {0} bytes")]
    HeaderLength(usize),
    /// The message header promises more than the decoder's limit.
    #[error("a body of {0} bytes")]
    BodyLength(usize),
    /// The header is not one element.
    #[error("the header is no element")]
    NotAnElement,
    /// The header is an element of another name than `cm`, `crm` and `mih`.
    #[error("unknown frame `{0}`")]
    UnknownFrame(String),
    /// A field that must be there is not.
    #[error("{frame}: no `{field}`")]
    Missing { frame: &'static str, field: &'static str },
    /// A field is no number of its range.
    #[error("{frame}: `{field}` is no number in its range")]
    Number { frame: &'static str, field: &'static str },
}

/// Reads fields of one element and knows its name for errors.
#[derive(Debug, Clone, Copy)]
struct Fields<'a> {
    frame: &'static str,
    element: Element<'a>,
}

impl<'a> Fields<'a> {
    fn child(&self, field: &'static str) -> Result<Element<'a>, DecodeError> {
        self.element.child(field).ok_or(DecodeError::Missing { frame: self.frame, field })
    }

    fn text(&self, field: &'static str) -> Result<String, DecodeError> {
        Ok(self.child(field)?.text())
    }

    fn number<T: std::str::FromStr>(&self, field: &'static str) -> Result<T, DecodeError> {
        number(self.child(field)?.content).ok_or(DecodeError::Number { frame: self.frame, field })
    }
}

/// Decimal digits and nothing else; leading zeros are accepted, as by the peer.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// The element with its length header in front.
fn framed(element: &str) -> Vec<u8> {
    format!("<gmsh><dl>{}</dl></gmsh>{element}", element.len()).into_bytes()
}
