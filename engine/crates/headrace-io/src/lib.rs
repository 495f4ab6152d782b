//! What acts in the transfer engine: storage, TLS streams, disk threads, journal.

pub mod root;
pub mod tls;
pub mod walk;
