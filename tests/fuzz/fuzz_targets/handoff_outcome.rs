//! What the files of a finished job mean.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxherd_handoff::fuzzing::outcome(data));
