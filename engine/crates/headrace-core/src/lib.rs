//! What decides in the transfer engine: no sockets, no files, no clocks.
