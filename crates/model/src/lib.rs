//! The nouns of Grid Engine and the grammar of their values.
//!
//! Nothing here reads a file, a clock or the environment. The shepherd links [`specifier`], [`limit`] and
//! [`signal`]; keep those three small and without dependencies.
#![forbid(unsafe_code)]

pub mod host_group;
pub mod id;
pub mod limit;
pub mod method;
pub mod procedure;
pub mod queue_instance;
pub mod shell_start_mode;
pub mod signal;
pub mod specifier;
pub mod subordinate;

pub use id::{JobId, TaskId};
pub use limit::{Bytes, Limit, Seconds, SlotCount};
pub use method::Method;
pub use shell_start_mode::ShellStartMode;
