//! See `headrace_fuzz::token`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headrace_fuzz::token(bytes));
