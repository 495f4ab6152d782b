//! Any bytes are frames or an error: no panic, nothing allocated on a peer's word.
#![no_main]

use headrace_core::batch::read_batch;
use headrace_core::message::Message;
use headrace_core::wire::{Header, Peeked};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some((header, payload)) = bytes.split_first_chunk()
        && let Ok(Peeked::Known(header)) = Header::decode(header)
    {
        let _ = Message::decode(&header, payload);
        let _ = read_batch(payload);
    }
});
