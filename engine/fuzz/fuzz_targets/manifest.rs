//! Any bytes are entries of a manifest or an error, and what is read is written back as it was.
#![no_main]

use headrace_core::manifest::Item;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(items) = Item::read_all(bytes) {
        let mut again = Vec::new();
        for item in &items {
            item.put(&mut again);
        }
        assert_eq!(Item::read_all(&again).as_ref(), Ok(&items));
    }
});
