//! The `headrace-node` binary.
fn main() {}
