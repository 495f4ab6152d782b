"""For all tests: the same examples every time, patience with a busy machine, commands that hear Ctrl-C."""

import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "headrace", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("headrace")

# Started in the background by a shell, this process ignores Ctrl-C, and so would every command it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
