"""A passkey that is removed takes with it what it began and what it showed, and nothing else."""

from dataclasses import replace

import pytest
from tests.servers.device import Device
from tests.servers.site import PASSWORD, Person, Site
from tests.service.refusals import refused
from tests.service.test_lives import is_signed_in
from tests.service.test_proofs import added, wanted

from headrace.client import models as m


async def session_by(site: Site, device: Device) -> Person:
    people = site.use_cases.people
    session = await people.sign_in_by_passkey(device.get(people.ask_passkey()), "127.0.0.1")
    return replace(site.ada, principal=await people.of_session(session.secret), secret=session.secret)


async def use(person: Person, device: Device) -> None:
    await person.port.use_passkey(m.Proven(passkey=device.get(await wanted(person.port.use_passkey()))))


@pytest.mark.anyio
async def test_a_session_ends_with_the_passkey_that_began_it_whatever_was_shown_in_it_later(quiet_site: Site) -> None:
    ada, stolen, other = quiet_site.ada, Device(), Device()
    first, _ = [await added(ada, one, m.Proven(password=PASSWORD)) for one in (stolen, other)]
    thief = await session_by(quiet_site, stolen)
    await use(thief, other)
    await ada.port.remove_passkey(first.id, m.Proven(password=PASSWORD))
    assert (await is_signed_in(thief), await is_signed_in(ada)) == (False, True)


@pytest.mark.anyio
async def test_a_session_goes_on_without_another_passkey_than_the_one_that_began_it(quiet_site: Site) -> None:
    ada, mine, other = quiet_site.ada, Device(), Device()
    _, second = [await added(ada, one, m.Proven(password=PASSWORD)) for one in (mine, other)]
    session = await session_by(quiet_site, mine)
    await use(session, other)
    await ada.port.remove_passkey(second.id, m.Proven(password=PASSWORD))
    assert await is_signed_in(session)


@pytest.mark.anyio
@pytest.mark.parametrize("gone", ["passkey", "session"])
async def test_a_passkey_or_session_that_goes_while_it_is_used_shows_nothing(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    device, ada = Device(), quiet_site.ada
    passkey = await added(ada, device, m.Proven(password=PASSWORD))
    sessions = quiet_site.use_cases.passkeys._sessions  # noqa: SLF001 - to act between the proof and what it is for
    strengthen = sessions.strengthen

    async def late(*given: object) -> None:
        if gone == "passkey":
            await ada.port.remove_passkey(passkey.id, m.Proven(password=PASSWORD))
        else:
            await ada.port.end_session(ada.principal.session_id or "")
        await strengthen(*given)  # type: ignore[arg-type] # as they were given

    given = device.get(await wanted(ada.port.use_passkey()))
    before = len(await quiet_site.audited("signed_in"))
    monkeypatch.setattr(sessions, "strengthen", late)
    with refused("not_allowed"):
        await ada.port.use_passkey(m.Proven(passkey=given))
    assert len(await quiet_site.audited("signed_in")) == before
    if gone == "passkey":
        assert "passkey" not in (await quiet_site.use_cases.people.of_session(ada.secret)).factors
