from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.servers.site import Site, started_site
from tests.servers.stores import each_store, postgres, store_of_sites

__all__ = ["each_store", "postgres", "store_of_sites"]


@pytest.fixture
async def quiet_site(tmp_path: Path) -> AsyncIterator[Site]:
    """A service without nodes."""
    async with started_site(tmp_path) as site:
        yield site


@pytest.fixture
async def site(quiet_site: Site) -> Site:
    """A service with two nodes attached."""
    await quiet_site.start_both()
    return quiet_site
