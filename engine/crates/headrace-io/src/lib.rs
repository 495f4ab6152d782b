//! What acts in the transfer engine: storage, TLS streams, disk threads, journal.
