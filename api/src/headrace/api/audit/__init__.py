"""The audit chain, its exported heads, and the command that checks them."""
