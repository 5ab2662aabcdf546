//! Control messages: life signs, acknowledgements, and how a connection is closed.

use super::{DecodeError, Fields, Format, MAX_HEADER, Message};
use crate::xml::{self, Element};

/// The body of a control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// `am`: the message of that id was taken.
    Acknowledge { id: u32 },
    /// `sim`: are you alive?
    StatusRequest,
    /// `sirm`: I am.
    StatusResponse(Status),
    /// `ccm`: let us close.
    Close,
    /// `ccrm`: yes; both close their sockets.
    CloseResponse,
}

/// What a program tells of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The id of the request.
    pub request: u32,
    /// Seconds since the epoch.
    pub start_time: u64,
    /// Seconds since the start.
    pub run_time: u64,
    /// Messages read and not yet taken.
    pub buffered_reads: u32,
    /// Messages given and not yet written.
    pub buffered_writes: u32,
    /// Connected clients.
    pub connections: u32,
    /// 0 is well.
    pub status: u32,
    /// A text for people.
    pub info: String,
}

impl Control {
    /// Reads the body of a control message; `None` for data and for control messages of an unknown name.
    pub fn decode(message: &Message) -> Option<Result<Self, DecodeError>> {
        let Format::Control(name) = &message.format else { return None };
        Some(match name.as_str() {
            "am" => body("am", message, |element| {
                Ok(Self::Acknowledge { id: Fields { frame: "am", element }.number("mid")? })
            }),
            "sim" => Ok(Self::StatusRequest),
            "sirm" => body("sirm", message, |element| Status::decode(element).map(Self::StatusResponse)),
            "ccm" => Ok(Self::Close),
            "ccrm" => Ok(Self::CloseResponse),
            _ => return None,
        })
    }

    /// The message with this body.
    pub fn message(&self, id: u32) -> Message {
        let (name, text) = match self {
            Self::Acknowledge { id } => ("am", format!(r#"<am version="0.1"><mid>{id}</mid></am>"#)),
            Self::StatusRequest => ("sim", r#"<sim version="0.1"></sim>"#.to_owned()),
            Self::StatusResponse(status) => ("sirm", status.text()),
            Self::Close => ("ccm", r#"<ccm version="0.1"></ccm>"#.to_owned()),
            Self::CloseResponse => ("ccrm", r#"<ccrm version="0.1"></ccrm>"#.to_owned()),
        };
        Message::new(id, Format::Control(name.to_owned()), text.into_bytes())
    }
}

/// Reads a body that is one element of that name.
fn body<T>(
    name: &'static str,
    message: &Message,
    read: impl FnOnce(Element<'_>) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    if message.body.len() > MAX_HEADER {
        return Err(DecodeError::HeaderLength(message.body.len()));
    }
    let text = String::from_utf8_lossy(&message.body);
    let (element, _) = Element::first(&text).ok_or(DecodeError::NotAnElement)?;
    if element.name != name {
        return Err(DecodeError::UnknownFrame(element.name.to_owned()));
    }
    read(element)
}

impl Status {
    fn decode(element: Element<'_>) -> Result<Self, DecodeError> {
        let frame = "sirm";
        let fields = Fields { frame, element };
        let application = Fields { frame, element: fields.child("application")? };
        let messages = Fields { frame, element: application.child("messages")? };
        let connections = Fields { frame, element: application.child("connections")? };
        Ok(Self {
            request: fields.number("mid")?,
            start_time: fields.number("starttime")?,
            run_time: fields.number("runtime")?,
            buffered_reads: messages.number("brm")?,
            buffered_writes: messages.number("bwm")?,
            connections: connections.number("noc")?,
            status: application.number("status")?,
            info: element.child("info").map(|info| info.text()).unwrap_or_default(),
        })
    }

    fn text(&self) -> String {
        let mut out = r#"<sirm version="0.1">"#.to_owned();
        xml::plain(&mut out, "mid", self.request);
        xml::plain(&mut out, "starttime", self.start_time);
        xml::plain(&mut out, "runtime", self.run_time);
        out.push_str("<application><messages>");
        xml::plain(&mut out, "brm", self.buffered_reads);
        xml::plain(&mut out, "bwm", self.buffered_writes);
        out.push_str("</messages><connections>");
        xml::plain(&mut out, "noc", self.connections);
        out.push_str("</connections>");
        xml::plain(&mut out, "status", self.status);
        out.push_str("</application>");
        xml::text(&mut out, "info", &self.info);
        out.push_str("</sirm>");
        out
    }
}
