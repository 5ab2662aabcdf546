//! Bytes to frames, at any segmentation.

use super::{Connect, ConnectResponse, DecodeError, Frame, MAX_BODY, MAX_HEADER, Message};
use crate::xml::Element;

const OPEN: &[u8] = b"<gmsh><dl>";
const CLOSE: &[u8] = b"</dl></gmsh>";
/// Digits of a length; more than any length has, so that leading zeros pass.
const MAX_DIGITS: usize = 19;

/// Collects bytes and gives the frames in them.
///
/// As an iterator it gives what is complete: `None` means that more bytes are needed, and it goes on after the next
/// [`push`](Self::push). After an error nothing comes any more: what follows cannot be told from a frame. It keeps
/// less than one frame beyond what was pushed since the iterator was last exhausted.
#[derive(Debug)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// How many of `bytes` are used up.
    start: usize,
    stage: Stage,
    body_limit: usize,
}

#[derive(Debug)]
enum Stage {
    Length,
    Header(usize),
    Body(Message, usize),
    Failed,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder for bodies of up to [`MAX_BODY`] bytes.
    pub fn new() -> Self {
        Self::with_body_limit(MAX_BODY)
    }

    /// A decoder for bodies of up to `body_limit` bytes.
    pub fn with_body_limit(body_limit: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, stage: Stage::Length, body_limit }
    }

    /// Takes bytes as they came.
    pub fn push(&mut self, bytes: &[u8]) {
        if matches!(self.stage, Stage::Failed) {
            return;
        }
        self.bytes.drain(..self.start.min(self.bytes.len()));
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// How many bytes are kept.
    pub fn buffered(&self) -> usize {
        self.bytes.len()
    }

    /// True inside a frame: the end of the stream would cut it off.
    pub fn is_inside_frame(&self) -> bool {
        match self.stage {
            Stage::Length => !self.rest().is_empty(),
            Stage::Header(_) | Stage::Body(..) => true,
            Stage::Failed => false,
        }
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// The next `length` bytes, if they are there.
    fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        let taken = self.rest().get(..length)?.to_vec();
        self.start = self.start.saturating_add(length);
        Some(taken)
    }

    fn step(&mut self) -> Result<Option<Frame>, DecodeError> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Length) {
                Stage::Length => {
                    let Some((length, used)) = length_header(self.rest())? else { return Ok(None) };
                    self.start = self.start.saturating_add(used);
                    self.stage = Stage::Header(length);
                }
                Stage::Header(length) => {
                    let Some(header) = self.take(length) else {
                        self.stage = Stage::Header(length);
                        return Ok(None);
                    };
                    match self.header(&String::from_utf8_lossy(&header))? {
                        (Frame::Message(message), body) => self.stage = Stage::Body(message, body),
                        (frame, _) => return Ok(Some(frame)),
                    }
                }
                Stage::Body(mut message, length) => {
                    let Some(body) = self.take(length) else {
                        self.stage = Stage::Body(message, length);
                        return Ok(None);
                    };
                    message.body = body;
                    return Ok(Some(Frame::Message(message)));
                }
                Stage::Failed => {
                    self.stage = Stage::Failed;
                    return Ok(None);
                }
            }
        }
    }

    fn header(&self, text: &str) -> Result<(Frame, usize), DecodeError> {
        let (element, rest) = Element::first(text).ok_or(DecodeError::NotAnElement)?;
        if !rest.trim_ascii().is_empty() {
            return Err(DecodeError::NotAnElement);
        }
        match element.name {
            "cm" => Ok((Frame::Connect(Connect::decode(element)?), 0)),
            "crm" => Ok((Frame::ConnectResponse(ConnectResponse::decode(element)?), 0)),
            "mih" => {
                let (message, length) = Message::decode(element)?;
                if length > self.body_limit {
                    return Err(DecodeError::BodyLength(length));
                }
                Ok((Frame::Message(message), length))
            }
            name => Err(DecodeError::UnknownFrame(name.to_owned())),
        }
    }
}

impl Iterator for Decoder {
    type Item = Result<Frame, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.stage = Stage::Failed;
            self.bytes = Vec::new();
            self.start = 0;
        }
        step.transpose()
    }
}

/// The length that a length header announces, and how long it is itself; `None` while it is incomplete.
fn length_header(bytes: &[u8]) -> Result<Option<(usize, usize)>, DecodeError> {
    let Some(rest) = expect(bytes, OPEN)? else { return Ok(None) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > MAX_DIGITS {
        return Err(DecodeError::NotAFrame);
    }
    let (number, rest) = rest.split_at_checked(digits).unwrap_or((rest, &[]));
    if rest.is_empty() {
        return Ok(None);
    }
    let Some(rest) = expect(rest, CLOSE)? else { return Ok(None) };
    let number = std::str::from_utf8(number).ok().and_then(super::number::<usize>);
    let length = number.ok_or(DecodeError::NotAFrame)?;
    if length == 0 || length > MAX_HEADER {
        return Err(DecodeError::HeaderLength(length));
    }
    Ok(Some((length, bytes.len().saturating_sub(rest.len()))))
}

/// What follows `wanted`; `None` if `bytes` end before it does.
fn expect<'a>(bytes: &'a [u8], wanted: &[u8]) -> Result<Option<&'a [u8]>, DecodeError> {
    match bytes.strip_prefix(wanted) {
        Some(rest) => Ok(Some(rest)),
        None if wanted.starts_with(bytes) => Ok(None),
        None => Err(DecodeError::NotAFrame),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut decoder = Decoder::new();
        decoder.push(text.as_bytes());
        let first = decoder.next().expect("complete").expect_err("no frame");
        assert_eq!(first.to_string(), expected, "{text}");
        decoder.push(b"<gmsh>");
        assert!(decoder.next().is_none());
        assert_eq!(decoder.buffered(), 0);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        check("GET / HTTP/1.1\r\n", "no length header at the start of a frame");
        check("<gmsh><dl>-1</dl></gmsh>", "no length header at the start of a frame");
        check("<gmsh><dl></dl></gmsh>", "no length header at the start of a frame");
        check("<gmsh><dl>00000000000000000000", "no length header at the start of a frame");
        check("<gmsh><dl>0</dl></gmsh>", "a header of 0 bytes");
        check("<gmsh><dl>4097</dl></gmsh>", "a header of 4097 bytes");
        check("<gmsh><dl>3</dl></gmsh>abc", "the header is no element");
        check("<gmsh><dl>7</dl></gmsh><x></x>", "unknown frame `x`");
        let header = |dl: &str| {
            format!("<mih><mid>1</mid><dl>{dl}</dl><df>bin</df><mat>nak</mat><tag>0</tag><rid>0</rid></mih>")
        };
        let frame = |header: &str| format!("<gmsh><dl>{}</dl></gmsh>{header}", header.len());
        check(&frame(&header("1048577")), "a body of 1048577 bytes");
        check(&frame(&header("99999999999999999999")), "mih: `dl` is no number in its range");
        check(&frame("<mih version=\"0.1\"><mid>1</mid></mih>"), "mih: no `df`");
    }

    #[test]
    fn unknown_elements_and_leading_zeros_are_passed_over() {
        let header = "<mih version=\"0.1\"><new>x</new><mid>07</mid><dl>2</dl><df>bin</df><mat>nak</mat><tag>0</tag>\
                      <rid>0</rid><more/></mih>";
        let mut decoder = Decoder::new();
        decoder.push(format!("<gmsh><dl>0{}</dl></gmsh>{header}ab", header.len()).as_bytes());
        let frame = decoder.next().expect("complete").expect("a frame");
        let Frame::Message(message) = frame else { panic!("{frame:?}") };
        assert_eq!((message.id, message.body.as_slice()), (7, &b"ab"[..]));
        assert!(!decoder.is_inside_frame());
    }
}
