//! `oxherd`: one program with many commands, and the shepherd as well when it is called `sge_shepherd…`.
//!
//! `oxherd run` starts itself under two other names: as the shepherd, unless `oxherd-shepherd` lies beside it, and as
//! the watcher that notices when it is stopped.
#![forbid(unsafe_code)]

mod abandon;
mod cli;
mod failure;
mod historic;
mod lint;
mod output;
mod queue_file;
mod run;

use std::process::ExitCode;

use oxherd_execd::foreground::{Shepherd, watch};

fn main() -> ExitCode {
    // First of all: a shepherd must not do anything a client does, and a client nothing a shepherd does.
    let name = std::env::args_os().next().unwrap_or_default();
    if Shepherd::is_called(&name) {
        return oxherd_shepherd::main();
    }
    if watch::is_called(&name) {
        return watch::main();
    }
    cli::main()
}
