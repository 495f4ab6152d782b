//! See `headrace_fuzz::succession`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headrace_fuzz::succession(bytes));
