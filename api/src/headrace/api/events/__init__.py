"""Who waits for what, and waking them."""
