"""REST under /api/v1, and the console's files."""
