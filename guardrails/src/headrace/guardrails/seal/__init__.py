"""Sealed documents: their canonical bytes, keys, the audit chain, and the part that nodes execute."""
