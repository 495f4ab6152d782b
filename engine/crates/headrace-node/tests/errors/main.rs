//! What can go wrong between two nodes, and the named error that a person sees of it.

mod connection;
mod destination;
mod network_file;
mod puppet;
#[path = "../session_support/mod.rs"]
mod session_support;
mod source;
mod storage;
