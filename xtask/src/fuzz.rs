//! Campaigns of the fuzz targets in `tests/fuzz`.
//!
//! The targets run without a sanitizer: what they test is safe Rust, so that the stable compiler is enough and
//! every execution is cheaper. New inputs stay below the build directory; the committed corpus is only read.

use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::workspace::{answers, cargo, root, step};

pub(crate) fn campaign(name: &str, seconds: &str) -> Result<()> {
    let seconds: u32 = seconds.parse().with_context(|| format!("`{seconds}` is not a number of seconds"))?;
    let directory = root().join("tests/fuzz");
    if !directory.join("fuzz_targets").join(name).with_extension("rs").is_file() {
        let mut names: Vec<String> = fs::read_dir(directory.join("fuzz_targets"))
            .context("cannot read tests/fuzz/fuzz_targets")?
            .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_string_lossy().into_owned()))
            .collect();
        names.sort();
        bail!("there is no fuzz target `{name}`; there are {}", names.join(", "));
    }
    if !answers(&mut cargo(&["fuzz", "--version"])) {
        bail!("`cargo fuzz` is missing: install it with `cargo install cargo-fuzz`");
    }
    let (found, seeds) = (format!("target/corpus/{name}"), format!("corpus/{name}"));
    for corpus in [&found, &seeds] {
        let corpus = directory.join(corpus);
        fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    }
    let mut run = cargo(&["fuzz", "run", "--sanitizer", "none", name]);
    // The first directory gets what is found.
    run.args([&found, &seeds]).arg("--");
    run.arg(format!("-max_total_time={seconds}")).args(["-timeout=10", "-print_final_stats=1"]);
    let dictionary = format!("dictionaries/{name}.dict");
    if directory.join(&dictionary).is_file() {
        run.arg(format!("-dict={dictionary}"));
    }
    step(&format!("fuzz {name}"), run.current_dir(&directory))?;
    eprintln!("xtask: {name}: no finding; inputs that reached something new are in tests/fuzz/{found}");
    Ok(())
}
