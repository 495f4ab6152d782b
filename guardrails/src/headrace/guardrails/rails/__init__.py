"""Rules that nobody can switch off, and the routes and slots that they check."""
