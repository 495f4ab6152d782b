import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from tests.browser.house import SESSIONS_SUFFICE, STEP_LIMIT_MS, House, open_house

expect.set_options(timeout=STEP_LIMIT_MS)


@pytest.fixture(scope="module")
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One site for a module, with the service's settings that the module names; else nobody need prove anything."""
    folder = tmp_path_factory.mktemp("house")
    with open_house(folder, settings=getattr(request.module, "SETTINGS", SESSIONS_SUFFICE)) as opened:
        yield opened
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def no_complaints(house: House) -> Iterator[None]:
    """No page writes an error to its console or asks anybody but the service."""
    house.complaints.clear()
    yield
    house.proxy.silent = False
    if house.away:
        house.bring_the_service_back()
    for context in house.browser.contexts:
        context.close()
    assert house.complaints == []
