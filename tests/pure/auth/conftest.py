from collections.abc import Iterator

import pytest
from tests.pure.auth.documents import Documents, served


@pytest.fixture(scope="module")
def documents() -> Iterator[Documents]:
    with served() as found:
        yield found


@pytest.fixture
def anew(documents: Documents) -> Documents:
    documents.__dict__.update({**Documents().__dict__, "url": documents.url})
    return documents
