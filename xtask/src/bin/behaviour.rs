//! Jobs that behave in a known way, and say when they did what: the jobs of `bench latency`.
//!
//! Times are nanoseconds of the clock that all processes share, as eight bytes each in numbered slots of a
//! file that the bench reads (`xtask/src/bench/latency/stamps.rs` has the numbers).
#![allow(clippy::disallowed_methods, reason = "a job that sleeps and beats is the point")]

#[path = "../spawn.rs"]
#[allow(dead_code, reason = "shared with the xtask binary; each uses its part")]
mod spawn;
#[path = "../bench/latency/stamps.rs"]
#[allow(dead_code, reason = "shared with the xtask binary; each uses its part")]
mod stamps;

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use spawn::{cpu_ns, fork, ignore, monotonic_ns, new_session};
use stamps::{BEAT, HOPS, MEMBERS, START, STOP, Stamps, TOTAL};

const BEAT_PAUSE: Duration = Duration::from_millis(5);
const MEBIBYTE: usize = 1 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match behave(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn behave(words: &[&str]) -> io::Result<()> {
    let [mode, file, rest @ ..] = words else { return Err(io::Error::other("no behaviour")) };
    let stamps = Stamps::open(Path::new(file))?;
    let number = |index: usize| -> io::Result<u64> {
        rest.get(index).and_then(|word| word.parse().ok()).ok_or_else(|| io::Error::other("not a number"))
    };
    match *mode {
        "beat" => beat(&stamps),
        "tree" => tree(&stamps),
        "hog" => hog(&stamps, number(0)?, number(1)?),
        "hop" => hop(&stamps, number(0)?),
        "leave" => leave(&stamps, number(0)?),
        "files" => files(&stamps, Path::new(rest.first().copied().unwrap_or("")), number(1)?),
        "burn-leader" => burn(&stamps, number(0)?, 0),
        "burn-orphan" => orphan(&stamps, number(0)?),
        "burn-children" => children(&stamps, number(0)?),
        _ => Err(io::Error::other("no such behaviour")),
    }
}

/// Beats until it is ended.
fn beat(stamps: &Stamps) -> io::Result<()> {
    // When this process was made: now, less what it ran, less what it waited for a processor.
    let text = fs::read_to_string("/proc/self/schedstat")?;
    let waited = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    stamps.set(START, monotonic_ns() - cpu_ns() - waited)?;
    loop {
        stamps.set(BEAT, monotonic_ns())?;
        sleep(BEAT_PAUSE);
    }
}

/// Five processes: leader, child, grandchild, child in a session of its own, daemon that nobody is the parent of.
fn tree(stamps: &Stamps) -> io::Result<()> {
    if fork()? == 0 {
        if fork()? == 0 {
            return member(stamps, 2);
        }
        return member(stamps, 1);
    }
    if fork()? == 0 {
        new_session();
        harden();
        return member(stamps, 3);
    }
    let middle = fork()?;
    if middle == 0 {
        if fork()? == 0 {
            new_session();
            harden();
            if fork()? == 0 {
                return member(stamps, 4);
            }
        }
        return Ok(());
    }
    spawn::wait(middle)?;
    member(stamps, 0)
}

fn harden() {
    for signal in [1, 2, 15] {
        ignore(signal);
    }
}

fn member(stamps: &Stamps, index: u64) -> io::Result<()> {
    stamps.set(MEMBERS + 2 * index, i64::from(std::process::id()))?;
    loop {
        stamps.set(MEMBERS + 2 * index + 1, monotonic_ns())?;
        sleep(BEAT_PAUSE);
    }
}

/// Processes that touch memory as fast as they can, each up to so many MiB, and then keep it.
fn hog(stamps: &Stamps, processes: u64, mebibytes: u64) -> io::Result<()> {
    for index in 0..processes {
        if fork()? != 0 {
            continue;
        }
        let slot = MEMBERS + 4 * index;
        stamps.set(slot + 1, monotonic_ns())?;
        for touched in 1..=mebibytes {
            let mut block: Vec<u8> = Vec::new();
            if block.try_reserve_exact(MEBIBYTE).is_err() {
                break;
            }
            block.resize(MEBIBYTE, 1);
            std::mem::forget(std::hint::black_box(block));
            stamps.set(slot, i64::try_from(touched).unwrap_or(0))?;
            stamps.set(slot + 2, monotonic_ns())?;
        }
        loop {
            stamps.set(slot + 2, monotonic_ns())?;
            sleep(Duration::from_millis(2));
        }
    }
    loop {
        std::thread::park();
    }
}

/// A process that replaces itself by its child without end: each leaves its session and its parent behind.
fn hop(stamps: &Stamps, seconds: u64) -> io::Result<()> {
    if fork()? == 0 {
        return chain(stamps, seconds);
    }
    loop {
        std::thread::park();
    }
}

/// The same, left behind by a job that ends by itself.
fn leave(stamps: &Stamps, seconds: u64) -> io::Result<()> {
    if fork()? == 0 {
        return chain(stamps, seconds);
    }
    while stamps.get(HOPS)? < 20 {
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn chain(stamps: &Stamps, seconds: u64) -> io::Result<()> {
    let end = monotonic_ns() + i64::try_from(seconds).unwrap_or(0) * 1_000_000_000;
    let mut hops = 0;
    loop {
        new_session();
        hops += 1;
        stamps.set(HOPS, hops)?;
        // It ends by itself: what escaped from a supervisor must not need a hunt.
        if monotonic_ns() > end || stamps.get(STOP)? != 0 {
            return Ok(());
        }
        match fork() {
            Ok(0) => {}
            Ok(_) => return Ok(()),
            Err(_) => sleep(Duration::from_millis(1)),
        }
    }
}

/// Empty files, a thousand to a directory.
fn files(stamps: &Stamps, directory: &Path, count: u64) -> io::Result<()> {
    let mut current = directory.to_path_buf();
    for number in 0..count {
        if number % 1000 == 0 {
            current = directory.join(format!("d{}", number / 1000));
            fs::create_dir(&current)?;
        }
        fs::File::create_new(current.join(format!("f{number}")))?;
    }
    stamps.set(START, monotonic_ns())
}

/// Uses so many milliseconds of CPU and adds what it really was.
fn burn(stamps: &Stamps, milliseconds: u64, slot: u64) -> io::Result<()> {
    let end = cpu_ns() + i64::try_from(milliseconds).unwrap_or(0) * 1_000_000;
    let mut value = 0_u64;
    while cpu_ns() < end {
        for round in 0..10_000 {
            value = std::hint::black_box(value.wrapping_add(round));
        }
    }
    stamps.set(TOTAL + slot, cpu_ns())
}

/// A process that nobody is the parent of burns, while the leader waits for it without being able to reap it.
fn orphan(stamps: &Stamps, milliseconds: u64) -> io::Result<()> {
    let middle = fork()?;
    if middle == 0 {
        if fork()? == 0 {
            new_session();
            return burn(stamps, milliseconds, 1);
        }
        return stamps.set(TOTAL + 2, cpu_ns());
    }
    spawn::wait(middle)?;
    while stamps.get(TOTAL + 1)? == 0 {
        sleep(BEAT_PAUSE);
    }
    stamps.set(TOTAL, cpu_ns())
}

/// A hundred children, one after the other, which share the time.
fn children(stamps: &Stamps, milliseconds: u64) -> io::Result<()> {
    for number in 1..=100 {
        let child = fork()?;
        if child == 0 {
            return burn(stamps, milliseconds / 100, number);
        }
        spawn::wait(child)?;
    }
    stamps.set(TOTAL, cpu_ns())
}
