//! The harness of the behaviour tests: one body, two programs.
//!
//! A test describes a job directory as a stock `sge_execd` would leave it ([`JobDir`]), starts a shepherd in it the
//! way `sge_execd` does ([`Running`]) and looks at what the job saw ([`Witness`]) and at what was reported
//! ([`Outcome`]). [`both!`] runs each body against the stock shepherd first (is the expectation true?) and then
//! against ours. [`Cluster`] is a whole private Grid Engine for what only shows below a real execd.

pub mod accounts;
pub mod case;
pub mod cluster;
pub mod config;
pub mod faults;
pub mod gid_lease;
pub mod job_dir;
pub mod outcome;
pub mod process;
pub mod program;
pub mod require;
pub mod run;
pub mod scratch;
pub mod spawn;
pub mod trapper;
pub mod wait;
pub mod witness;

pub use case::Case;
pub use cluster::Cluster;
pub use job_dir::JobDir;
pub use outcome::Outcome;
pub use program::Shepherd;
pub use run::Running;
pub use wait::{Stopwatch, millis, secs, wait_for, wait_until};
pub use witness::Witness;
