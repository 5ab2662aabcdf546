//! Exit codes and signals, each of them: workflow engines decide by these numbers.

use oxherd_tests::{Case, both};

both![
    every_exit_code_is_told_apart_from_a_signal,
    every_deadly_signal_has_its_number,
    every_code_of_every_procedure_has_its_meaning,
];

fn every_exit_code_is_told_apart_from_a_signal(case: &Case) {
    for code in [0, 1, 2, 98, 101, 126, 127, 128, 129, 137, 139, 143, 255] {
        let mut job = case.job();
        job.script(&format!("exit {code}\n"));
        let outcome = job.run();
        outcome.expect_finished(code).expect_usage("signal", "0");
        outcome.expect_usage("wait_status", &(1 + (code << 4)).to_string());
    }
}

/// Linux number, Grid Engine's number.
const DEADLY: [(i32, i32); 20] = [
    (libc::SIGHUP, 901),
    (libc::SIGINT, 902),
    (libc::SIGQUIT, 903),
    (libc::SIGILL, 904),
    (libc::SIGTRAP, 905),
    (libc::SIGABRT, 906),
    (libc::SIGFPE, 909),
    (libc::SIGKILL, 910),
    (libc::SIGBUS, 911),
    (libc::SIGSEGV, 912),
    (libc::SIGPIPE, 914),
    (libc::SIGALRM, 915),
    (libc::SIGTERM, 916),
    (libc::SIGIO, 924),
    (libc::SIGXCPU, 925),
    (libc::SIGXFSZ, 926),
    (libc::SIGUSR1, 931),
    (libc::SIGUSR2, 932),
    (libc::SIGVTALRM, -1),
    (libc::SIGPROF, -1),
];

fn every_deadly_signal_has_its_number(case: &Case) {
    let mut wrong = Vec::new();
    for (signal, number) in DEADLY {
        let mut job = case.job();
        // No core file: its flag would depend on the host.
        job.set("h_core", "0").script(&format!("kill -{signal} $$\n"));
        let outcome = job.run();
        outcome.expect_finished(128 + signal).expect_usage("signal", &signal.to_string());
        // The core flag is the kernel's; signals without a number are no part of the contract.
        let told = outcome.usage_number("wait_status");
        let expected = [f64::from((number << 12) | 2), f64::from((number << 12) | 2 | 4)];
        if number > 0 && !expected.contains(&told) {
            wrong.push(format!("signal {signal}: wait_status {told}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn every_code_of_every_procedure_has_its_meaning(case: &Case) {
    let procedures = [("prolog", 8), ("pe_start", 10), ("pe_stop", 13), ("epilog", 15)];
    let ends = [("exit 0", 0), ("exit 1", 1), ("exit 101", 101), ("exit 137", 137), ("exit 255", 255)];
    let more = [("exit 99", 99), ("exit 100", 100), ("kill -SEGV $$", 139), ("kill -TERM $$", 143)];
    for (key, failed) in procedures {
        for (body, code) in ends.into_iter().chain(more) {
            let mut job = case.job();
            job.pe("mpi", 1).set("h_core", "0");
            let path = job.procedure(key, body);
            job.set(key, &path);
            let outcome = job.run();
            let expected = match code {
                0 => 0,
                99 => 25,
                100 => 30,
                _ => failed,
            };
            outcome.expect_code(expected);
            if code != 0 {
                outcome.expect_error(&format!("exit_status of {key} = {code}"));
            }
        }
    }
}
