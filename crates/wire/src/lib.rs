//! What Grid Engine 8.1.9 speaks over TCP, without a socket: bytes in, values out, and the reverse.
//!
//! | layer | module |
//! |---|---|
//! | the communication library's frames: length header, pseudo-XML header, body | [`frame`] |
//! | the messages of an interactive session inside `bin` frames | [`ijs`] |
//! | the shepherd's side of such a session | [`session`] |
//!
//! The peer may be hostile: every length is checked against a named limit before anything is kept for it, the text
//! is never trusted, and nothing here panics, blocks or looks at a clock. `docs/protocol.md` shows the bytes.
#![forbid(unsafe_code)]

pub mod frame;
#[doc(hidden)]
pub mod fuzzing;
pub mod ijs;
pub mod session;
mod xml;

pub use frame::{DecodeError, Decoder, Frame};
pub use session::{Event, Session};
