//! See `headrace_fuzz::name`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headrace_fuzz::name(bytes));
