//! Failures of `oxherd` itself, as opposed to those of a job.

/// The input cannot be used: options, queue files, users.
pub(crate) const BAD_INPUT: u8 = 125;
/// The job cannot be started.
pub(crate) const CANNOT_START: u8 = 126;
/// The script or command is not there.
pub(crate) const NOT_FOUND: u8 = 127;

/// Why `oxherd` did not do what it was asked for, and the exit code that says so.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) error: anyhow::Error,
}

impl Failure {
    pub(crate) fn new(code: u8, error: impl Into<anyhow::Error>) -> Self {
        Self { code, error: error.into() }
    }

    /// A sentence instead of an error.
    pub(crate) fn text(code: u8, text: impl Into<String>) -> Self {
        Self { code, error: anyhow::Error::msg(text.into()) }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl From<oxherd_execd::foreground::RunError> for Failure {
    fn from(error: oxherd_execd::foreground::RunError) -> Self {
        Self::new(error.exit_code(), error)
    }
}
