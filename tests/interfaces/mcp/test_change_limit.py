"""An assistant in a loop is told over MCP that it is one, and when it is heard again."""

from collections.abc import Iterator

import pytest
from tests.interfaces.mcp.test_service import SCOPES, data, refusal, remote, token
from tests.servers.headrace import Service, serving

pytestmark = pytest.mark.anyio

MOST = 5


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("headrace"), changes_per_minute_of_one=MOST) as service:
        yield service


async def test_an_assistant_in_a_loop_is_told_when_to_try_again_and_looks_on(service: Service, era: str) -> None:
    person = service.person(f"anna-{era}", "requester")
    async with remote(service, token(person, *SCOPES), era) as client:
        for _ in range(MOST):
            await data(client, "browse_endpoint", endpoint="src", path="/")
        for _ in range(3):
            said = await refusal(client, "browse_endpoint", endpoint="src", path="/")
            assert "Nothing was done. Try again in " in said
            assert "(code: too_many_changes)" in said
        assert (await data(client, "list_endpoints"))["endpoints"]
