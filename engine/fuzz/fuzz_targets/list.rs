//! See `headrace_fuzz::list`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headrace_fuzz::list(bytes));
