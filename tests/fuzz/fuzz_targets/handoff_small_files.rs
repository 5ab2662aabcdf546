//! All other files between execd and shepherd.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxherd_handoff::fuzzing::small_files(data));
