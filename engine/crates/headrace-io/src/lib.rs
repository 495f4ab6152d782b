//! What acts in the transfer engine: storage, TLS streams, disk threads, journal.

pub mod buffer;
pub mod disk;
pub mod journal;
pub mod probe;
pub mod root;
pub mod sockopt;
pub mod storage;
pub mod stream;
pub mod tls;
pub mod walk;
