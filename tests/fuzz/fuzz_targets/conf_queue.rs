//! Queue files and the other objects of an administrator.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxherd_conf::fuzzing::conf_queue(data));
