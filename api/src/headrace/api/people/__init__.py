"""Local people: accounts, sessions, tokens, and where they are stored."""
