"""From a request to a sealed plan, and people's consent to it."""
