//! Links the unwinder in instead of loading `libgcc_s.so.1`.
//!
//! Every job pays for the start of the shepherd. That library is never used (panics abort), but loading it costs a
//! tenth of the start: its constructor asks the processor for its features, and in a virtual machine each question
//! leaves the machine. A linker script of that name, found first, names the static library instead.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let Some(out) = std::env::var_os("OUT_DIR") else { return };
    let script = Path::new(&out).join("libgcc_s.so");
    if std::fs::write(&script, "INPUT(-lgcc_eh -lgcc)\n").is_ok() {
        println!("cargo::rustc-link-search=native={}", Path::new(&out).display());
    }
}
