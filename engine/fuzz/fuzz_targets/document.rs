//! See `headrace_fuzz::document`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headrace_fuzz::document(bytes));
