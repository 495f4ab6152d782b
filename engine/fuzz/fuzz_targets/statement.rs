//! See `headrace_fuzz::statement`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headrace_fuzz::statement(bytes));
