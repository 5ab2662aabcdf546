//! Every file of the committed corpora through the bodies of the fuzz targets, on the stable toolchain.

use std::path::Path;

use oxherd_handoff::{Key, fuzzing};

type Body = fn(&[u8]);

const TARGETS: [(&str, Body); 5] = [
    ("handoff_config", fuzzing::config),
    ("handoff_injection", fuzzing::injection),
    ("handoff_environment", fuzzing::environment),
    ("handoff_small_files", fuzzing::small_files),
    ("handoff_outcome", fuzzing::outcome),
];

#[test]
fn the_corpora_are_replayed() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus");
    for (target, body) in TARGETS {
        let directory = corpora.join(target);
        let mut files = 0;
        for entry in std::fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
        {
            let path = entry.expect("readable").path();
            // Shown if the body panics.
            println!("{}", path.display());
            body(&std::fs::read(&path).expect("readable"));
            files += 1;
        }
        assert!(files >= 10, "{}: only {files} files", directory.display());
    }
}

#[test]
fn every_corpus_of_this_crate_has_a_body() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus");
    for entry in std::fs::read_dir(corpora).expect("committed") {
        let name = entry.expect("readable").file_name().to_string_lossy().into_owned();
        let known = TARGETS.iter().any(|(target, _)| *target == name);
        assert!(known || !name.starts_with("handoff_"), "{name} is replayed by nobody");
    }
}

/// One forged line, of every key there is, behind every value of a user in every kind of file.
#[test]
fn no_key_can_be_forged_in_any_value() {
    // More than there are files, and values of a user in one of them: the body takes the remainder.
    let (files, values) = (0..8, 0..19);
    let names = Key::ALL.iter().map(|key| key.name().to_owned()).chain((1..6).map(|n| format!("job_arg{n}")));
    let names: Vec<String> = names.collect();
    for (file, value) in files.flat_map(|file| values.clone().map(move |value| (file, value))) {
        for (index, name) in names.iter().enumerate() {
            let forged = match (index + usize::from(file + value)) % 3 {
                0 => format!("x\n{name}=0"),
                1 => format!("x\n{name} /y\n"),
                _ => format!("\n{name}="),
            };
            fuzzing::injection(&[&[file, value, 0], forged.as_bytes()].concat());
        }
    }
}
