"""Work that outlives a request: the port `Jobs`, and its implementation in one process over the store."""
