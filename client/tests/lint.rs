//! `oxherd lint`: diagnostics of all files, and the exit code that says whether they can be used.
#![forbid(unsafe_code)]

#[allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]
mod common;

use common::{Place, example};

#[test]
fn the_example_is_clean() {
    let end = Place::new().oxherd(["lint", &example("all.q.conf")]);
    assert_eq!((end.code, end.stdout.as_str(), end.stderr.as_str()), (Some(0), "", ""));
}

#[test]
fn errors_are_drawn_with_file_line_column_and_caret() {
    let place = Place::new();
    let queue = place.queue(&[("h_rt", "1d"), ("slots", "-1")]);
    let end = place.oxherd(["lint", &queue]);
    assert_eq!(end.code, Some(1), "{end:?}");
    let text = std::fs::read_to_string(&queue).expect("readable");
    let line = text.lines().position(|line| line.starts_with("h_rt")).expect("a line") + 1;
    assert!(end.stdout.contains(&format!("{queue}:{line}:24")), "{end:?}");
    assert!(
        end.stdout.contains("expected a time (seconds, `hh:mm:ss` or `INFINITY`), found `1d`"),
        "{end:?}"
    );
    assert!(end.stdout.contains('^'), "{end:?}");
    assert!(end.stdout.ends_with("2 errors, 0 warnings\n"), "{end:?}");
}

#[test]
fn warnings_alone_are_no_failure() {
    let place = Place::new();
    let queue = place.queue(&[("s_rt", "2:0:0")]);
    let end = place.oxherd(["lint", &queue]);
    assert_eq!(end.code, Some(0), "{end:?}");
    assert!(end.stdout.contains("warning["), "{end:?}");
}

#[test]
fn all_files_are_checked_and_one_that_cannot_be_read_decides() {
    let place = Place::new();
    let bad = place.queue(&[("h_rt", "1d")]);
    let end = place.oxherd(["lint", "--json", &bad, "/no/such/file.q", &example("all.q.conf")]);
    assert_eq!(end.code, Some(125), "{end:?}");
    assert!(end.stderr.starts_with("oxherd: cannot read /no/such/file.q"), "{end:?}");
    let found: serde_json::Value = serde_json::from_str(&end.stdout).expect("JSON");
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found[0]["severity"], "error");
    assert_eq!(found[0]["column"], 24);
}
