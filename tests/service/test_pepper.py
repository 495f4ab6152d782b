"""The key under which secrets are hashed and sealed is replaced: what is from before goes on, or ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.servers.site import PASSWORD, Site, started_site
from typer.testing import CliRunner

from headrace.api import durable
from headrace.api.app import pepper
from headrace.api.errors import CannotStart
from headrace.auth import AuthCode, AuthError
from headrace.client import models as m


@contextmanager
def refused(code: AuthCode) -> Iterator[None]:
    with pytest.raises(AuthError) as error:
        yield
    assert error.value.code is code


def rotated(site: Site, *options: str) -> str:
    done = CliRunner().invoke(pepper.secrets, ["rotate", "--data", str(site.folder / "service"), *options])
    return f"{done.exit_code} {done.output}"


@pytest.mark.anyio
async def test_what_was_made_under_a_key_from_before_goes_on(quiet_site: Site) -> None:
    site = quiet_site
    token, _ = await site.ada.token("transfer:read")
    link = (await site.ada.port.invite(m.InvitationRequest(name="pia", roles=["viewer"]))).link
    for count in (1, 2):
        await site.service.close()
        assert rotated(site, "--json") == f'0 {{"former_keys": {count}}}\n'
        await site.restart()
    people = site.use_cases.people
    assert (await people.of_session(site.ada.secret)).name == "ada"
    assert (await people.of_token(token)).name == "ada"
    assert (await people.sign_in(m.SignIn(name="ada", password=PASSWORD), "127.0.0.1")).secret
    assert (await site.accept(link, None)).principal.name == "pia"
    await people.sign_out(site.ada.secret, "127.0.0.1")
    with refused(AuthCode.NOT_SIGNED_IN):
        await people.of_session(site.ada.secret)


@pytest.mark.anyio
async def test_what_hangs_on_keys_from_before_is_ended_when_that_is_asked_for(quiet_site: Site) -> None:
    site = quiet_site
    token, _ = await site.ada.token("transfer:read")
    await site.service.close()
    assert "have ended" in rotated(site, "--end-former")
    await site.restart()
    people = site.use_cases.people
    with refused(AuthCode.NOT_SIGNED_IN):
        await people.of_session(site.ada.secret)
    with refused(AuthCode.NOT_SIGNED_IN):
        await people.of_token(token)
    with refused(AuthCode.SIGN_IN_REFUSED):
        await people.sign_in(m.SignIn(name="ada", password=PASSWORD), "127.0.0.1")
    again = await people.bootstrap_link(recover=True)
    assert again is not None
    assert (await site.accept(again, "owner")).principal.name == "owner"


@pytest.mark.anyio
async def test_a_rotation_that_is_cut_off_leaves_the_keys_from_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started_site(tmp_path) as site:
        assert "another service" in rotated(site), "it runs"
        await site.service.close()
        before = (tmp_path / "service" / "pepper.key").read_bytes()
        for step in ("write_whole", "sync_folder"):
            with monkeypatch.context() as patch:
                patch.setattr(durable, step, cut_off)
                with pytest.raises(KeyboardInterrupt):
                    pepper._rotate(tmp_path / "service", end_former=False)  # noqa: SLF001 - cut off within
            assert before in (tmp_path / "service" / "pepper.key").read_bytes()
        await site.restart()
        assert (await site.use_cases.people.of_session(site.ada.secret)).name == "ada"


def cut_off(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_file_that_holds_no_keys_is_not_taken_for_keys(tmp_path: Path) -> None:
    (tmp_path / "pepper.key").touch(0o600)
    for content in (b"", b"x" * 31, b"x" * 33, b"x" * 32 * 17):
        (tmp_path / "pepper.key").write_bytes(content)
        with pytest.raises(CannotStart, match="put it back from a backup"):
            pepper.pepper_keys(tmp_path)


@pytest.mark.anyio
async def test_a_service_whose_key_was_lost_does_not_start_until_it_is_back_or_everything_is_ended(
    quiet_site: Site,
) -> None:
    site = quiet_site
    key = site.folder / "service" / "pepper.key"
    await site.service.close()
    aside = key.rename(key.with_name("aside"))
    with pytest.raises(CannotStart, match=r"pepper.key` is missing.*put it back.*--end-former"):
        await site.restart()
    assert not key.exists()
    assert "holds no service" in rotated(site)
    aside.rename(key)
    await site.restart()
    assert (await site.use_cases.people.of_session(site.ada.secret)).name == "ada"
    await site.service.close()
    key.unlink()
    assert "have ended" in rotated(site, "--end-former")
    await site.restart()
    with refused(AuthCode.NOT_SIGNED_IN):
        await site.use_cases.people.of_session(site.ada.secret)
