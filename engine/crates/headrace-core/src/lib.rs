//! What decides in the transfer engine: no sockets, no files, no clocks.

pub mod access;
pub mod batch;
pub mod bitmap;
pub mod canonical;
pub mod code;
pub mod codec;
pub mod entry;
pub mod filter;
pub mod growth;
pub mod integrity;
pub mod journal;
pub mod list;
pub mod manifest;
pub mod message;
pub mod name;
pub mod permit;
pub mod rate;
pub mod sealed;
pub mod statement;
pub mod succession;
pub mod survey;
pub mod text;
pub mod ticket;
pub mod value;
pub mod version;
pub mod wire;
