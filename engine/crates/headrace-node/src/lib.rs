//! The mover: attach stream, data listener, sessions.
