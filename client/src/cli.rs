//! The command line: which command, and what its own failures look like.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::failure::BAD_INPUT;
use crate::{abandon, historic, lint, output, run};

/// One execution host of Grid Engine: runs jobs under queues, and says what queues mean.
#[derive(Debug, Parser)]
#[command(name = "oxherd", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::RunArguments>),
    Lint(lint::LintArguments),
    Abandon(abandon::AbandonArguments),
}

/// Reads the command line and does what it says.
pub(crate) fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let words = historic::modern(words, &Cli::command());
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            output::error_text(&error.render().to_string());
            return ExitCode::from(BAD_INPUT);
        }
        Err(help) => {
            output::text(&help.render().to_string());
            return ExitCode::SUCCESS;
        }
    };
    match cli.command {
        Command::Run(arguments) => run::main(&arguments),
        Command::Lint(arguments) => lint::main(&arguments),
        Command::Abandon(arguments) => abandon::main(&arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_follows_the_script_belongs_to_the_script() {
        let cli =
            Cli::try_parse_from(["oxherd", "run", "--keep", "job.sh", "--keep", "-l", "x"]).expect("legal");
        let Command::Run(arguments) = cli.command else { panic!("another command") };
        assert!(arguments.keep);
        assert_eq!(arguments.command, ["job.sh", "--keep", "-l", "x"]);
    }
}
