//! Every file of the committed corpora through the bodies of the fuzz targets, on the stable toolchain.
#![forbid(unsafe_code)]

use std::path::Path;

use oxherd_conf::fuzzing;

type Body = fn(&[u8]);

#[test]
fn the_corpora_are_replayed() {
    let targets: [(&str, Body); 2] = [("conf_queue", fuzzing::conf_queue), ("units", fuzzing::units)];
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus");
    for (target, body) in targets {
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
