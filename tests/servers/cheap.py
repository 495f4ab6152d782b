"""Passwords of people who live as long as a test: argon2id still, at the least cost that it has.

At its real cost, which `tests/pure/auth` holds, it took a quarter of the processor time of services under test.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from unittest.mock import patch

from argon2 import PasswordHasher

from headrace.auth import passwords

_CHEAP: Final = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@contextmanager
def hashing_cheaply() -> Iterator[None]:
    """In this process, while it is open."""
    with patch.object(passwords, "_hasher", _CHEAP):
        yield
