//! The `environment` file of a job.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxherd_handoff::fuzzing::environment(data));
