"""A campaign of `kill -9` of nodes under large copies: what arrives, and what is sent again."""
