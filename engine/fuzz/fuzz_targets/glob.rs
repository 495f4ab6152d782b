//! See `headrace_fuzz::glob`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headrace_fuzz::glob(bytes));
