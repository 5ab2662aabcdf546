//! Times, amounts of memory, numbers, truth values.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxherd_conf::fuzzing::units(data));
