//! `shell_start_mode` of queue_conf(5) and sge_conf(5).

use core::fmt;

/// How the job script is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ShellStartMode {
    /// The queue's shell (or `-S`) interprets the script; a `#!` line means nothing. The default.
    #[default]
    PosixCompliant,
    /// The kernel decides by the `#!` line.
    UnixBehavior,
    /// The shell reads the script from its standard input.
    ScriptFromStdin,
}

/// The text names no start mode; 8.1.9 also refuses `raw_exec`, `start_as_command` and `NONE` in a queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `posix_compliant`, `unix_behavior` or `script_from_stdin`, found `{0}`")]
pub struct UnknownStartMode(pub String);

impl ShellStartMode {
    /// Every mode, in the manual's order.
    pub const ALL: [Self; 3] = [Self::UnixBehavior, Self::PosixCompliant, Self::ScriptFromStdin];

    /// Parses the manual's word in any case.
    ///
    /// # Errors
    /// Any other word.
    pub fn parse(text: &str) -> Result<Self, UnknownStartMode> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownStartMode(text.to_owned()))
    }

    /// The manual's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PosixCompliant => "posix_compliant",
            Self::UnixBehavior => "unix_behavior",
            Self::ScriptFromStdin => "script_from_stdin",
        }
    }
}

impl fmt::Display for ShellStartMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_in_any_case() {
        assert_eq!(ShellStartMode::parse("Unix_Behavior"), Ok(ShellStartMode::UnixBehavior));
        for mode in ShellStartMode::ALL {
            assert_eq!(ShellStartMode::parse(mode.as_str()), Ok(mode));
        }
        for refused in ["raw_exec", "start_as_command", "NONE", ""] {
            assert!(ShellStartMode::parse(refused).is_err());
        }
    }
}
