"""Who is calling: local people, API tokens, sessions."""
