//! Ten broken queue files and what is said about them, as plain text. Refresh with UPDATE=1.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use std::fs;
use std::path::PathBuf;

use oxherd_conf::lint::codes;
use oxherd_conf::queue::ClusterQueue;

fn dir() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/broken"))
}

fn check(name: &str) {
    let text = fs::read_to_string(dir().join(format!("{name}.conf"))).unwrap();
    let (queue, diagnostics) = ClusterQueue::read(&format!("{name}.conf"), &text);
    assert!(queue.is_none(), "{name} is not broken");
    let found: String = diagnostics.iter().map(|d| d.render(&text)).collect();
    for diagnostic in &diagnostics {
        assert!(codes::explain(diagnostic.code).is_some(), "{} has no explanation", diagnostic.code);
        assert!(text.is_char_boundary(diagnostic.span.start) && diagnostic.span.end <= text.len());
    }
    let path = dir().join(format!("{name}.txt"));
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &found).unwrap();
    }
    assert_eq!(found, fs::read_to_string(&path).unwrap(), "{name}: refresh with UPDATE=1");
}

macro_rules! broken {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        #[test]
        fn every_broken_file_has_a_test() {
            let mut files: Vec<String> = fs::read_dir(dir())
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.extension().is_some_and(|e| e == "conf"))
                .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
                .collect();
            files.sort();
            assert_eq!(files, [$(stringify!($name)),*]);
        }
    };
}

broken! { blanks brackets continuation duplicates memory methods nearly_empty times unknown_and_missing words }
