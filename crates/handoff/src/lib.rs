//! The job directory `active_jobs/JOB.TASK`: the one contract between an execution daemon and a shepherd.
//!
//! Everything both sides say to each other lies in files of that directory. This crate writes and reads all of
//! them, in exactly the form Grid Engine 8.1.9 uses, so that either side can be the stock program:
//!
//! | file | written by | module |
//! |---|---|---|
//! | `config` | execd | [`config`], with its grammar in [`key`] |
//! | `environment` | execd | [`environment`] |
//! | `pe_hostfile` | execd | [`pe_hostfile`] |
//! | `signal` | execd | [`signal`] |
//! | `pid`, `job_pid`, `addgrpid`, `checkpointed` | shepherd | [`files`] |
//! | `trace`, `error` | shepherd | [`log`] |
//! | `exit_status` | shepherd | [`exit_state`] |
//! | `usage` | shepherd | [`usage`] |
//!
//! [`outcome`] draws the conclusion from the shepherd's files as execd and qmaster do.
#![forbid(unsafe_code)]

pub mod config;
pub mod environment;
pub mod exit_state;
pub mod files;
#[doc(hidden)]
pub mod fuzzing;
pub mod key;
pub mod log;
pub mod outcome;
pub mod pe_hostfile;
pub mod shepherd_conf;
pub mod signal;
pub mod usage;

pub use config::{Config, ConfigError, ConfigWriter};
pub use environment::Environment;
pub use exit_state::ExitState;
pub use key::Key;
pub use outcome::{Outcome, ShepherdEnd};
pub use usage::Usage;
