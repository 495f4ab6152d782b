//! See `headrace_fuzz::ticket`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headrace_fuzz::ticket(bytes));
