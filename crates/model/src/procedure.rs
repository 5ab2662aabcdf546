//! `prolog`, `epilog` and other procedures: `[user@]path arguments`.

use core::fmt;

/// Variables that prolog and epilog expand (shepherd.md §15; `sge_root` and `sge_cell` by the manual, fatal in 8.1.9).
pub const PROLOG_VARIABLES: &[&str] = &[
    "host",
    "ja_task_id",
    "job_owner",
    "job_id",
    "job_name",
    "processors",
    "queue",
    "stdin_path",
    "stdout_path",
    "stderr_path",
    "merge_stderr",
    "fs_stdin_host",
    "fs_stdin_path",
    "fs_stdin_tmp_path",
    "fs_stdin_file_staging",
    "fs_stdout_host",
    "fs_stdout_path",
    "fs_stdout_tmp_path",
    "fs_stdout_file_staging",
    "fs_stderr_host",
    "fs_stderr_path",
    "fs_stderr_tmp_path",
    "fs_stderr_file_staging",
    "sge_root",
    "sge_cell",
];

/// Variables that control methods expand (queue_conf(5)).
pub const METHOD_VARIABLES: &[&str] =
    &["host", "ja_task_id", "job_owner", "job_id", "job_name", "queue", "job_pid", "sge_cell", "sge_root"];

/// What PE start and stop procedures expand besides [`PROLOG_VARIABLES`].
pub const PE_VARIABLES: &[&str] = &["pe_hostfile", "pe", "pe_slots"];

/// What checkpoint commands expand besides [`METHOD_VARIABLES`].
pub const CKPT_VARIABLES: &[&str] = &["ckpt_dir", "ckpt_signal"];

/// A command line with the user it runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Procedure {
    /// The user before `@`; without one the job owner.
    pub user: Option<String>,
    /// Path and arguments, unexpanded.
    pub command: String,
}

impl Procedure {
    /// Splits off the user: everything before the first `@`, if that comes before the first blank (as 8.1.9 does).
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let word = text.split_whitespace().next().unwrap_or("");
        match word.split_once('@') {
            Some((user, _)) => Self {
                user: Some(user.to_owned()),
                command: text.get(user.len() + 1..).unwrap_or("").trim_start().to_owned(),
            },
            None => Self { user: None, command: text.to_owned() },
        }
    }

    /// The program, without arguments.
    pub fn program(&self) -> &str {
        self.command.split_whitespace().next().unwrap_or("")
    }
}

impl fmt::Display for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        f.write_str(&self.command)
    }
}

/// The variables in a command line with their byte offsets: the longest run of `[A-Za-z0-9_]` after each `$`.
/// A lone `$` yields an empty name, which 8.1.9 treats as an error.
pub fn variables(command: &str) -> Vec<(usize, &str)> {
    command
        .match_indices('$')
        .map(|(at, _)| {
            let rest = command.get(at + 1..).unwrap_or("");
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (at, rest.get(..end).unwrap_or(""))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_stands_before_the_first_at_sign_of_the_first_word() {
        let with_user = Procedure::parse("root@/x/prolog $host a@b");
        assert_eq!(with_user.user.as_deref(), Some("root"));
        assert_eq!(with_user.program(), "/x/prolog");
        assert_eq!(with_user.to_string(), "root@/x/prolog $host a@b");
        let without = Procedure::parse("/x/prolog a@b");
        assert_eq!((without.user, without.command.as_str()), (None, "/x/prolog a@b"));
    }

    #[test]
    fn variables_are_the_longest_runs() {
        assert_eq!(variables("/x $job_id-$host $ $a1"), [(3, "job_id"), (11, "host"), (17, ""), (19, "a1")]);
        assert_eq!(variables("/x"), []);
    }
}
