//! Interactive jobs: the client's connection beside the rest of the job's life.

use std::io;

use oxherd_handoff::{Key, files};
use oxherd_sys::clock;

use super::{Role, Supervisor};
use crate::channel::{self, Channel, Notice};
use crate::machine::{CONT, Event, Order, STOP};
use crate::step::interactive::Streams;

impl Supervisor {
    /// Moves the streams of an interactive job.
    pub(super) fn pump(&mut self) {
        let Some(channel) = &mut self.channel else { return };
        for notice in channel.pump() {
            match notice {
                Notice::Settings => self.journal.trace("the client said how to start"),
                Notice::Suspend => self.feed(Event::Order(Order::Signal(STOP))),
                Notice::Resume => self.feed(Event::Order(Order::Signal(CONT))),
                Notice::Confirmed => {
                    if self.closing.is_some() {
                        self.confirmed = true;
                        self.closing = Some(clock::boottime() + channel::GOOD_BYE);
                    }
                }
                Notice::Lost(_) if self.confirmed => {
                    let terminal = self.spec.interactive.as_ref().is_some_and(|session| session.pty);
                    if terminal {
                        self.closing = Some(clock::boottime() + channel::AFTERMATH);
                    } else {
                        self.done = true;
                    }
                }
                Notice::Odd(text) => self.journal.trace(&format!("from the client, without meaning: {text}")),
                Notice::Lost(text) => {
                    self.journal.trace(&text);
                    if self.closing.is_some() {
                        self.done = true;
                    } else if self.job_started && self.job_exit.is_none() {
                        // Nobody is there for whom it could run (8.1.9).
                        self.feed(Event::Order(Order::KillNow));
                    }
                }
            }
        }
    }

    /// Everything is done; the client of an interactive job is told last.
    pub(super) fn leave(&mut self) {
        let Some(channel) = &mut self.channel else {
            self.done = true;
            return;
        };
        let status = self.job_exit.unwrap_or_else(|| self.journal.first().code());
        // Before the client's next task may want the slot.
        self.journal.replace(files::SHEPHERD_ABOUT_TO_EXIT, b"");
        if channel.finish(status) {
            self.closing = Some(clock::boottime() + channel::CONFIRMATION);
            self.pump();
        } else {
            self.done = true;
        }
    }

    /// The streams of an interactive job, and the way to its client.
    pub(super) fn open_channel(&mut self) -> io::Result<Option<Streams>> {
        let Some(interactive) = self.spec.interactive.clone() else { return Ok(None) };
        let no_shell = self.spec.config.flag(Key::NoShell, false).unwrap_or(false);
        let (channel, streams) = Channel::open(&interactive, &self.spec.config.shown(Key::Host), no_shell)?;
        self.channel = Some(channel);
        let resolver = self
            .fork(Role::Resolver, None, None, |child| child.resolve(&interactive.host, interactive.port))?;
        self.containment.add_helper(resolver);
        Ok(Some(streams))
    }
}
