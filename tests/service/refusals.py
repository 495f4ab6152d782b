"""Expecting a refusal with a code."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headrace.client import HeadraceError


@contextmanager
def refused(code: str) -> Iterator[pytest.ExceptionInfo[HeadraceError]]:
    """Expect the block to be refused with `code`."""
    with pytest.raises(HeadraceError) as info:
        yield info
    assert info.value.problem.code == code, info.value.problem.detail
