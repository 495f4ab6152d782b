//! See `headrace_fuzz::batch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headrace_fuzz::batch(bytes));
