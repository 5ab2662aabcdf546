//! The session against recorded ones: with what the client sent, ours sends what the stock shepherd sent.

use std::collections::VecDeque;
use std::path::Path;

use oxherd_wire::frame::{Decoder, Frame};
use oxherd_wire::ijs::Message;
use oxherd_wire::{Event, Session};

#[derive(Debug, PartialEq, Eq)]
enum From {
    Shepherd(Vec<u8>),
    Client(Vec<u8>),
}

/// The frames of a recorded session; the comments are for people.
fn recorded(name: &str) -> Vec<From> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let text = std::fs::read_to_string(&path).expect("a recorded session");
    let line = |line: &str| {
        if let Some(bytes) = line.strip_prefix("> ") {
            return Some(From::Shepherd(unescape(bytes)));
        }
        line.strip_prefix("< ").map(|bytes| From::Client(unescape(bytes)))
    };
    text.lines().filter_map(line).collect()
}

/// Undoes `<[u8]>::escape_ascii`.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let byte = match c {
            '\\' => match chars.next().expect("an escape") {
                'n' => b'\n',
                'r' => b'\r',
                't' => b'\t',
                'x' => {
                    let digits: String = chars.by_ref().take(2).collect();
                    u8::from_str_radix(&digits, 16).expect("two digits")
                }
                c => u8::try_from(c).expect("ASCII"),
            },
            c => u8::try_from(c).expect("ASCII"),
        };
        bytes.push(byte);
    }
    bytes
}

fn frame(bytes: &[u8]) -> Frame {
    let mut decoder = Decoder::new();
    decoder.push(bytes);
    let frame = decoder.next().expect("complete").expect("a frame");
    assert!(decoder.next().is_none() && !decoder.is_inside_frame());
    frame
}

/// What was said in a data frame.
fn said(bytes: &[u8]) -> Message {
    let Frame::Message(message) = frame(bytes) else { panic!("a message") };
    Message::decode(&message.body).expect("an interactive message")
}

/// Replays a recorded session; gives what the client said.
fn replay(name: &str) -> Vec<Event> {
    let recorded = recorded(name);
    let Some(From::Shepherd(first)) = recorded.first() else { panic!("the shepherd begins") };
    let Frame::Connect(connect) = frame(first) else { panic!("with a connect frame") };
    let mut session = Session::new(&connect.source.host, &connect.destination.host);
    let mut events = Vec::new();
    let mut due = VecDeque::from([session.start()]);
    for step in recorded {
        match step {
            From::Client(bytes) => {
                assert_eq!(frame(&bytes).encode(), bytes, "read and written again");
                for event in session.receive(&bytes) {
                    match event {
                        Event::Send(bytes) => due.push_back(bytes),
                        event => events.push(event),
                    }
                }
            }
            From::Shepherd(bytes) => {
                assert_eq!(frame(&bytes).encode(), bytes, "read and written again");
                let ours = due.pop_front().unwrap_or_else(|| match said(&bytes) {
                    Message::Stdout(output) => session.stdout(&output),
                    Message::Stderr(output) => session.stderr(&output),
                    Message::Unregister { status } => session.exit(status),
                    other => panic!("a shepherd does not say {other:?}"),
                });
                assert_eq!(ours.escape_ascii().to_string(), bytes.escape_ascii().to_string());
            }
        }
    }
    assert!(session.is_over() && due.is_empty());
    assert_eq!(session.close(), b"", "the client has closed already");
    events
}

fn size(rows: u16, columns: u16, x_pixels: u16, y_pixels: u16) -> Event {
    Event::WindowSize(oxherd_wire::ijs::WindowSize { rows, columns, x_pixels, y_pixels })
}

#[test]
fn the_transcript_of_the_contract() {
    let expected = [
        Event::Connected,
        size(60, 80, 480, 640),
        Event::Stdin(b"hi\n".to_vec()),
        Event::StdinClosed,
        Event::Settings { noshell: false },
        Event::Confirmed,
    ];
    assert_eq!(replay("spec_18_2.txt"), expected);
}

#[test]
fn a_command_with_input_and_error_output() {
    let events = replay("qrsh_cat.txt");
    assert_eq!(events.first(), Some(&Event::Connected));
    assert!(events.contains(&Event::Stdin(b"hi\n".to_vec())));
    assert!(events.contains(&Event::StdinClosed));
    assert_eq!(events.last(), Some(&Event::Confirmed));
}

#[test]
fn a_command_without_input() {
    let expected = [
        Event::Connected,
        Event::Settings { noshell: false },
        size(60, 80, 480, 640),
        Event::StdinClosed,
        Event::Confirmed,
    ];
    assert_eq!(replay("qrsh_no_input.txt"), expected);
}

#[test]
fn a_command_on_a_terminal_that_is_resized() {
    let events = replay("qrsh_pty.txt");
    let sizes: Vec<&Event> = events.iter().filter(|event| matches!(event, Event::WindowSize(_))).collect();
    assert_eq!(sizes, [&size(24, 80, 0, 0), &size(33, 101, 0, 0)]);
    assert!(!events.contains(&Event::StdinClosed));
}

#[test]
fn a_login_session() {
    let events = replay("qlogin.txt");
    assert!(events.contains(&Event::Stdin(b"exit 3\n".to_vec())));
    assert_eq!(events.last(), Some(&Event::Confirmed));
}
