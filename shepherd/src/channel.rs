//! The connection of an interactive job to its client, and the job's streams at the other end of it.
//!
//! Everything here is one step of a pump: nothing waits. What one side cannot take yet is kept, up to a limit beyond
//! which the other side is not read.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use oxherd_sys::poll::{Interest, Ready};
use oxherd_sys::{fd, net, pty};
use oxherd_wire::ijs::WindowSize;
use oxherd_wire::session::{Event, Session};

use crate::step::interactive::{Ends, Interactive, Streams};

/// What is kept for a side that does not read, in bytes.
const KEPT: usize = 256 * 1024;
/// The most that is read at once.
const CHUNK: usize = 16 * 1024;
/// Control-D
const END_OF_FILE: u8 = 4;
/// How long a client that has confirmed may take to close the connection: on a terminal it waits for its own input.
pub const GOOD_BYE: Duration = Duration::from_secs(5);
/// What it then needs to ask the qmaster for the job, which must not be forgotten by then: else it ends with 1
/// whatever the job's exit status was (seen with `qrsh -pty y` and `qlogin` of 8.1.9).
pub const AFTERMATH: Duration = Duration::from_millis(100);
/// How often one side is read before the shepherd looks at its orders again: neither a client nor a job that talks
/// without end may keep it from them. A pipe holds at most as much.
const READS: usize = 64;
/// How long the client has to confirm the end (8.1.9 waits as long).
pub const CONFIRMATION: Duration = Duration::from_secs(120);

/// What the pump saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The client said how to start.
    Settings,
    /// The client wants the job stopped or to go on.
    Suspend,
    Resume,
    /// The client knows the job's end.
    Confirmed,
    /// Something without meaning came; the session goes on.
    Odd(String),
    /// The connection is gone, and why.
    Lost(String),
}

enum Socket {
    /// Addresses that are still to be tried, the one being tried first.
    Connecting(TcpStream, VecDeque<SocketAddr>),
    Open(TcpStream),
    Closed,
}

/// The shepherd's side of the job's streams.
enum Job {
    Terminal(File),
    Pipes { stdin: Option<File>, stdout: Option<File>, stderr: Option<File> },
}

/// The pump.
pub struct Channel {
    socket: Socket,
    session: Session,
    job: Job,
    /// Tells the child to start; gone once it was told.
    go: Option<File>,
    /// How to start where the client's word is stuck behind its input.
    no_shell: bool,
    /// For the client.
    outgoing: VecDeque<u8>,
    /// For the job.
    incoming: VecDeque<u8>,
    /// The client's end of file is to follow what is kept for the job.
    end_of_input: bool,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel")
            .field("kept", &(self.outgoing.len(), self.incoming.len()))
            .finish_non_exhaustive()
    }
}

impl Channel {
    /// Makes the streams; returns the child's side of them.
    ///
    /// # Errors
    /// Those of making terminals and pipes.
    pub fn open(interactive: &Interactive, host: &str, no_shell: bool) -> io::Result<(Self, Streams)> {
        let (go_reader, go_writer) = fd::pipe()?;
        let (job, ends) = if interactive.pty {
            let (master, _) = pty::open()?;
            let slave = pty::open_slave(master.as_fd())?;
            pty::raw_output(slave.as_fd())?;
            fd::set_nonblocking(master.as_fd())?;
            (Job::Terminal(master), Ends::Terminal(slave))
        } else {
            let (stdin, ours_in) = fd::pipe()?;
            let (ours_out, stdout) = fd::pipe()?;
            let (ours_err, stderr) = fd::pipe()?;
            for end in [&ours_in, &ours_out, &ours_err] {
                fd::set_nonblocking(end.as_fd())?;
            }
            let file = |end: OwnedFd| Some(File::from(end));
            let job = Job::Pipes { stdin: file(ours_in), stdout: file(ours_out), stderr: file(ours_err) };
            (job, Ends::Pipes([stdin.into(), stdout.into(), stderr.into()]))
        };
        let channel = Self {
            socket: Socket::Closed,
            session: Session::new(host, &interactive.host),
            job,
            go: Some(go_writer.into()),
            no_shell,
            outgoing: VecDeque::new(),
            incoming: VecDeque::new(),
            end_of_input: false,
        };
        Ok((channel, Streams { ends, go: go_reader.into() }))
    }

    /// Starts to connect to the first of the client's addresses.
    pub fn connect(&mut self, mut addresses: VecDeque<SocketAddr>) -> Option<Notice> {
        let mut last = "the client's host has no address".to_owned();
        while let Some(address) = addresses.pop_front() {
            match net::connect(address) {
                Ok(socket) => {
                    self.socket = Socket::Connecting(socket, addresses);
                    return None;
                }
                Err(error) => last = format!("{address}: {error}"),
            }
        }
        Some(self.lost(last))
    }

    fn lost(&mut self, text: String) -> Notice {
        self.socket = Socket::Closed;
        self.outgoing.clear();
        // The child that waits for the client's word finds the end of the pipe instead.
        self.go = None;
        Notice::Lost(text)
    }

    /// The connection stands.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self.socket, Socket::Open(_))
    }

    /// Whether all that was said to the client has left.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// What to wait for: the socket, and up to three streams of the job.
    #[must_use]
    pub fn wishes(&self) -> Vec<Interest<'_>> {
        let mut wishes = Vec::with_capacity(4);
        match &self.socket {
            Socket::Connecting(socket, _) => wishes.push(Interest::new(socket.as_fd(), false, true)),
            Socket::Open(socket) => {
                let read = self.incoming.len() < KEPT;
                // The end is wanted even while nothing can be taken: a job must not outlive its client unnoticed.
                wishes.push(Interest::new(socket.as_fd(), read, !self.outgoing.is_empty()).or_end());
            }
            Socket::Closed => {}
        }
        let accepted = self.session.is_connected() || matches!(self.socket, Socket::Closed);
        let read = accepted && self.outgoing.len() < KEPT;
        let write = !self.incoming.is_empty();
        match &self.job {
            Job::Terminal(master) => wishes.push(Interest::new(master.as_fd(), read, write)),
            Job::Pipes { stdin, stdout, stderr } => {
                if let Some(stdin) = stdin.as_ref().filter(|_| write) {
                    wishes.push(Interest::new(stdin.as_fd(), false, true));
                }
                for output in [stdout, stderr].into_iter().flatten() {
                    wishes.push(Interest::new(output.as_fd(), read, false));
                }
            }
        }
        wishes
    }

    /// Moves what can be moved.
    pub fn pump(&mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        self.connected(&mut notices);
        self.receive(&mut notices);
        self.feed_job();
        self.drain_job(KEPT);
        self.send(&mut notices);
        notices
    }

    fn connected(&mut self, notices: &mut Vec<Notice>) {
        let Socket::Connecting(socket, _) = &self.socket else { return };
        let writable =
            oxherd_sys::poll::wait(&[Interest::new(socket.as_fd(), false, true)], Some(Duration::ZERO));
        if !writable.is_ok_and(|ready| ready.first().is_some_and(|ready: &Ready| ready.write)) {
            return;
        }
        let result = net::connected(socket);
        let Socket::Connecting(socket, rest) = std::mem::replace(&mut self.socket, Socket::Closed) else {
            return;
        };
        match result {
            Ok(()) => {
                self.outgoing.extend(self.session.start());
                self.socket = Socket::Open(socket);
            }
            Err(_) if !rest.is_empty() => notices.extend(self.connect(rest)),
            Err(error) => notices.push(self.lost(format!("cannot connect to the client: {error}"))),
        }
    }

    fn receive(&mut self, notices: &mut Vec<Notice>) {
        let mut buffer = [0; CHUNK];
        for _ in 0..READS {
            if self.incoming.len() >= KEPT {
                break;
            }
            let Socket::Open(socket) = &mut self.socket else { return };
            match socket.read(&mut buffer) {
                Ok(0) => return notices.push(self.lost("the client closed the connection".to_owned())),
                Ok(count) => {
                    for event in self.session.receive(&buffer[..count]) {
                        self.event(event, notices);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return notices.push(self.lost(format!("the connection to the client broke: {error}")));
                }
            }
        }
        if self.incoming.len() < KEPT {
            return;
        }
        // A client may send megabytes of input before it says how to start (seen on 8.1.9, which then hangs). What it
        // will say is known from `config`.
        self.start(self.no_shell, notices);
        if let Socket::Open(socket) = &self.socket {
            let ended = oxherd_sys::poll::wait(
                &[Interest::new(socket.as_fd(), false, false).or_end()],
                Some(Duration::ZERO),
            );
            if ended.is_ok_and(|ready| ready.first().is_some_and(|ready| ready.read)) {
                notices.push(self.lost("the client is gone".to_owned()));
            }
        }
    }

    /// Tells the child to start, once.
    fn start(&mut self, no_shell: bool, notices: &mut Vec<Notice>) {
        if let Some(mut go) = self.go.take() {
            // A pipe takes a byte at once; if the child is gone already its end says why.
            let _ = go.write_all(if no_shell { b"1" } else { b"0" });
            notices.push(Notice::Settings);
        }
    }

    fn event(&mut self, event: Event, notices: &mut Vec<Notice>) {
        match event {
            Event::Send(bytes) => self.outgoing.extend(bytes),
            Event::Connected => {}
            // The client may send before it said how to start: it is kept until the job reads.
            Event::Stdin(bytes) => self.incoming.extend(bytes),
            // On a terminal the end of file is a character behind the rest.
            Event::StdinClosed if matches!(self.job, Job::Terminal(_)) => {
                self.incoming.push_back(END_OF_FILE)
            }
            Event::StdinClosed => self.end_of_input = true,
            Event::WindowSize(WindowSize { rows, columns, x_pixels, y_pixels }) => {
                if let Job::Terminal(master) = &self.job {
                    let _ = pty::resize(master.as_fd(), pty::Size { rows, columns, x_pixels, y_pixels });
                }
            }
            Event::Settings { noshell } => self.start(noshell, notices),
            Event::Suspend => notices.push(Notice::Suspend),
            Event::Resume => notices.push(Notice::Resume),
            Event::Confirmed => notices.push(Notice::Confirmed),
            Event::Refused(reason) => {
                notices.push(self.lost(format!("the client refused the session: {reason}")))
            }
            Event::Closed => notices.push(self.lost("the client ended the session".to_owned())),
            Event::Broken(error) => notices.push(self.lost(format!("the client is not understood: {error}"))),
            Event::Ignored(error) => notices.push(Notice::Odd(error.to_string())),
            Event::Unexpected(message) => notices.push(Notice::Odd(format!("{message:?}"))),
        }
    }

    fn feed_job(&mut self) {
        while !self.incoming.is_empty() {
            let (bytes, _) = self.incoming.as_slices();
            let result = match &mut self.job {
                Job::Terminal(master) => master.write(bytes),
                Job::Pipes { stdin: Some(stdin), .. } => stdin.write(bytes),
                Job::Pipes { stdin: None, .. } => Ok(bytes.len()),
            };
            match result {
                Ok(count) => drop(self.incoming.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Nobody reads any more.
                Err(_) => {
                    self.incoming.clear();
                    self.close_stdin();
                }
            }
        }
        if std::mem::take(&mut self.end_of_input) {
            self.close_stdin();
        }
    }

    fn close_stdin(&mut self) {
        if let Job::Pipes { stdin, .. } = &mut self.job {
            *stdin = None;
        }
    }

    /// Reads what the job wrote, as long as no more than `limit` bytes wait for the client.
    fn drain_job(&mut self, limit: usize) {
        // Before the client has accepted, what the job writes waits in its pipe.
        if !self.session.is_connected() && !matches!(self.socket, Socket::Closed) {
            return;
        }
        let mut buffer = [0; CHUNK];
        for _ in 0..READS {
            if self.outgoing.len() >= limit {
                break;
            }
            let mut moved = false;
            let mut hung_up = false;
            match &mut self.job {
                Job::Terminal(master) => match master.read(&mut buffer) {
                    Ok(count) if count > 0 => {
                        self.outgoing.extend(self.session.stdout(&buffer[..count]));
                        moved = true;
                    }
                    Err(error)
                        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    }
                    // EIO: no process has the terminal open any more.
                    _ => hung_up = true,
                },
                Job::Pipes { stdout, stderr, .. } => {
                    for (output, error) in [(stdout, false), (stderr, true)] {
                        let Some(pipe) = output else { continue };
                        match pipe.read(&mut buffer) {
                            Ok(0) => *output = None,
                            Ok(count) => {
                                let bytes = &buffer[..count];
                                let framed = if error {
                                    self.session.stderr(bytes)
                                } else {
                                    self.session.stdout(bytes)
                                };
                                self.outgoing.extend(framed);
                                moved = true;
                            }
                            Err(_) => {}
                        }
                    }
                }
            }
            if hung_up {
                self.job = Job::Pipes { stdin: None, stdout: None, stderr: None };
            }
            if !moved {
                break;
            }
        }
        if !self.is_open() && !matches!(self.socket, Socket::Connecting(..)) {
            // Nobody listens: the job must not wait for that.
            self.outgoing.clear();
        }
    }

    fn send(&mut self, notices: &mut Vec<Notice>) {
        while !self.outgoing.is_empty() {
            let Socket::Open(socket) = &mut self.socket else { return };
            let (bytes, _) = self.outgoing.as_slices();
            match socket.write(bytes) {
                Ok(count) => drop(self.outgoing.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return notices.push(self.lost(format!("the connection to the client broke: {error}")));
                }
            }
        }
    }

    /// The job is over: everything it wrote, then its exit status, go to the client. True while a confirmation is to
    /// be waited for.
    pub fn finish(&mut self, status: u8) -> bool {
        // Its processes are gone: what is in the pipes is all there will be.
        self.drain_job(usize::MAX);
        self.job = Job::Pipes { stdin: None, stdout: None, stderr: None };
        if !self.is_open() {
            return false;
        }
        self.outgoing.extend(self.session.exit(u32::from(status)));
        true
    }

    /// Says good-bye.
    pub fn close(&mut self) {
        if let Socket::Open(socket) = &mut self.socket {
            let _ = socket.write(&self.session.close());
        }
        self.socket = Socket::Closed;
    }
}
