"""`headrace doctor`: judge a host by rules. `read` looks at it, the rules are pure, nothing is changed."""

from headrace.cli.doctor.rules import examined

__all__ = ["examined"]
