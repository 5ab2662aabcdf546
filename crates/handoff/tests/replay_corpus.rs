//! Every file of the committed corpora through the bodies of the fuzz targets, on the stable toolchain.

use std::path::Path;

use oxherd_handoff::fuzzing;

/// Target and body.
const TARGETS: [(&str, fn(&[u8])); 5] = [
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
