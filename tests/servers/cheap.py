"""Passwords of people who live as long as a test: argon2id still, at the least cost that it has.

At its real cost, which `tests/pure/auth` holds, it took a quarter of the processor time of services under test.
"""

from typing import Final

import pytest
from argon2 import PasswordHasher

from headrace.auth import passwords

_CHEAP: Final = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


def hash_cheaply(patch: pytest.MonkeyPatch) -> None:
    """In this process, until the patch is undone."""
    patch.setattr(passwords, "_hasher", _CHEAP)
