//! Any bytes as a user's value in a stock `config` file.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxherd_handoff::fuzzing::injection(data));
