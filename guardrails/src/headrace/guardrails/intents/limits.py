"""The limits of what a request may say. The client's models and the engine say the same: tests/pure/test_limits.py."""

from typing import Final

MAX_CHARACTERS: Final = 4000
"""Of a request in words."""
MAX_RATE_BPS: Final = 10**14
"""100 Tb/s: above this no link exists, so it is a typing slip rather than a limit."""
MAX_COUNT: Final = (1 << 62) - 1
"""Largest count of bytes or files: two of them still add up in 64 bits."""
MAX_GLOBS: Final = 100
"""To include, and to exclude."""
MAX_GLOB_BYTES: Final = 1024
MAX_COMPONENT_BYTES: Final = 255
MAX_PATH_BYTES: Final = 4096
MAX_DEPTH: Final = 256
MAX_CLOCK_SKEW_MS: Final = 60_000
"""A clock further away is not trusted: permits, tickets and submissions are about time."""
