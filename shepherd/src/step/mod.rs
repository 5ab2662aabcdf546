//! One file for each feature of queue_conf(5) that a child sets up on its way to exec. [`crate::job`] has their order.

pub mod binding;
pub mod command;
pub mod credentials;
pub mod environment;
pub mod interactive;
pub mod limits;
pub mod method;
pub mod nice;
pub mod procedure;
pub mod stdio;

use oxherd_handoff::ExitState;

/// Why a child does not reach exec. `state` is missing where the code is the phase's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub state: Option<ExitState>,
    pub text: String,
}

impl Failure {
    /// A failure with the code of the phase.
    pub fn phase(text: impl Into<String>) -> Self {
        Self { state: None, text: text.into() }
    }

    /// A failure with a code of its own.
    pub fn coded(state: ExitState, text: impl Into<String>) -> Self {
        Self { state: Some(state), text: text.into() }
    }
}
