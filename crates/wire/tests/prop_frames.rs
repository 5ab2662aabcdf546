//! Properties of the framing and of the session: any segmentation, round trips, hostile bytes.

use oxherd_wire::frame::{
    Condition, Connect, ConnectResponse, Control, Decoder, Endpoint, Format, Frame, Message, Status,
};
use oxherd_wire::{DecodeError, Event, Session, fuzzing, ijs};
use proptest::collection::vec;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9.-]{0,20}",
        "[ -~\n\r\t]{0,30}",
        vec(
            prop_oneof![Just("&"), Just("amp;"), Just("&lt;"), Just("<"), Just(">"), Just("\""), Just("ä")],
            0..6
        )
        .prop_map(|parts| parts.concat()),
    ]
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    (text(), text(), any::<u32>()).prop_map(|(host, component, id)| Endpoint { host, component, id })
}

fn message() -> impl Strategy<Value = Message> {
    let control = prop_oneof![
        any::<u32>().prop_map(|id| Control::Acknowledge { id }),
        Just(Control::StatusRequest),
        (any::<u32>(), text(), any::<u64>()).prop_map(|(request, info, run_time)| {
            Control::StatusResponse(Status { request, info, run_time, ..Status::default() })
        }),
        Just(Control::Close),
        Just(Control::CloseResponse),
    ];
    let bin = (any::<u32>(), any::<u32>(), any::<u32>(), vec(any::<u8>(), 0..200));
    prop_oneof![
        bin.prop_map(|(id, tag, response_to, body)| Message {
            tag,
            response_to,
            ..Message::new(id, Format::Bin, body)
        }),
        (any::<u32>(), control).prop_map(|(id, control)| control.message(id)),
    ]
}

fn frame() -> impl Strategy<Value = Frame> {
    let condition = prop_oneof![
        Just(Condition::Connected),
        Just(Condition::AccessDenied),
        Just(Condition::EndpointNotUnique),
        Just(Condition::Other("new & odd".to_owned())),
    ];
    let response = (condition, text(), proptest::option::of(endpoint()), text());
    prop_oneof![
        (endpoint(), endpoint()).prop_map(|(to, from)| Frame::Connect(Connect::new(to, from))),
        response.prop_map(|(condition, text, source, params)| Frame::ConnectResponse(ConnectResponse {
            version: "0.3".to_owned(),
            condition,
            text,
            source,
            params,
        })),
        message().prop_map(Frame::Message),
    ]
}

fn all(decoder: &mut Decoder, bytes: &[u8]) -> Vec<Result<Frame, DecodeError>> {
    decoder.push(bytes);
    decoder.by_ref().collect()
}

/// Frames, and perhaps bytes that are none, as a client might send them.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let mutation = proptest::option::of((any::<prop::sample::Index>(), any::<u8>()));
    (vec(frame(), 0..5), mutation).prop_map(|(frames, mutation)| {
        let mut bytes: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
        if let Some((at, byte)) = mutation
            && !bytes.is_empty()
        {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    })
}

proptest! {
    #[test]
    fn a_frame_written_is_the_frame_read(frames in vec(frame(), 0..6)) {
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
        let mut decoder = Decoder::new();
        let read: Result<Vec<Frame>, DecodeError> = all(&mut decoder, &bytes).into_iter().collect();
        prop_assert_eq!(read, Ok(frames));
        prop_assert!(!decoder.is_inside_frame());
    }

    #[test]
    fn a_cut_anywhere_changes_nothing(bytes in stream()) {
        let whole = all(&mut Decoder::new(), &bytes);
        for at in 0..=bytes.len() {
            let (first, second) = bytes.split_at(at);
            let mut decoder = Decoder::new();
            let mut parts = all(&mut decoder, first);
            parts.extend(all(&mut decoder, second));
            prop_assert_eq!(&parts, &whole, "cut at {}", at);
        }
        let mut decoder = Decoder::new();
        let bytewise: Vec<_> = bytes.iter().flat_map(|byte| all(&mut decoder, &[*byte])).collect();
        prop_assert_eq!(bytewise, whole);
    }

    #[test]
    fn controls_survive(control in message()) {
        if let Some(decoded) = Control::decode(&control) {
            let decoded = decoded.expect("written by us");
            prop_assert_eq!(decoded.message(control.id), control);
        }
    }

    #[test]
    fn interactive_messages_survive(body in vec(any::<u8>(), 0..40), kind in 0_u8..12) {
        let body = [&[kind], body.as_slice()].concat();
        if let Ok(message) = ijs::Message::decode(&body) {
            prop_assert_eq!(ijs::Message::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn output_arrives_whole(start in any::<u8>(), length in 0_usize..200_000) {
        let bytes: Vec<u8> = std::iter::successors(Some(start), |byte| Some(byte.wrapping_mul(5).wrapping_add(3))).take(length).collect();
        let mut session = connected();
        let sent = session.stdout(&bytes);
        let mut arrived = Vec::new();
        for frame in all(&mut Decoder::new(), &sent) {
            let Ok(Frame::Message(message)) = frame else { panic!("{frame:?}") };
            let Ok(ijs::Message::Stdout(piece)) = ijs::Message::decode(&message.body) else { panic!("{message:?}") };
            prop_assert!(piece.len() <= ijs::MAX_DATA && !piece.is_empty());
            arrived.extend(piece);
        }
        prop_assert_eq!(arrived, bytes);
    }

    #[test]
    fn a_session_survives_its_client(first in any::<u8>(), bytes in stream()) {
        let greeting = answer("connected", "ok");
        fuzzing::ijs_session(&[&[first], greeting.as_slice(), bytes.as_slice()].concat());
        fuzzing::ijs_session(&[&[first], bytes.as_slice()].concat());
    }
}

fn answer(condition: &str, text: &str) -> Vec<u8> {
    let element = format!(r#"<crm version="0.3"><cs condition="{condition}">{text}</cs></crm>"#);
    format!("<gmsh><dl>{}</dl></gmsh>{element}", element.len()).into_bytes()
}

fn connected() -> Session {
    let mut session = Session::new("node", "client");
    let events = session.receive(&answer("connected", "ok"));
    assert!(matches!(events.as_slice(), [Event::Send(_), Event::Connected]), "{events:?}");
    session
}

fn said(message: &ijs::Message) -> Vec<u8> {
    Message::new(1, Format::Bin, message.encode()).encode()
}

#[test]
fn a_refusal_says_why() {
    let mut session = Session::new("node", "client");
    let events = session.receive(&answer("access denied", "host &quot;x&quot;"));
    assert_eq!(events, [Event::Refused("access denied: host \"x\"".to_owned())]);
    assert!(session.is_over());
    assert_eq!((session.stdout(b"x"), session.exit(0), session.close()), (vec![], vec![], vec![]));
    assert_eq!((session.receive(b"more"), session.disconnected()), (vec![], None));
}

#[test]
fn a_confirmation_counts_only_after_the_exit_status() {
    let mut session = connected();
    let response = said(&ijs::Message::UnregisterResponse);
    assert_eq!(session.receive(&response), [Event::Unexpected(ijs::Message::UnregisterResponse)]);
    assert!(!session.exit(7).is_empty());
    assert_eq!(session.stdout(b"late"), b"", "nothing follows the exit status");
    assert_eq!(session.receive(&response), [Event::Confirmed]);
    assert_eq!(session.disconnected(), None);
}

#[test]
fn a_close_and_a_status_request_are_answered() {
    let mut session = connected();
    let request = Control::StatusRequest.message(9).encode();
    let events = session.receive(&request);
    let [Event::Send(answer)] = events.as_slice() else { panic!("{events:?}") };
    let frames = all(&mut Decoder::new(), answer);
    let [Ok(Frame::Message(message))] = frames.as_slice() else { panic!("{frames:?}") };
    let Some(Ok(Control::StatusResponse(status))) = Control::decode(message) else { panic!("{message:?}") };
    assert_eq!((message.id, status.request), (2, 9));
    let events = session.receive(&Control::Close.message(10).encode());
    assert!(matches!(events.as_slice(), [Event::Send(_), Event::Closed]), "{events:?}");
    assert!(session.is_over());
}

#[test]
fn a_wrong_message_does_not_end_the_session() {
    let mut session = connected();
    let wrong = Message::new(1, Format::Bin, b"\x03WS big".to_vec()).encode();
    assert!(matches!(session.receive(&wrong).as_slice(), [Event::Ignored(_)]));
    assert_eq!(session.receive(&said(&ijs::Message::Suspend)), [Event::Suspend]);
    assert!(matches!(session.receive(b"GET /").as_slice(), [Event::Broken(DecodeError::NotAFrame)]));
    assert!(session.is_over());
}

#[test]
fn a_lost_connection_is_told_once() {
    let mut session = connected();
    assert_eq!(session.disconnected(), Some(Event::Closed));
    assert_eq!(session.disconnected(), None);
}
