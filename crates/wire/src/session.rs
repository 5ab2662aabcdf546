//! The shepherd's side of an interactive session: what to send and what has come, without a socket or a clock.
//!
//! ```text
//! start ──crm──> Connected ──> stdin, window sizes, settings, … in any order ──> exit ──> Confirmed
//!                    └─ stdout, stderr ─────────────────────────────────────────┘
//! ```
//!
//! The caller connects, sends what [`Session::start`] gives, feeds what it reads to [`Session::receive`] and acts on
//! the events in their order, above all sends the bytes of each [`Event::Send`]. Input is passed on as it comes, even
//! before the settings have: to hold it until the command reads, and not to read from the socket while too much is
//! held, is the caller's business. So are the time limits (connection, settings, confirmation).
//!
//! A stock client may send all its input ahead of the settings, however much. Who stops reading before they have come
//! waits for ever: when no more can be held, start the command as `no_shell` in the job's `config` says.

use crate::frame::{
    Condition, Connect, ConnectResponse, Control, DecodeError, Decoder, Endpoint, Format, Frame, Message,
    MessageIds, Status,
};
use crate::ijs::{self, MAX_DATA, MessageError, WindowSize};

/// The client's name on the wire.
pub const CLIENT: &str = "qrsh_ijs";
/// The shepherd's name on the wire.
pub const SHEPHERD: &str = "shepherd_ijs";

/// What has come from the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Send these bytes, before anything else is made.
    Send(Vec<u8>),
    /// The client has accepted; output can be sent from now on.
    Connected,
    /// Input for the command.
    Stdin(Vec<u8>),
    /// The input is at its end.
    StdinClosed,
    /// The client's terminal has this size.
    WindowSize(WindowSize),
    /// The command is to be started, with or without the user's shell. Comes once, perhaps after input.
    Settings { noshell: bool },
    /// Stop the command.
    Suspend,
    /// Continue it.
    Resume,
    /// The client has the exit status: the end of a good session. Stay until it has closed the socket: it then asks the
    /// qmaster for the job, which must still be known.
    Confirmed,
    /// The client does not want us. The end.
    Refused(String),
    /// The client closes the connection. The end.
    Closed,
    /// The bytes make no sense. The end.
    Broken(DecodeError),
    /// A message that cannot be used; the session goes on.
    Ignored(MessageError),
    /// A message that a client does not send; the session goes on.
    Unexpected(ijs::Message),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Until the answer to our `cm`.
    Connecting,
    Connected,
    /// The exit status is sent.
    Exiting,
    Over,
}

/// One session.
#[derive(Debug)]
pub struct Session {
    own_host: String,
    client_host: String,
    state: State,
    ids: MessageIds,
    decoder: Decoder,
}

impl Session {
    /// A session of a shepherd that calls itself `own_host` with a client on `client_host`.
    ///
    /// The client refuses names other than those it resolves: take `host` of the job's `config` for the first and
    /// the host part of `qrsh_control_port` for the second.
    pub fn new(own_host: &str, client_host: &str) -> Self {
        Self {
            own_host: own_host.to_owned(),
            client_host: client_host.to_owned(),
            state: State::Connecting,
            ids: MessageIds::default(),
            decoder: Decoder::new(),
        }
    }

    /// The first bytes to send.
    pub fn start(&self) -> Vec<u8> {
        let destination = Endpoint::new(&self.client_host, CLIENT, 1);
        let source = Endpoint::new(&self.own_host, SHEPHERD, 0);
        Connect::new(destination, source).encode()
    }

    /// Takes bytes from the socket and tells what they mean.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        if self.state == State::Over {
            return events;
        }
        self.decoder.push(bytes);
        while self.state != State::Over {
            match self.decoder.next() {
                None => break,
                Some(Ok(frame)) => self.frame(frame, &mut events),
                Some(Err(error)) => self.end(Event::Broken(error), &mut events),
            }
        }
        events
    }

    /// The socket was closed by the client, or reading failed. Nothing to tell if the session was over.
    pub fn disconnected(&mut self) -> Option<Event> {
        let over = std::mem::replace(&mut self.state, State::Over) == State::Over;
        (!over).then_some(Event::Closed)
    }

    /// The bytes that bring output of the command to the client; none before [`Event::Connected`] and after the end.
    pub fn stdout(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.output(bytes, ijs::stdout_body)
    }

    /// The same for error output.
    pub fn stderr(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.output(bytes, ijs::stderr_body)
    }

    /// The bytes that tell the exit status. All output must have been given before; [`Event::Confirmed`] follows.
    pub fn exit(&mut self, status: u32) -> Vec<u8> {
        if self.state != State::Connected {
            return Vec::new();
        }
        self.state = State::Exiting;
        self.data(ijs::Message::Unregister { status }.encode())
    }

    /// The bytes that announce the end of the connection, for when the session cannot be ended well.
    ///
    /// After [`Event::Confirmed`] there is nothing to say: the client closes its socket by itself.
    pub fn close(&mut self) -> Vec<u8> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Connected | State::Exiting => self.control(&Control::Close),
            State::Connecting | State::Over => Vec::new(),
        }
    }

    /// True between [`Event::Connected`] and the end.
    pub fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected | State::Exiting)
    }

    /// True after the last event.
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// How many received bytes are kept because their frame is incomplete.
    pub fn buffered(&self) -> usize {
        self.decoder.buffered()
    }

    fn output(&mut self, bytes: &[u8], body: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
        if self.state != State::Connected {
            return Vec::new();
        }
        let mut frames = Vec::new();
        for piece in bytes.chunks(MAX_DATA) {
            frames.append(&mut self.data(body(piece)));
        }
        frames
    }

    fn data(&mut self, body: Vec<u8>) -> Vec<u8> {
        Message::new(self.ids.take(), Format::Bin, body).encode()
    }

    fn control(&mut self, control: &Control) -> Vec<u8> {
        control.message(self.ids.take()).encode()
    }

    fn end(&mut self, event: Event, events: &mut Vec<Event>) {
        self.state = State::Over;
        events.push(event);
    }

    fn frame(&mut self, frame: Frame, events: &mut Vec<Event>) {
        match (frame, self.state) {
            (Frame::ConnectResponse(response), State::Connecting) => self.answered(response, events),
            (Frame::Message(message), State::Connected | State::Exiting) => self.message(&message, events),
            (_, State::Connecting) => {
                self.end(Event::Refused("no answer to the greeting".to_owned()), events)
            }
            // A second greeting changes nothing.
            (Frame::Connect(_) | Frame::ConnectResponse(_), _) | (_, State::Over) => {}
        }
    }

    fn answered(&mut self, response: ConnectResponse, events: &mut Vec<Event>) {
        if response.condition != Condition::Connected {
            let reason = format!("{}: {}", response.condition.as_str(), response.text);
            return self.end(Event::Refused(reason), events);
        }
        self.state = State::Connected;
        let register = self.data(ijs::Message::Register.encode());
        events.extend([Event::Send(register), Event::Connected]);
    }

    fn message(&mut self, message: &Message, events: &mut Vec<Event>) {
        if message.acknowledge == "ack" {
            let acknowledge = self.control(&Control::Acknowledge { id: message.id });
            events.push(Event::Send(acknowledge));
        }
        match Control::decode(message) {
            Some(Ok(Control::Close)) => {
                let answer = self.control(&Control::CloseResponse);
                events.push(Event::Send(answer));
                self.end(Event::Closed, events);
            }
            Some(Ok(Control::CloseResponse)) => self.end(Event::Closed, events),
            Some(Ok(Control::StatusRequest)) => {
                let status = Status { request: message.id, connections: 1, ..Status::default() };
                let answer = self.control(&Control::StatusResponse(status));
                events.push(Event::Send(answer));
            }
            Some(Ok(Control::Acknowledge { .. } | Control::StatusResponse(_))) => {}
            Some(Err(error)) => self.end(Event::Broken(error), events),
            None if message.format == Format::Bin => self.body(&message.body, events),
            // A control message of a later version.
            None => {}
        }
    }

    fn body(&mut self, body: &[u8], events: &mut Vec<Event>) {
        events.push(match ijs::Message::decode(body) {
            Ok(ijs::Message::Stdin(bytes)) => Event::Stdin(bytes),
            Ok(ijs::Message::StdinClosed) => Event::StdinClosed,
            Ok(ijs::Message::WindowSize(size)) => Event::WindowSize(size),
            Ok(ijs::Message::Settings { noshell }) => Event::Settings { noshell },
            Ok(ijs::Message::Suspend) => Event::Suspend,
            Ok(ijs::Message::Resume) => Event::Resume,
            Ok(ijs::Message::UnregisterResponse) if self.state == State::Exiting => {
                self.state = State::Over;
                Event::Confirmed
            }
            Ok(other) => Event::Unexpected(other),
            Err(error) => Event::Ignored(error),
        });
    }
}
