//! See `headrace_fuzz::greeting`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headrace_fuzz::greeting(bytes));
