//! `cm` and `crm`: how a connection begins.

use super::{DecodeError, Fields, framed, number};
use crate::xml::{self, Element, escape};

/// One end of a connection: `host/component/id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// A host name. The server compares a client's with what it resolves for the client's address.
    pub host: String,
    /// The kind of program, such as `qrsh_ijs`.
    pub component: String,
    /// Its number; a client's 0 asks the server to choose.
    pub id: u32,
}

impl Endpoint {
    /// An endpoint.
    pub fn new(host: &str, component: &str, id: u32) -> Self {
        Self { host: host.to_owned(), component: component.to_owned(), id }
    }

    fn decode(frame: &'static str, element: Element<'_>) -> Result<Self, DecodeError> {
        let attribute = |field| element.attribute(field).ok_or(DecodeError::Missing { frame, field });
        let id = number(&attribute("id")?).ok_or(DecodeError::Number { frame, field: "id" })?;
        Ok(Self { host: attribute("host")?, component: attribute("comp")?, id })
    }

    fn write(&self, out: &mut String, name: &str) {
        let (host, component) = (escape(&self.host), escape(&self.component));
        out.push_str(&format!(r#"<{name} host="{host}" comp="{component}" id="{}"></{name}>"#, self.id));
    }
}

/// `cm`, the first frame of a client. Versions and unknown words are kept as they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connect {
    /// The version attribute, `0.4`; the peer does not check it.
    pub version: String,
    /// `df`: `bin`.
    pub data_format: String,
    /// `ct`: `message`.
    pub connection_type: String,
    /// `dst`: the wanted service.
    pub destination: Endpoint,
    /// `rdata`: the client itself.
    pub source: Endpoint,
    /// Where the client can be called back; 0 is nowhere.
    pub port: u32,
    /// `ac`: `enabled` where the server may close the connection when it is short of descriptors.
    pub auto_close: String,
}

impl Connect {
    /// The first frame of a client that cannot be called back and must not be closed.
    pub fn new(destination: Endpoint, source: Endpoint) -> Self {
        Self {
            version: "0.4".to_owned(),
            data_format: "bin".to_owned(),
            connection_type: "message".to_owned(),
            destination,
            source,
            port: 0,
            auto_close: "disabled".to_owned(),
        }
    }

    pub(super) fn decode(element: Element<'_>) -> Result<Self, DecodeError> {
        let frame = "cm";
        let fields = Fields { frame, element };
        Ok(Self {
            version: element.attribute("version").unwrap_or_default(),
            data_format: fields.text("df")?,
            connection_type: fields.text("ct")?,
            destination: Endpoint::decode(frame, fields.child("dst")?)?,
            source: Endpoint::decode(frame, fields.child("rdata")?)?,
            port: fields.number("port")?,
            auto_close: fields.text("ac")?,
        })
    }

    /// The bytes of the frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = format!(r#"<cm version="{}">"#, escape(&self.version));
        xml::text(&mut out, "df", &self.data_format);
        xml::text(&mut out, "ct", &self.connection_type);
        self.destination.write(&mut out, "dst");
        self.source.write(&mut out, "rdata");
        xml::plain(&mut out, "port", self.port);
        xml::text(&mut out, "ac", &self.auto_close);
        out.push_str("</cm>");
        framed(&out)
    }
}

/// What the server thinks of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Welcome.
    Connected,
    /// The host name or the wanted service is wrong; the text says which.
    AccessDenied,
    /// Somebody else is connected under the same name.
    EndpointNotUnique,
    /// Any other word.
    Other(String),
}

impl Condition {
    fn parse(word: String) -> Self {
        match word.as_str() {
            "connected" => Self::Connected,
            "access denied" => Self::AccessDenied,
            "endpoint not unique" => Self::EndpointNotUnique,
            _ => Self::Other(word),
        }
    }

    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Connected => "connected",
            Self::AccessDenied => "access denied",
            Self::EndpointNotUnique => "endpoint not unique",
            Self::Other(word) => word,
        }
    }
}

/// `crm`, the server's answer to [`Connect`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectResponse {
    /// The version attribute, `0.3`.
    pub version: String,
    /// Accepted or not.
    pub condition: Condition,
    /// `ok`, or why not.
    pub text: String,
    /// `rdata`: the client, with the id the server chose.
    pub source: Option<Endpoint>,
    /// `name=value` pairs with colons between.
    pub params: String,
}

impl ConnectResponse {
    pub(super) fn decode(element: Element<'_>) -> Result<Self, DecodeError> {
        let frame = "crm";
        let fields = Fields { frame, element };
        let status = fields.child("cs")?;
        let condition =
            status.attribute("condition").ok_or(DecodeError::Missing { frame, field: "condition" })?;
        let source = element.child("rdata").map(|rdata| Endpoint::decode(frame, rdata)).transpose()?;
        Ok(Self {
            version: element.attribute("version").unwrap_or_default(),
            condition: Condition::parse(condition),
            text: status.text(),
            source,
            params: element.child("params").map(|params| params.text()).unwrap_or_default(),
        })
    }

    /// The bytes of the frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = format!(r#"<crm version="{}">"#, escape(&self.version));
        let (condition, text) = (escape(self.condition.as_str()), escape(&self.text));
        out.push_str(&format!(r#"<cs condition="{condition}">{text}</cs>"#));
        if let Some(source) = &self.source {
            source.write(&mut out, "rdata");
        }
        xml::text(&mut out, "params", &self.params);
        out.push_str("</crm>");
        framed(&out)
    }
}
