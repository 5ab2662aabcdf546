//! `oxherd-shepherd`: the supervisor of one job, in place of `sge_shepherd` 8.1.9 or below `oxherd-execd`.
//!
//! Started in a job directory, it reads `config` and `environment`, runs prolog, PE start, job, PE stop and epilog,
//! passes on what it is told by signals, enforces the limits it was given, leaves no process behind, and writes how
//! it went. It is the only code of OXHERD that forks, changes identity, sets limits or signals a job.
//!
//! The way through: [`startup`] makes a safe process of it, [`spec`] reads what is wanted, [`machine`] decides
//! (pure), [`supervisor`] waits and does what the machine says, [`job`] becomes a child step by step (one file for
//! each feature under [`step`]), [`containment`] reaches every process of the job, [`journal`] writes the results.
#![forbid(unsafe_code)]

pub mod cgroup;
pub mod channel;
pub mod containment;
pub mod guardian;
pub mod job;
pub mod journal;
pub mod limit;
pub mod machine;
pub mod privilege;
pub mod procfs;
pub mod spec;
pub mod startup;
pub mod step;
pub mod supervisor;
pub mod tmpdir;
pub mod variables;

pub use startup::main;
