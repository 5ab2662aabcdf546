//! Grid Engine's configuration files: from text to typed values, with diagnostics.
//!
//! The path of a queue file: [`source::Source`] joins lines, [`syntax::parse`] finds entries, [`queue::ClusterQueue`]
//! gives them types by the table in [`attribute`], and [`queue::ClusterQueue::resolve`] makes the instance of one host.
//! Nothing here opens a file; callers bring the text and draw the diagnostics.
#![forbid(unsafe_code)]

pub mod attribute;
pub mod complex;
pub mod diagnostic;
pub mod document;
#[doc(hidden)]
pub mod fuzzing;
pub mod global;
pub mod host_value;
pub mod lint;
pub mod object;
pub mod queue;
pub mod source;
pub mod syntax;
pub mod value;
