//! Bodies of the fuzz targets in `tests/fuzz`; `tests/replay_corpus.rs` replays the committed corpora through the
//! same functions on the stable toolchain. They must never panic; a failed assertion is a finding.
#![allow(clippy::missing_panics_doc, reason = "a panic is how a target reports")]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::key::{Author, Name};
use crate::log::{self, LocalTime};
use crate::outcome::Left;
use crate::{
    Config, ConfigWriter, Environment, ExitState, Key, ShepherdEnd, Usage, files, pe_hostfile, shepherd_conf,
    signal,
};

/// The files a stock execd writes for the kinds of jobs, one with every key that ours adds.
const STOCK: [&str; 8] = [
    include_str!("fuzzing/batch.config"),
    include_str!("fuzzing/array.config"),
    include_str!("fuzzing/parallel.config"),
    include_str!("fuzzing/pe_task.config"),
    include_str!("fuzzing/checkpoint.config"),
    include_str!("fuzzing/login.config"),
    include_str!("fuzzing/remote_login.config"),
    include_str!("fuzzing/ours.config"),
];

/// A `config` file. What was accepted has each argument that it announces, and written again it says the same.
pub fn config(data: &[u8]) {
    let Ok(config) = Config::parse(data.to_vec()) else { return };
    let count = config.number(Key::NjobArgs, 0).expect("checked by the reader");
    assert_eq!(i64::try_from(config.arguments().len()), Ok(count));
    for key in Key::ALL {
        let _ = (config.number(*key, 0), config.flag(*key, false), config.id(*key), config.is_none(*key));
        assert_eq!(config.required(*key).is_ok(), config.get(*key).is_some());
    }
    let mut writer = ConfigWriter::new();
    for key in Key::ALL {
        if let Some(value) = config.get(*key) {
            writer.set(*key, value);
        }
    }
    if config.get(Key::PeTaskId).is_none() && config.get(Key::PeTaskIdAgain).is_some() {
        // The second line of that name is the second only behind a first one.
        writer.set(Key::PeTaskId, "");
    }
    for argument in config.arguments() {
        writer.argument(argument.as_encoded_bytes());
    }
    let several_lines = |argument: &std::ffi::OsStr| argument.as_encoded_bytes().contains(&b'\n');
    if config.arguments().any(several_lines) {
        writer.text().expect_err("a newline cannot be handed over");
        return;
    }
    let again = writer.config().expect("one value per line, in order");
    for key in Key::ALL.iter().filter(|key| **key != Key::NjobArgs) {
        assert_eq!(again.get(*key), config.get(*key), "{key:?}");
    }
    assert!(again.arguments().eq(config.arguments()));
}

/// The bytes as the value of one or two of a user's keys, as 8.1.9 writes them: verbatim, newlines included.
/// Whatever they are, the file is refused or says nothing that the user may not say.
///
/// The first three bytes choose the file and the keys; a `0xfe` parts the two values.
pub fn injection(data: &[u8]) {
    let [stock, first, second, forged @ ..] = data else { return };
    let stock = STOCK[usize::from(*stock) % STOCK.len()];
    let lines: Vec<&str> = stock.lines().collect();
    let name = |line: &'static str| line.split_once('=').map_or(line, |(name, _)| name);
    let users: Vec<usize> = (0..lines.len()).filter(|index| is_users(name(lines[*index]))).collect();
    let chosen = |byte: u8| users[usize::from(byte) % users.len()];
    let (first, second) = (chosen(*first), chosen(*second));
    let (one, two) = match forged.iter().position(|byte| *byte == 0xfe) {
        Some(at) => (&forged[..at], Some(&forged[at + 1..])),
        None => (forged, None),
    };

    let mut text = Vec::with_capacity(stock.len() + forged.len());
    for (index, line) in lines.iter().enumerate() {
        let value = if index == first {
            one
        } else if index == second
            && let Some(two) = two
        {
            two
        } else {
            &line.as_bytes()[line.len().min(name(line).len() + 1)..]
        };
        text.extend_from_slice(name(line).as_bytes());
        text.push(b'=');
        text.extend_from_slice(value);
        text.push(b'\n');
    }

    let Ok(config) = Config::parse(text) else { return };
    let original = Config::parse(stock.into()).expect("pinned by a test below");
    // What the reader may make of a value that was put there.
    let arrives = |key: Name| -> Option<&[u8]> {
        let at = |index: usize| Key::parse(name(lines[index]).as_bytes()) == key;
        if at(first) { Some(one) } else { two.filter(|_| at(second)) }
    };
    for key in Key::ALL.iter().filter(|key| **key != Key::JobArg) {
        let expected = match arrives(Name::Key(*key)) {
            // Names of relatives (`h_rt`) are skipped wherever they stand, so that a value can lose further lines.
            Some(value) => value.split(|byte| *byte == b'\n').next().filter(|line| !line.is_empty()),
            None => original.get(*key),
        };
        assert_eq!(config.get(*key), expected, "{key:?}");
    }
    assert_eq!(config.arguments().len(), original.arguments().len());
    for (number, (now, before)) in (1..).zip(config.arguments().zip(original.arguments())) {
        let expected = arrives(Name::JobArg(number)).unwrap_or(before.as_encoded_bytes());
        assert_eq!(now.as_encoded_bytes(), expected, "job_arg{number}");
    }
}

fn is_users(name: &str) -> bool {
    match Key::parse(name.as_bytes()) {
        Name::JobArg(_) => true,
        Name::Key(key) => key.author() == Author::User,
        Name::Ignored | Name::Unknown => false,
    }
}

/// An `environment` file. What was read can be given to a process, and written and read again without a change;
/// the bytes as one variable's value touch no other variable.
pub fn environment(data: &[u8]) {
    let environment = Environment::parse(data);
    let mut names = std::collections::HashSet::new();
    for (name, value) in environment.iter() {
        let (name, value) = (name.as_encoded_bytes(), value.as_encoded_bytes());
        assert!(!name.is_empty() && !name.iter().any(|byte| matches!(byte, b'=' | b'\n' | 0)));
        assert!(!value.contains(&0));
        assert!(names.insert(name), "a name occurs twice");
    }
    assert_eq!(Environment::parse(&environment.text()), environment);

    let mut environment = Environment::new();
    environment.set("BEFORE", "1");
    environment.set("OF_USER", OsString::from_vec(data.to_vec()));
    environment.set("AFTER", "2");
    let read = Environment::parse(&environment.text());
    assert_eq!(read, environment);
    assert_eq!(read.iter().count(), 3);
}

/// All the small files: `signal`, `usage`, `pe_hostfile`, `pid` and its like, a line of `trace`, `shepherd.conf`.
pub fn small_files(data: &[u8]) {
    if let Some(number) = signal::parse(data) {
        assert_eq!(signal::parse(&signal::text(number)), Some(number));
    }
    if let Some(number) = files::number(data) {
        assert_eq!(files::number(format!("{number}\n").as_bytes()), Some(number));
    }
    let text = String::from_utf8_lossy(data);
    // Fractions lose digits the first time only. The texts are compared because NaN is not itself.
    let usage = Usage::parse(&text).text();
    assert_eq!(Usage::parse(&usage).text(), usage);
    let (conf, complaints) = shepherd_conf::ShepherdConf::parse(&text);
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(complaints.len() <= lines);
    let _ = conf.strict("sigterm");
    let grants = pe_hostfile::parse(&text);
    assert_eq!(pe_hostfile::parse(&pe_hostfile::text(&grants)), grants);

    let at = LocalTime { year: 2026, month: 11, day: 30, hour: 16, minute: 14, second: 7 };
    let mut line = String::new();
    log::write_line(&mut line, at, 103, 4711, &text);
    let line = line.strip_suffix('\n').expect("ends the line");
    assert!(!line.contains(char::is_control), "a text must not forge lines or escape sequences");
    assert!(log::text_of(line).len() >= text.len());
}

/// The files of a finished job, in the order `exit_status`, `error`, `usage`, a NUL between them. The first byte says
/// how the shepherd ended, the second which files there are.
pub fn outcome(data: &[u8]) {
    let [end, present, files @ ..] = data else { return };
    let end = match end {
        0..100 => ShepherdEnd::Exited(*end),
        100..200 => ShepherdEnd::Signalled(end - 99),
        _ => ShepherdEnd::Unknown,
    };
    let is_there = |bit: u8| present & (1 << bit) != 0;
    let mut parts = files.splitn(3, |byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    let mut next = |bit| parts.next().filter(|_| is_there(bit));
    let left = Left {
        exit_status: next(0),
        error: next(1),
        usage: next(2),
        checkpointed: is_there(3),
        noresources: is_there(4),
    };
    let outcome = left.judge(end);
    assert!(!outcome.description().is_empty());
    assert!(!outcome.reason.as_deref().unwrap_or("").contains('\n'));
    if outcome.failed == 0 {
        // Success is what all files agree upon.
        let number = left.exit_status.as_deref().and_then(|text| text.lines().next()?.trim().parse().ok());
        assert_eq!(number, Some(0_u32));
        assert_eq!(left.error.unwrap_or_default(), "");
        assert_eq!(outcome.usage.map(|usage| usage.signal), Some(0));
        assert!(!left.checkpointed && !left.noresources);
        assert_eq!(outcome.reason, None);
    }
    if left.checkpointed {
        assert_eq!(outcome.failed, 24);
    }
    // Code 7 puts all queues of the host into error: nothing but the code itself, or no file at all, may mean it.
    let host_fault = ExitState::BeforeProlog.code();
    let number = left.exit_status.as_deref().map(|text| text.lines().next()?.trim().parse::<u32>().ok());
    if outcome.failed == u32::from(host_fault) {
        let said_by_process = number.flatten().is_none() && end == ShepherdEnd::Exited(host_fault);
        assert!(said_by_process || matches!(number, None | Some(Some(7))), "{number:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise [`injection`] would find every forgery refused.
    #[test]
    fn the_stock_files_are_accepted_and_have_values_of_a_user() {
        for stock in STOCK {
            Config::parse(stock.into()).expect("legal");
            let of_user = |line: &str| line.split_once('=').is_some_and(|(name, _)| is_users(name));
            assert!(stock.lines().filter(|line| of_user(line)).count() > 10);
        }
    }
}
