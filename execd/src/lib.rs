//! The execution daemon's library: job plans, and the foreground master that runs one job without a daemon.
//!
//! A job comes as a [`job::Job`], a queue as a `QueueInstance`; [`plan::plan`] makes all decisions, and
//! [`foreground`] carries them out with a shepherd.
#![forbid(unsafe_code)]

pub mod abandon;
pub mod account;
pub mod foreground;
pub mod gid_lease;
pub mod job;
pub mod options;
pub mod plan;
pub mod script_options;
pub mod words;
