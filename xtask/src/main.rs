//! `cargo xtask`: what is done with this workspace besides building it.
//!
//! One subcommand is one module. Nothing here needs more than cargo and the tools it names; a step that fails
//! says its name, a step that cannot be done says why, and the test runner's own summary stays the last thing
//! on the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks to its terminal")]

mod bench;
mod fuzz;
mod gate;
mod packages;
#[allow(dead_code, reason = "shared with the floor, which is a program of its own; each uses its part")]
mod spawn;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask SUBCOMMAND

  test [ARGS…]          install what the tests need (as root), build, run all tests; ARGS go to the test runner
  ci                    formatting, clippy, then `test` with nothing skipped that this account can run
  bench shepherd […]    figures T1, T2, T3, T6 and T7: stock, ours and the floor side by side
      --runs N          runs of each program per figure (default 60)
      --extra N         unrelated sleeping processes of T3 (default 1000)
      --jobs N          shepherds at once for T7 (default 40)
      --ours PATH       this program in the place of our release build
      --stock PATH      this program in the place of /usr/lib/gridengine/sge_shepherd
      --json            one JSON object after the table
      --cluster         T4 instead: as shepherd_cmd below the packaged sge_execd, twice --runs jobs
  bench latency [T…]    figures T11 to T14, T16, T19 to T21, or those named; --ours, --stock, --json as above
  fuzz NAME SECONDS     a campaign of one fuzz target in tests/fuzz
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (subcommand, rest) = match arguments.split_first() {
        Some((first, rest)) => (first.as_str(), rest),
        None => ("", &[][..]),
    };
    let outcome = match (subcommand, rest.first().map(String::as_str)) {
        ("test", _) => gate::test(rest, None),
        ("ci", None) => gate::ci(),
        ("fuzz", Some(name)) if rest.len() == 2 => fuzz::campaign(name, &rest[1]),
        ("bench", Some(name @ ("shepherd" | "latency"))) => {
            let bench = if name == "latency" { bench::Bench::Latency } else { bench::Bench::Shepherd };
            match bench::Options::parse(bench, &rest[1..]) {
                Ok(options) => bench::run(&options),
                Err(refusal) => return usage(&format!("{refusal:#}\n")),
            }
        }
        ("help" | "-h" | "--help", _) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => return usage(""),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage(why: &str) -> ExitCode {
    eprint!("{why}{USAGE}");
    ExitCode::from(2)
}
