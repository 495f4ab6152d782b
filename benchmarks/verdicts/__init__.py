"""Plant what limits a transfer on real nodes, and compare what the service says with what was planted."""
