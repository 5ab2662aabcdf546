//! `mih`: the header in front of everything after the connection was accepted.

use super::{DecodeError, Fields, framed};
use crate::xml::{self, Element, escape};

/// What the body of a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// Data for the application.
    Bin,
    /// A control message of this name, see [`super::Control`].
    Control(String),
}

impl Format {
    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Bin => "bin",
            Self::Control(name) => name,
        }
    }
}

/// A message header and its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The version attribute, `0.1`.
    pub version: String,
    /// `mid`: counts the messages of one side of a connection; the receiver does not check it.
    pub id: u32,
    /// `df`: what the body is.
    pub format: Format,
    /// `mat`: `nak` where no acknowledgement is wanted, else `ack`.
    pub acknowledge: String,
    /// `tag`: the application's number for the kind of body; 0 in an interactive session.
    pub tag: u32,
    /// `rid`: the id of the request that this answers, else 0.
    pub response_to: u32,
    /// The body.
    pub body: Vec<u8>,
}

impl Message {
    /// A message that wants no acknowledgement and answers nothing.
    pub fn new(id: u32, format: Format, body: Vec<u8>) -> Self {
        let (version, acknowledge) = ("0.1".to_owned(), "nak".to_owned());
        Self { version, id, format, acknowledge, tag: 0, response_to: 0, body }
    }

    /// The header's part of a message, and how long the body is going to be.
    pub(super) fn decode(element: Element<'_>) -> Result<(Self, usize), DecodeError> {
        let fields = Fields { frame: "mih", element };
        let format = match fields.text("df")? {
            word if word == "bin" => Format::Bin,
            word => Format::Control(word),
        };
        let message = Self {
            version: element.attribute("version").unwrap_or_default(),
            id: fields.number("mid")?,
            format,
            acknowledge: fields.text("mat")?,
            tag: fields.number("tag")?,
            response_to: fields.number("rid")?,
            body: Vec::new(),
        };
        Ok((message, fields.number("dl")?))
    }

    /// The bytes of the frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = format!(r#"<mih version="{}">"#, escape(&self.version));
        xml::plain(&mut out, "mid", self.id);
        xml::plain(&mut out, "dl", self.body.len());
        xml::text(&mut out, "df", self.format.as_str());
        xml::text(&mut out, "mat", &self.acknowledge);
        xml::plain(&mut out, "tag", self.tag);
        xml::plain(&mut out, "rid", self.response_to);
        out.push_str("</mih>");
        let mut bytes = framed(&out);
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// Numbers the messages of one side: 1, 2, …, 65535, 1.
#[derive(Debug, Clone, Default)]
pub struct MessageIds {
    last: u16,
}

impl MessageIds {
    /// The number of the next message.
    pub fn take(&mut self) -> u32 {
        self.last = self.last.checked_add(1).unwrap_or(1);
        u32::from(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_begin_again_at_one() {
        let mut ids = MessageIds::default();
        let taken: Vec<u32> = (0..65_537).map(|_| ids.take()).collect();
        assert_eq!(taken.first(), Some(&1));
        assert_eq!(taken.iter().rev().take(3).collect::<Vec<_>>(), [&2, &1, &65_535]);
    }
}
