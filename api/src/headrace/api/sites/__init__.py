"""Nodes and the endpoints that they bring."""
