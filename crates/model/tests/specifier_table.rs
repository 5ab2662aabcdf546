//! Every row of the table of accepted and refused specifiers observed on 8.1.9 (spec execd.md §22).
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use oxherd_model::limit::{Bytes, Limit, Seconds};
use oxherd_model::specifier::{
    Note, Writer, parse_bool, parse_double, parse_memory, parse_number, parse_time,
};

/// What a row expects of both writers.
#[derive(Clone, Copy)]
enum Expect<'a> {
    /// Both accept without a word.
    Value(u64),
    /// Both accept and say why it is odd.
    Warned(u64, &'a [Note]),
    /// Refused for an administrator, stock's meaning with a note in a request.
    RequestOnly(u64, &'a [Note]),
    Infinity,
    InfinityWarned(&'a [Note]),
    Refused,
}
use Expect::{Infinity, InfinityWarned, Refused, RequestOnly, Value, Warned};

type Plain = Result<(Option<u64>, Vec<Note>), String>;

fn time(text: &str, writer: Writer) -> Plain {
    parse_time(text, writer)
        .map(|parsed| (parsed.value.finite().map(|Seconds(s)| s), parsed.notes))
        .map_err(|error| error.to_string())
}

fn memory(text: &str, writer: Writer) -> Plain {
    parse_memory(text, writer)
        .map(|parsed| (parsed.value.finite().map(|Bytes(b)| b), parsed.notes))
        .map_err(|error| error.to_string())
}

fn check(row: u32, parse: fn(&str, Writer) -> Plain, text: &str, expect: Expect<'_>) {
    let admin = parse(text, Writer::Admin);
    let request = parse(text, Writer::Request);
    let ok = |value: Option<u64>, notes: &[Note]| Ok((value, notes.to_vec()));
    match expect {
        Value(value) => assert_eq!(
            (&admin, &request),
            (&ok(Some(value), &[]), &ok(Some(value), &[])),
            "row {row} `{text}`"
        ),
        Warned(value, notes) => {
            assert_eq!(
                (&admin, &request),
                (&ok(Some(value), notes), &ok(Some(value), notes)),
                "row {row} `{text}`"
            );
        }
        RequestOnly(value, notes) => {
            assert!(admin.is_err(), "row {row} `{text}`: {admin:?}");
            assert_eq!(request, ok(Some(value), notes), "row {row} `{text}`");
        }
        Infinity => assert_eq!((&admin, &request), (&ok(None, &[]), &ok(None, &[])), "row {row} `{text}`"),
        InfinityWarned(notes) => {
            assert_eq!((&admin, &request), (&ok(None, notes), &ok(None, notes)), "row {row} `{text}`");
        }
        Refused => {
            assert!(admin.is_err() && request.is_err(), "row {row} `{text}`: {admin:?} {request:?}");
        }
    }
}

const WRAP: u64 = 1 << 32;

#[test]
fn times_are_read_as_in_the_table() {
    let rows: &[(u32, &str, Expect<'_>)] = &[
        (1, "1:0:0", Value(3600)),
        (2, "::30", Value(30)),
        (3, ":30:", Value(1800)),
        (4, "::", Value(0)),
        (5, "1:30", Refused),
        (6, "1:2:3:4", Refused),
        (7, "30", Value(30)),
        (8, "1.5:0:0", Value(5400)),
        (9, "0:90:90", Value(5490)),
        (10, "00:00:00060", Value(60)),
        (11, "0:0:-5", RequestOnly(WRAP - 5, &[Note::Negative])),
        (12, "-1", RequestOnly(WRAP - 1, &[Note::Negative])),
        (13, "-1:0:0", RequestOnly(WRAP - 3600, &[Note::Negative])),
        (14, "0x10", Value(16)),
        (15, "010", RequestOnly(8, &[Note::Octal])),
        (16, "08", Refused),
        (17, "1k", Value(1000)),
        (18, "1K", Value(1024)),
        (19, "1m", Value(1_000_000)),
        (20, "90s", Refused),
        (20, "1h", Refused),
        (20, "1d", Refused),
        (21, "INFINITY", Infinity),
        (21, "infinity", Infinity),
        (21, "Infinity", Infinity),
        (22, "UNLIMITED", Refused),
        (22, "NONE", Refused),
        (22, "UNDEFINED", Refused),
        (23, "1e3", Value(1000)),
        (24, "1e3:0:0", Value(3_600_000)),
        (25, "999999999999", Warned(999_999_999_999, &[Note::AboveInt32])),
        (25, "2147483648", Warned(2_147_483_648, &[Note::AboveInt32])),
        (25, "4294967296", Warned(4_294_967_296, &[Note::AboveInt32])),
        (26, "2147483647", Value(2_147_483_647)),
        (27, "1000000:0:0", Warned(3_600_000_000, &[Note::AboveInt32])),
        (28, "2147483648:0:0", Refused),
        (29, "TRUE", Value(1)),
        (30, "false", Value(0)),
        (31, "nan", RequestOnly(1 << 31, &[Note::NotANumber])),
        (31, "inf", RequestOnly(1 << 31, &[Note::NotANumber])),
        (32, "1,5", Warned(1, &[Note::TextIgnored])),
        (33, "1/2", Warned(1, &[Note::TextIgnored])),
        (34, "1.9", Value(1)),
        (35, ".5", Value(0)),
        (36, "+5", Value(5)),
        (36, "+", Refused),
        (37, "1:0:0 x", Refused),
        (38, "0:0:5.7", Value(5)),
        (39, "0x", Refused),
        (39, "0xG", Refused),
        (40, "1G", Value(1 << 30)),
    ];
    for (row, text, expect) in rows {
        check(*row, time, text, *expect);
    }
}

#[test]
fn memory_is_read_as_in_the_table() {
    let rows: &[(u32, &str, Expect<'_>)] = &[
        (41, "1.5G", Value(3 << 29)),
        (42, "1k", Value(1000)),
        (43, "1K", Value(1024)),
        (44, "1m", Value(1_000_000)),
        (44, "1M", Value(1 << 20)),
        (45, "1g", Value(1_000_000_000)),
        (45, "1G", Value(1 << 30)),
        (46, "1t", Value(1_000_000_000_000)),
        (46, "1T", Value(1 << 40)),
        (47, "0x10", Value(16)),
        (47, "0x10k", Value(16_000)),
        (48, "010K", RequestOnly(8192, &[Note::Octal])),
        (49, "08K", Refused),
        (49, "09", Refused),
        (50, "1KB", Refused),
        (50, "1kb", Refused),
        (50, "1Gi", Refused),
        (51, "8E", Refused),
        (51, "1P", Refused),
        (52, "-1", RequestOnly(1, &[Note::Negative])),
        (52, "-1G", RequestOnly(1 << 30, &[Note::Negative])),
        (53, "0", Value(0)),
        (54, "9223372036854775808", Value(1 << 63)),
        (54, "18446744073709551616", InfinityWarned(&[Note::Saturated])),
        (55, "99999999999T", InfinityWarned(&[Note::Saturated])),
        (56, "1e3M", Value(1000 << 20)),
        (57, "1:0:0", Warned(3600, &[Note::TimeAsMemory])),
        (58, "1 G", Refused),
        (58, "1G ", Value(1 << 30)),
        (59, "1,5G", Warned(1, &[Note::TextIgnored])),
        (60, "0x1.8p3", Value(12)),
        (61, "0xffffffff", RequestOnly(WRAP - 1, &[Note::Truncated])),
        (61, "0x1ffffffff", RequestOnly(WRAP - 1, &[Note::Truncated])),
        (62, "037777777777", RequestOnly(WRAP - 1, &[Note::Octal, Note::Truncated])),
        (63, "-0x10", RequestOnly(16, &[Note::Negative])),
        (63, "-010", RequestOnly(10, &[Note::Negative])),
        (64, "K", Refused),
        (64, "G", Refused),
        (64, "", Refused),
        (64, "1_000", Refused),
        (64, "0b1", Refused),
        (65, "TRUE", Warned(1, &[Note::BoolAsMemory])),
    ];
    for (row, text, expect) in rows {
        check(*row, memory, text, *expect);
    }
}

#[test]
fn requests_of_jobs_are_read_as_in_the_table() {
    check(66, time, "-5", RequestOnly(WRAP - 5, &[Note::Negative]));
    check(66, time, "0", Value(0));
    check(66, memory, "-1G", RequestOnly(1 << 30, &[Note::Negative]));
    check(66, time, "INFINITY", Infinity);
    check(67, time, "90s", Refused);
    check(67, time, "1:30", Refused);
    check(67, memory, "1GB", Refused);
    check(67, memory, "08M", Refused);
    check(67, memory, "NONE", Refused);
}

#[test]
fn whole_numbers_are_read_as_in_the_table() {
    let rows = [("0x10", 16), ("0X10", 16), ("4294967295", u32::MAX), ("0", 0), ("+4", 4), ("4 ", 4)];
    // Observed on 8.1.9: no octal numbers here, and any spelling of a whole number.
    for (text, value) in rows.into_iter().chain([("010", 10), ("08", 8), ("4.0", 4), ("1e1", 10)]) {
        assert_eq!(parse_number(text).unwrap().value, value, "row 68 `{text}`");
    }
    let refused =
        ["-1", "4.5", "1K", "INFINITY", "4294967296", "1:0:0", "TRUE", "x", "", "0x", "0x1ffffffff"];
    for text in refused.into_iter().chain(["4,eh1=2", "4/2", "nan", "inf"]) {
        assert!(parse_number(text).is_err(), "row 68 `{text}`");
    }
}

#[test]
fn errors_say_what_was_expected_found_and_where() {
    let error = parse_time("1d", Writer::Admin).unwrap_err();
    assert_eq!(error.to_string(), "expected a time (seconds, `hh:mm:ss` or `INFINITY`), found `1d`");
    assert_eq!(error.offset, 1);
    assert_eq!(parse_time("1:2:3x", Writer::Admin).unwrap_err().offset, 5);
    let octal = parse_memory("010K", Writer::Admin).unwrap_err();
    assert_eq!(octal.reason, Some(Note::Octal));
    assert!(octal.to_string().ends_with("found `010K`: a leading 0 makes the number octal"), "{octal}");
}

#[test]
fn zeros_are_no_octal_numbers() {
    for text in ["0", "00", "007"] {
        assert!(parse_time(text, Writer::Admin).unwrap().notes.is_empty(), "{text}");
    }
}

#[test]
fn doubles_and_truth_values() {
    assert!((parse_double("1.75", Writer::Admin).unwrap().value - 1.75).abs() < f64::EPSILON);
    assert!((parse_double("-2", Writer::Admin).unwrap().value + 2.0).abs() < f64::EPSILON);
    assert!(parse_double("nan", Writer::Admin).is_err());
    for text in ["TRUE", "true", "1", "y", "yes", "T"] {
        assert!(parse_bool(text).unwrap().value, "{text}");
    }
    for text in ["FALSE", "f", "0", "no", "N"] {
        assert!(!parse_bool(text).unwrap().value, "{text}");
    }
    assert!(parse_bool("maybe").unwrap_err().to_string().contains("`TRUE` or `FALSE`"));
}

#[test]
fn large_decimal_numbers_are_exact() {
    assert_eq!(
        parse_memory("9007199254740993", Writer::Admin).unwrap().value,
        Limit::Value(Bytes(9_007_199_254_740_993))
    );
}
