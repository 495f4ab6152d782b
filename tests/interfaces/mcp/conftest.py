import pytest


@pytest.fixture(params=["auto", "legacy"], ids=["2026-07-28", "2025-11-25"])
def era(request: pytest.FixtureRequest) -> str:
    """How a client connects: without sessions as of 2026-07-28, or with the handshake of 2025-11-25."""
    return str(request.param)
