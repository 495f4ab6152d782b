//! The models, each a test.

#[test]
fn whoever_waits_for_a_buffer_gets_one_in_every_order_of_threads() {
    headrace_loom::buffers();
}

#[test]
fn whoever_waits_for_a_place_gets_one_in_every_order_of_threads() {
    headrace_loom::places();
}
