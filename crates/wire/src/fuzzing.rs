//! Bodies of the fuzz targets in `tests/fuzz`. They must never panic; a failed assertion is a finding.
#![allow(clippy::missing_panics_doc, reason = "a panic is how a target reports")]

use crate::frame::{Control, Decoder, Frame, MAX_BODY, MAX_HEADER};
use crate::ijs;
use crate::session::{Event, Session};

/// A length header is a few bytes; more is no frame.
const MAX_LENGTH_HEADER: usize = 64;

/// What a client sends. The first byte is the size of the pieces it comes in: the events do not depend on it, what is
/// kept is bounded, and what was understood says the same when written and read again.
pub fn ijs_session(data: &[u8]) {
    let Some((&size, data)) = data.split_first() else { return };
    let size = usize::from(size).max(1);

    let mut session = Session::new("node", "client");
    let mut events = Vec::new();
    for piece in data.chunks(size) {
        events.extend(session.receive(piece));
        assert!(session.buffered() <= MAX_LENGTH_HEADER + MAX_HEADER + MAX_BODY + piece.len());
        let _ = (session.stdout(b"out"), session.stderr(b"err"));
    }
    let mut at_once = Session::new("node", "client");
    let mut expected = at_once.receive(data);
    // Their numbers depend on what was sent between them.
    let sent = |event: &Event| matches!(event, Event::Send(_));
    assert_eq!(
        events.iter().filter(|event| sent(event)).count(),
        expected.iter().filter(|e| sent(e)).count()
    );
    events.retain(|event| !sent(event));
    expected.retain(|event| !sent(event));
    assert_eq!(events, expected);
    assert_eq!(session.is_over(), at_once.is_over());

    let mut decoder = Decoder::new();
    decoder.push(data);
    for frame in decoder.map_while(Result::ok) {
        assert_eq!(again(&frame).as_ref(), Some(&frame));
        let Frame::Message(message) = frame else { continue };
        if let Some(Ok(control)) = Control::decode(&message) {
            let written = control.message(message.id);
            assert_eq!(Control::decode(&written), Some(Ok(control)));
        } else if let Ok(known) = ijs::Message::decode(&message.body) {
            assert_eq!(ijs::Message::decode(&known.encode()), Ok(known));
        }
    }
}

/// A frame written and read. Escaping may make a header longer than the limit: that has no answer.
fn again(frame: &Frame) -> Option<Frame> {
    let mut decoder = Decoder::new();
    decoder.push(&frame.encode());
    match decoder.next()? {
        Err(crate::DecodeError::HeaderLength(_)) => Some(frame.clone()),
        result => result.ok(),
    }
}
