//! `suspend_method`, `resume_method` and `terminate_method` of queue_conf(5).

use core::fmt;

use crate::signal;

/// What replaces SIGSTOP, SIGCONT or SIGKILL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Method {
    /// `NONE`: the usual signal.
    #[default]
    Default,
    /// This signal number instead.
    Signal(i32),
    /// This command line, unexpanded; it starts with `/`.
    Command(String),
}

/// Why a text is no method.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MethodError {
    /// Neither a path nor a signal. Stock accepts the text and fails at the first use with code 7.
    #[error(
        "expected `NONE`, an absolute path, a signal name like `SIGTERM` or a signal number, found `{0}`"
    )]
    Unknown(String),
    /// A number outside 1 to 64.
    #[error("expected a signal number from 1 to {highest}, found `{0}`", highest = signal::HIGHEST)]
    OutOfRange(String),
    /// A relative path.
    #[error("expected an absolute path, found `{0}`")]
    Relative(String),
}

impl Method {
    /// Parses a method. `NONE` is recognised in any case; signal names need the prefix `SIG` (queue_conf(5)).
    ///
    /// # Errors
    /// Everything that 8.1.9's shepherd could not use later is refused here.
    pub fn parse(text: &str) -> Result<Self, MethodError> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("none") {
            return Ok(Self::Default);
        }
        if text.starts_with('/') {
            return Ok(Self::Command(text.to_owned()));
        }
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            return match text.parse() {
                Ok(number) if (1..=signal::HIGHEST).contains(&number) => Ok(Self::Signal(number)),
                _ => Err(MethodError::OutOfRange(text.to_owned())),
            };
        }
        if text.starts_with("SIG")
            && let Some(number) = signal::number(text)
        {
            return Ok(Self::Signal(number));
        }
        if text.contains('/') {
            return Err(MethodError::Relative(text.to_owned()));
        }
        Err(MethodError::Unknown(text.to_owned()))
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("NONE"),
            Self::Signal(number) => match signal::name(*number) {
                Some(name) => write!(f, "SIG{name}"),
                None => number.fmt(f),
            },
            Self::Command(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<Method>) {
        assert_eq!(Method::parse(text).ok(), expect, "{text}");
    }

    #[test]
    fn methods_are_none_signals_or_absolute_commands() {
        check("NONE", Some(Method::Default));
        check("none", Some(Method::Default));
        check("SIGTERM", Some(Method::Signal(15)));
        check("15", Some(Method::Signal(15)));
        check("64", Some(Method::Signal(64)));
        check("/x/suspend $job_pid now", Some(Method::Command("/x/suspend $job_pid now".to_owned())));
        for refused in ["SIGFOO", "XYZTERM", "TERM", "0", "65", "-9", "bin/x", "$bad", "", "99999999999"] {
            check(refused, None);
        }
    }

    #[test]
    fn what_is_displayed_parses_to_the_same_method() {
        for text in ["NONE", "SIGTERM", "34", "/x/y z"] {
            let method = Method::parse(text).unwrap();
            assert_eq!(Method::parse(&method.to_string()).unwrap(), method);
        }
    }
}
