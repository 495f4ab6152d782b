from collections.abc import Iterator

import pytest
from tests.client.scripted import Script, scripted_service


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted_service() as script:
        yield script
