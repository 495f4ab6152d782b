//! Any bytes are a journal up to some point, and reading stops there.
#![no_main]

use headrace_core::journal::Replay;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (_, length) = Replay::read(bytes);
    assert!(length <= bytes.len());
});
