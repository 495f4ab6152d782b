"""The registry of endpoints is read once, and again after each change, whichever process made it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import URL
from tests.servers.site import Site, started_site

from headrace.api.settings import Settings
from headrace.api.sites.endpoints import Endpoints
from headrace.client import models as m

pytestmark = pytest.mark.anyio


@pytest.fixture
async def site(each_store: URL, tmp_path: Path) -> AsyncIterator[Site]:
    plain = each_store.set(drivername="postgresql").render_as_string(hide_password=False)
    settings = Settings(database="" if each_store.get_backend_name() == "sqlite" else plain)
    async with started_site(tmp_path, settings) as site:
        await site.start_both()
        yield site


async def test_another_process_reads_the_registry_again_after_each_change_and_else_keeps_it(site: Site) -> None:
    core, own = site.service.whole.core, site.use_cases.endpoints
    other = Endpoints(core, site.use_cases.nodes)

    async def read() -> tuple[object, dict[str, tuple[str, ...]]]:
        async with core.database.read() as tx:
            known, its = await other.registry(tx), await own.registry(tx)
        assert known == its
        return known, {one.id: one.aliases for one in known}

    first, names = await read()
    assert {"lab", "archive"} <= set(names)
    assert (await read())[0] is first
    await site.ada.port.update_endpoint("lab", m.EndpointUpdate(aliases=["bench"]))
    assert (await read())[1]["lab"] == ("bench",)
    assert (await site.ada.ask("copy Bench:/set to archive:/set")).state is not m.PlanState.ASK
    await site.ada.port.update_endpoint("bench", m.EndpointUpdate(id="lab 2", aliases=[]))
    assert (await read())[1]["lab 2"] == ()
    asked = await site.ada.ask("copy bench:/set to archive:/set")
    assert asked.state is m.PlanState.ASK
    [node] = [one for one in (await site.ada.port.nodes()).items if one.name == "right"]
    await site.ada.port.revoke_node(node.id)
    assert "archive" not in (await read())[1]
