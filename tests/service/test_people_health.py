"""What health says of signing in elsewhere: an issuer that is away, a lost setting, a broken mapper, clocks."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.pure.auth.documents import served
from tests.servers.private import private
from tests.servers.site import Site, started_site

from headrace.api.app.service import Service
from headrace.api.errors import CannotStart
from headrace.api.settings import SettingError, Settings
from headrace.auth import AuthError
from headrace.auth.oidc_claims import Vouched
from headrace.auth.oidc_provider import REFUSED_FOR
from headrace.client import models as m

pytestmark = pytest.mark.anyio

NOWHERE = "http://127.0.0.1:1"


def declared(folder: Path, url: str) -> Settings:
    """The settings of a site that knows a provider by a file; nobody there is watched."""
    private(folder / "client.secret", "of a client\n")
    file = folder / "issuers.toml"
    lines = ('id = "corp"', 'name = "Corp"', f'url = "{url}"', 'client_id = "headrace"')
    file.write_text("\n".join(["[[issuer]]", *lines, 'client_secret_file = "client.secret"']), encoding="utf-8")
    return Settings(oidc_issuers=str(file))


async def told(site: Site, code: str) -> list[m.HealthCause]:
    health = await site.ada.port.health()
    found = [one for one in health.causes if one.code == code]
    assert not found or health.status == "degraded"
    return found


async def looked(site: Site) -> None:
    for _, look in site.use_cases.people.looks_at_issuers():
        await look()


async def arrived(site: Site, url: str, name: str, *groups: str) -> None:
    found = Vouched(
        issuer=url, subject=name, name=name, groups=frozenset(groups), factors=frozenset(), at=site.clock(),
        says_when=True, sid=None, acr=None, refresh_token=None,
    )  # fmt: skip
    await site.use_cases.people._auth.oidc.arrive(found)  # noqa: SLF001 - as if the provider had sent them back


async def bind(site: Site, url: str) -> None:
    await site.bind(m.GroupBinding(issuer=url, group="staff", roles=["requester"]))


async def test_a_provider_that_is_away_is_told_while_nobody_is_known_and_no_longer_when_it_is_back(
    tmp_path: Path,
) -> None:
    with served() as documents:
        url = documents.url
        async with started_site(tmp_path, declared(tmp_path, url)) as site:
            names = [name for name in site.service.whole.core.jobs._duties if "sign in" in name]  # type: ignore[attr-defined] # noqa: SLF001
            assert names == [f"look whether people can sign in at {url}"]
            await looked(site)
            assert await told(site, "sign_in_unavailable") == []
            documents.changed = {"issuer": "https://other.example"}
            site.clock.shift += timedelta(hours=2)
            await looked(site)
            [away] = await told(site, "sign_in_unavailable")
            assert away.sentence.startswith(f"nobody can sign in at `{url}`: ")
            assert "headrace auth check" in away.what_to_do
            text = (await site.use_cases.metrics.text()).decode()
            assert 'headrace_health_cause{code="sign_in_unavailable"} 1.0' in text
            documents.changed = {}
            site.clock.shift += timedelta(minutes=1)
            await looked(site)
            assert await told(site, "sign_in_unavailable") == []


async def test_a_service_that_starts_while_the_provider_is_away_says_so_in_words(tmp_path: Path) -> None:
    async with started_site(tmp_path, declared(tmp_path, NOWHERE)) as site:
        await looked(site)
        [away] = await told(site, "sign_in_unavailable")
        assert NOWHERE in away.sentence
        assert not away.sentence.rstrip().endswith(":")


async def test_a_client_that_the_provider_refuses_is_told_from_a_sign_in_on_for_a_day(tmp_path: Path) -> None:
    with served() as documents:
        async with started_site(tmp_path, declared(tmp_path, documents.url)) as site:
            people = site.use_cases.people
            begun = await people.begin_at("corp", "/")
            documents.answers["/token"] = (401, {"error": "invalid_client"})
            state = begun.url.partition("state=")[2].partition("&")[0]
            with pytest.raises(AuthError):
                await people.come_back("corp", begun.kept, {"code": "c", "state": state}, "10.0.0.1")
            [away] = await told(site, "sign_in_unavailable")
            assert "invalid_client (`client_id` or its secret is wrong" in away.sentence
            site.clock.shift += REFUSED_FOR
            assert await told(site, "sign_in_unavailable") == []


@pytest.mark.parametrize(("ahead", "words"), [(timedelta(hours=-3), "ahead of"), (timedelta(hours=3), "behind")])
async def test_a_clock_that_differs_from_the_providers_is_told_with_which_is_ahead(
    tmp_path: Path, ahead: timedelta, words: str
) -> None:
    with served() as documents:
        async with started_site(tmp_path, declared(tmp_path, documents.url)) as site:
            await looked(site)
            assert await told(site, "clock_differs") == []
            site.clock.jump = ahead
            await looked(site)
            [cause] = await told(site, "clock_differs")
            assert f"s {words} this host's" in cause.sentence
            site.clock.jump = timedelta()
            await looked(site)
            assert await told(site, "clock_differs") == []


async def test_people_whose_setting_is_lost_are_counted_until_it_is_back_or_they_are_disabled(tmp_path: Path) -> None:
    with served() as documents:
        url = documents.url
        async with started_site(tmp_path, declared(tmp_path, url)) as site:
            await bind(site, url)
            for name in ("pia", "rob"):
                await arrived(site, url, name, "staff")
            assert await told(site, "leavers_unseen") == []
            pia, rob = [one for one in await site.ada.port.people() if one.name in {"pia", "rob"}]
            site.settings = replace(site.settings, oidc_issuers="")
            await site.restart()
            [cause] = await told(site, "leavers_unseen")
            assert cause.sentence.startswith(f"2 people of `{url}` can't sign in there")
            assert "HEADRACE_OIDC_ISSUERS" in cause.what_to_do
            await site.ada.port.disable_person(pia.id)
            [cause] = await told(site, "leavers_unseen")
            assert cause.sentence.startswith(f"1 person of `{url}`")
            await site.ada.port.disable_person(rob.id)
            assert await told(site, "leavers_unseen") == []


async def test_several_people_who_lose_their_last_role_by_signing_in_are_told_until_they_have_one_again(
    tmp_path: Path,
) -> None:
    with served() as documents:
        url = documents.url
        async with started_site(tmp_path, declared(tmp_path, url)) as site:
            await bind(site, url)
            names = ("pia", "rob", "zoe")
            for name in names:
                await arrived(site, url, name, "staff")
            for number, name in enumerate(names):
                assert await told(site, "access_lost") == [], number
                with pytest.raises(AuthError):
                    await arrived(site, url, name)
            await site.restart()
            [cause] = await told(site, "access_lost")
            assert cause.sentence.startswith(f"3 people of `{url}` have lost their last role by signing in")
            with pytest.raises(AuthError):
                await arrived(site, url, "pia")
            assert len(await told(site, "access_lost")) == 1
            await arrived(site, url, "pia", "staff")
            assert await told(site, "access_lost") == []


async def test_a_start_that_has_lost_what_protected_the_last_one_says_so_once(tmp_path: Path) -> None:
    with served() as documents:
        async with started_site(tmp_path, declared(tmp_path, documents.url), proof="password") as site:
            assert [one.detail for one in await site.audited("service_started")] == [{}]
            site.settings = replace(site.settings, oidc_issuers="", consent_proof="session")
            await site.restart()
            weaker = (await site.audited("service_started"))[-1].detail["weaker"]
            assert "HEADRACE_OIDC_ISSUERS is not set, and was at the last start" in weaker
            assert "HEADRACE_CONSENT_PROOF is `session`, and was `password`" in weaker
            await site.restart()
            assert (await site.audited("service_started"))[-1].detail == {}


async def test_files_of_settings_are_read_before_anything_is_made_in_the_data_folder(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", hub_listen="127.0.0.1:0", directories=str(tmp_path / "gone.toml"))
    with pytest.raises(SettingError, match=r"gone\.toml"):
        await Service.start(settings, public_url="http://127.0.0.1")
    assert not (settings.data / "headrace.sqlite").exists()


async def test_a_folder_whose_store_is_missing_names_the_setting_and_gets_no_fresh_store(quiet_site: Site) -> None:
    await quiet_site.use_cases.audit.export_head()
    await quiet_site.service.close()
    store = quiet_site.settings.data / "headrace.sqlite"
    kept = store.rename(quiet_site.folder / "kept")
    with pytest.raises(CannotStart, match="set HEADRACE_DATABASE"):
        await Service.start(quiet_site.settings, public_url="http://127.0.0.1")
    assert not store.exists()
    kept.rename(store)
    await quiet_site.restart()
