//! What acts in the transfer engine: storage, TLS streams, disk threads, journal.

pub mod account;
pub mod buffer;
pub mod descriptors;
pub mod device;
pub mod disk;
pub mod flow;
#[doc(hidden)]
pub mod fuzzing;
pub mod host;
pub mod journal;
pub mod kernel;
pub mod landed;
pub mod probe;
mod records;
pub mod root;
mod secrets;
pub mod socket_memory;
pub mod sockopt;
pub mod storage;
pub mod stream;
pub mod tls;
pub mod trash;
pub mod version;
pub mod walk;
