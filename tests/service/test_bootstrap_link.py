"""The file of the one-time link is there for as long as its link can be used."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.servers.site import PASSWORD, Site, started_site

from headrace.api.app.answering import bootstrap
from headrace.api.app.service import Service
from headrace.api.data_folder import BOOTSTRAP_LINK
from headrace.api.settings import Settings
from headrace.client import models as m

pytestmark = pytest.mark.anyio


async def test_the_file_is_gone_once_the_first_administrator_has_signed_up(tmp_path: Path) -> None:
    settings = replace(Settings(), data=tmp_path / "service", hub_listen="127.0.0.1:0")
    service = await Service.start(settings, public_url="http://127.0.0.1")
    try:
        path = await bootstrap(service, recover=False)
        assert path == settings.data / BOOTSTRAP_LINK
        token = path.read_text(encoding="utf-8").strip().partition("#")[2]
        people = service.whole.use_cases.people
        await people.accept_invitation(m.AcceptInvitation(token=token, password=PASSWORD, name="ada"), "127.0.0.1")
        assert not path.exists()
    finally:
        await service.close()


async def test_the_file_of_one_who_recovers_stays_while_others_come_in_by_links_of_their_own(tmp_path: Path) -> None:
    async with started_site(tmp_path) as site:
        path = await bootstrap(site.service, recover=True)
        assert path is not None
        await site.person("bob", "requester")
        link = path.read_text(encoding="utf-8").strip()
        await accepted(site, link)
        assert not path.exists()


async def accepted(site: Site, link: str) -> None:
    await site.accept(link, "another administrator")
