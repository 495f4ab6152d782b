"""Nodes of the last release and of today work together."""
