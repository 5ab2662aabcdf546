//! What a shepherd left in the job directory.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

/// The result files, read as execd reads them, and the wait status.
#[derive(Clone)]
pub struct Outcome {
    pub status: ExitStatus,
    /// The lines of `exit_status`; the first one counts.
    pub exit_status: Vec<String>,
    /// The messages of `error`, without date, uid and pid.
    pub error: Vec<String>,
    /// The pairs of `usage`; `None` if there is no such file.
    pub usage: Option<BTreeMap<String, String>>,
    pub trace: String,
    pub addgrpid: Option<u32>,
    pub job_pid: Option<i32>,
    pub pid: Option<i32>,
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.status)?;
        writeln!(f, "exit_status {:?}, error {:#?}", self.exit_status, self.error)?;
        writeln!(f, "pid {:?}, job_pid {:?}, addgrpid {:?}", self.pid, self.job_pid, self.addgrpid)?;
        writeln!(f, "usage {:?}", self.usage)?;
        self.trace.lines().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl Outcome {
    pub fn read(dir: &Path, status: ExitStatus) -> Self {
        let text = |name: &str| fs::read_to_string(dir.join(name)).ok();
        let lines = |name: &str| -> Vec<String> {
            text(name).unwrap_or_default().lines().map(str::to_owned).collect()
        };
        let pair = |line: &str| line.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        Self {
            status,
            exit_status: lines("exit_status"),
            error: lines("error").iter().map(|line| message(line).to_owned()).collect(),
            usage: text("usage").map(|usage| usage.lines().filter_map(pair).collect()),
            trace: text("trace").unwrap_or_default(),
            addgrpid: number(text("addgrpid")),
            job_pid: number(text("job_pid")),
            pid: number(text("pid")),
        }
    }

    /// The code of the process; panics if a signal ended it.
    #[track_caller]
    pub fn code(&self) -> i32 {
        match self.status.code() {
            Some(code) => code,
            None => panic!("the shepherd died of signal {:?}: {self:#?}", self.status.signal()),
        }
    }

    /// Asserts the code both in `exit_status` and as process exit code.
    #[track_caller]
    pub fn expect_code(&self, code: i32) -> &Self {
        let said = self.exit_status.first().map(String::as_str);
        assert_eq!(said, Some(code.to_string().as_str()), "first line of exit_status, {self:#?}");
        assert_eq!(self.code(), code, "exit code of the shepherd, {self:#?}");
        self
    }

    /// Asserts a value of `usage`.
    #[track_caller]
    pub fn expect_usage(&self, key: &str, value: &str) -> &Self {
        let Some(usage) = &self.usage else { panic!("no usage file: {self:#?}") };
        assert_eq!(usage.get(key).map(String::as_str), Some(value), "`{key}` in usage, {self:#?}");
        self
    }

    /// A number of `usage`.
    #[track_caller]
    pub fn usage_number(&self, key: &str) -> f64 {
        let Some(usage) = &self.usage else { panic!("no usage file: {self:#?}") };
        let value = usage.get(key).unwrap_or_else(|| panic!("usage has no `{key}`: {usage:?}"));
        value.parse().unwrap_or_else(|_| panic!("`{key}={value}` is no number"))
    }

    /// Asserts that some line of `error` contains `part`.
    #[track_caller]
    pub fn expect_error(&self, part: &str) -> &Self {
        assert!(
            self.error.iter().any(|line| line.contains(part)),
            "no error line contains `{part}`: {self:#?}"
        );
        self
    }

    /// Asserts an ordinary end: 0, nothing in `error`, usage with this exit status.
    #[track_caller]
    pub fn expect_finished(&self, exit_status: i32) -> &Self {
        self.expect_code(0);
        assert!(self.error.is_empty(), "error is empty: {self:#?}");
        self.expect_usage("exit_status", &exit_status.to_string())
    }
}

/// The text after `date time [uid:pid]: `.
fn message(line: &str) -> &str {
    line.split_once("]: ").map_or(line, |(_, text)| text)
}

fn number<T: std::str::FromStr>(text: Option<String>) -> Option<T> {
    text?.trim().parse().ok()
}
