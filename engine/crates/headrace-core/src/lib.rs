//! What decides in the transfer engine: no sockets, no files, no clocks.

pub mod access;
pub mod canonical;
pub mod entry;
pub mod filter;
pub mod list;
pub mod name;
pub mod permit;
pub mod sealed;
pub mod survey;
pub mod ticket;
pub mod value;
