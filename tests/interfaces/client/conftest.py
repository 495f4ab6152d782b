from collections.abc import Iterator

import pytest
from tests.interfaces.client.scripted import Script, scripted_service


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted_service() as script:
        yield script
