"""A request with several mistakes is told all of them, whichever comes first."""

from typing import Annotated

import pytest
from fastapi import Body, FastAPI, Path, Query
from fastapi.testclient import TestClient

from headrace.api.http.answers import install


@pytest.fixture
def client() -> TestClient:
    """Return a client of one route with an id, a query and a body."""
    app = FastAPI()
    install(app)

    @app.post("/things/{thing}")
    async def change(
        thing: Annotated[str, Path(max_length=5)],
        limit: Annotated[int, Query(le=9)],
        body: Annotated[dict[str, int], Body()],
    ) -> None:
        del thing, limit, body

    return TestClient(app, raise_server_exceptions=False)


def test_a_body_that_is_missing_beside_another_mistake_is_named(client: TestClient) -> None:
    answer = client.post("/things/too-long?limit=10")
    assert answer.status_code == 422
    assert "body" in answer.json()["fields"]
    assert "limit" in answer.json()["fields"]
