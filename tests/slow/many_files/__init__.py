"""A million files, inside one node and between two, with few descriptors."""
