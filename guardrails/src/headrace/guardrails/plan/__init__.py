"""A plan: how it is made and shown, and what it takes to release it to the nodes."""
