"""Permits, tickets and receipts are signed here and nowhere else."""
