"""The authority key from its places; a data folder is never served with another key than its own."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pkcs11
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.servers.site import Site, started_site
from tests.service.refusals import refused
from tests.service.test_transfers import SLOW_BPS, large_set, until

from headrace.api.authority_key import AuthorityKey, authority_key, key_chain
from headrace.api.errors import CannotStart, KeyUnusable
from headrace.api.key_chain import KeyChain
from headrace.api.pkcs11_key import _Place, _TokenKey
from headrace.api.settings import SettingError, Settings
from headrace.client import models as m
from headrace.guardrails import SealCode, SealError, SigningKey, seal, verify

PIN = "471147114711"
MODULE = "/usr/lib/softhsm/libsofthsm2.so"


def key_file(path: Path) -> Path:
    """Write a new key into a file of mode 0600."""
    text = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.touch(0o600)
    path.write_bytes(text)
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder of a software token that holds a key, which also is in `authority.pem` there."""
    # The module reads its settings once a process.
    folder = tmp_path_factory.mktemp("token")
    (folder / "tokens").mkdir()
    (folder / "softhsm2.conf").write_text(f"directories.tokendir = {folder}/tokens\nlog.level = ERROR\n")
    (folder / "pin").touch(0o600)
    (folder / "pin").write_text(f"{PIN}\n")
    key_file(folder / "authority.pem")
    made = ["--init-token", "--free", "--label", "headrace", "--so-pin", PIN, "--pin", PIN]
    taken = ["--import", f"{folder}/authority.pem", "--token", "headrace", "--label", "authority", "--id", "01"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOFTHSM2_CONF", f"{folder}/softhsm2.conf")
        for command in (made, [*taken, "--pin", PIN]):
            subprocess.run(["softhsm2-util", *command], check=True, capture_output=True, timeout=30)
        yield folder


def uri(folder: Path, **other: str) -> str:
    said = {"token": "headrace", "object": "authority", "module-path": MODULE, "pin-source": f"{folder}/pin"} | other
    return "pkcs11:token={token};object={object}?module-path={module-path}&pin-source={pin-source}".format(**said)


def opened(data: Path, place: str, environment: Mapping[str, str] | None = None) -> SigningKey:
    return authority_key(Settings(data=data, authority_key=place), environment or {})


@pytest.mark.anyio
async def test_a_service_signs_with_a_key_that_never_leaves_its_token(tmp_path: Path, token: Path) -> None:
    async with started_site(tmp_path, Settings(authority_key=uri(token))) as site:
        await site.start_both()
        (site.lab / "set").mkdir()
        (site.lab / "set" / "a.dat").write_text("a")
        ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/set")))
        assert ended.state is m.TransferState.COMPLETE
        public = SigningKey.load(token / "authority.pem").public
        receipt = await site.ada.port.receipt(ended.id)
        assert verify(receipt.document, "receipt", [public])
        assert not (site.folder / "service" / "authority.key").exists()
        await site.restart()
        assert key_chain(site.folder / "service") == KeyChain(public)


async def key_causes(site: Site) -> list[str]:
    """What health says of the key, which is tried again when it failed a while ago."""
    site.clock.shift += timedelta(seconds=3)
    return [one.sentence for one in (await site.ada.port.health()).causes if one.code is m.HealthCode.KEY_UNUSABLE]


@pytest.mark.anyio
async def test_what_is_under_way_waits_for_a_token_that_is_gone_and_goes_on_when_it_is_back(
    tmp_path: Path, token: Path
) -> None:
    async with started_site(tmp_path, Settings(authority_key=uri(token))) as site:
        await site.start_both()
        large_set(site)
        slow = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/slow", rate_limit_bps=SLOW_BPS))
        ready = await site.ada.plan("lab:/set", "archive:/ready")
        await until(site, slow, "running")
        (token / "tokens").rename(token / "away")
        with refused("key_unusable") as told:
            await site.ada.submit(ready)
        assert "headrace health" in told.value.problem.detail
        assert "softhsm" not in told.value.problem.detail
        assert "token `headrace`" in (await key_causes(site))[0]
        unplanned = await site.ada.plan("lab:/set", "archive:/other")
        assert [one.rule for one in unplanned.refusals] == ["key_unusable"]
        await site.ada.port.control(slow.id, m.ControlRequest(action="pause"))
        await until(site, slow, "paused")
        (token / "pin").write_text("000000000000")
        (token / "away").rename(token / "tokens")
        with refused("key_unusable"):
            await site.ada.submit(ready)
        for _ in range(2):
            assert "it refused the PIN" in (await key_causes(site))[0]
        await site.ada.port.control(slow.id, m.ControlRequest(action="resume"))
        await until(site, slow, "waiting", reason="authority key")
        (token / "pin").write_text(PIN)
        assert await key_causes(site) == []
        await until(site, slow, "running")
        assert (await site.ada.end_of(await site.ada.submit(ready))).state is m.TransferState.COMPLETE


def test_a_key_of_a_token_signs_as_the_same_key_in_a_file(data: Path, token: Path) -> None:
    in_token, in_file = opened(data, uri(token)), SigningKey.load(token / "authority.pem")
    assert seal("plan", {"a": "1"}, in_token).text == seal("plan", {"a": "1"}, in_file).text


def test_a_key_comes_from_a_file_or_as_a_credential_of_systemd(data: Path, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    path = key_file(tmp_path / "given" / "authority")
    in_file = opened(data, str(path))
    # What systemd gives to a service with an account of its own: a file of root, whose ACL shows as the group's right.
    path.chmod(0o440)
    environment = {"CREDENTIALS_DIRECTORY": str(path.parent)}
    assert opened(data, "credential:authority", environment).public == in_file.public
    with pytest.raises(SealError) as unsafe:
        opened(data, str(path))
    assert unsafe.value.code == SealCode.KEY_FILE_UNSAFE
    path.chmod(0o444)
    with pytest.raises(SealError):
        opened(data, "credential:authority", environment)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("credential:authority", "LoadCredential=authority:PATH"),
        ("pkcs11:token=headrace;object=authority?module-path=/x", "pkcs11:token=NAME"),
        ("pkcs11:token=headrace;object=authority?module-path=/x&pin-value=1234", "no `pin-value`"),
        ("pkcs11:token=headrace;object=authority?module-path=/x&pin-source=/p&pin-value=1234", "no `pin-value`"),
    ],
)
def test_a_place_that_cannot_be_is_said_with_what_to_write(data: Path, place: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        opened(data, place)


@pytest.mark.parametrize("name", ["../authority", ".", ""])
def test_a_credential_is_a_file_of_its_folder(data: Path, name: str) -> None:
    with pytest.raises(SettingError, match="LoadCredential"):
        opened(data, f"credential:{name}", {"CREDENTIALS_DIRECTORY": str(data)})


def test_a_token_that_cannot_be_used_is_said_by_name(data: Path, token: Path) -> None:
    for other in ({"token": "away"}, {"object": "away"}, {"module-path": "/nowhere.so"}):
        with pytest.raises(CannotStart, match="can't be used"):
            opened(data, uri(token, **other))
    (token / "open").touch(0o600)
    (token / "open").write_text(PIN)
    (token / "open").chmod(0o644)
    with pytest.raises(SealError, match="nobody else may read"):
        opened(data, uri(token, **{"pin-source": f"{token}/open"}))


def test_a_session_that_the_token_ended_is_opened_anew(token: Path) -> None:
    held = _TokenKey(_Place.parse(uri(token), "the setting"))
    held._key.session.close()  # type: ignore[attr-defined] # noqa: SLF001 - as a token does that is reset
    Ed25519PublicKey.from_public_bytes(held.public).verify(held.sign(b"again"), b"again")


def test_halves_that_are_no_pair_are_not_taken_for_a_key(data: Path, token: Path) -> None:
    for name, number in (("mixed", "02"), ("other", "03")):
        key_file(token / f"{name}.pem")
        taken = ["--import", f"{token}/{name}.pem", "--token", "headrace", "--label", name, "--id", number]
        subprocess.run(["softhsm2-util", *taken, "--pin", PIN], check=True, capture_output=True, timeout=30)
    held = pkcs11.lib(MODULE).get_token(token_label="headrace")  # noqa: S106 - a name
    try:
        session = held.open(rw=True, user_pin=PIN)
    except pkcs11.UserAlreadyLoggedIn:
        session = held.open(rw=True)
    session.get_key(object_class=pkcs11.ObjectClass.PUBLIC_KEY, label="mixed").destroy()
    session.get_key(object_class=pkcs11.ObjectClass.PUBLIC_KEY, label="other").copy({pkcs11.Attribute.LABEL: "mixed"})
    with pytest.raises(CannotStart, match="do not belong together"):
        opened(data, uri(token, object="mixed"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file to another account")
def test_a_key_file_of_another_account_is_refused(data: Path, tmp_path: Path) -> None:
    path = key_file(tmp_path / "authority")
    os.chown(path, 4711, -1)
    with pytest.raises(SealError) as refused:
        opened(data, str(path))
    assert refused.value.code == SealCode.KEY_FILE_UNSAFE


def test_a_wrong_pin_is_said_and_not_shown(token: Path) -> None:
    (token / "wrong").touch(0o600)
    (token / "wrong").write_text("000000000000")
    # In a process of its own: a token that another test has opened asks for no PIN.
    opening = "import sys; from headrace.api.pkcs11_key import open_key; open_key(sys.argv[1], 'the setting')"
    place = uri(token, **{"pin-source": f"{token}/wrong"})
    ended = subprocess.run([sys.executable, "-c", opening, place], check=False, capture_output=True, timeout=60)
    said = (ended.stdout + ended.stderr).decode()
    assert "the authority key `authority` in the token `headrace`" in said
    assert "can't be used: PinIncorrect" in said
    assert "000000000000" not in said


def test_a_data_folder_is_not_served_with_another_key(data: Path, tmp_path: Path) -> None:
    own = opened(data, "")
    with pytest.raises(CannotStart, match="nodes would refuse every ticket"):
        opened(data, str(key_file(tmp_path / "other")))
    (data / "authority.key").rename(tmp_path / "moved")
    assert opened(data, str(tmp_path / "moved")).public == own.public
    with pytest.raises(FileNotFoundError):
        opened(data, "")


def test_a_use_that_fails_late_does_not_hide_that_the_key_works_again(data: Path) -> None:
    now = datetime.now(UTC)

    class Late:
        """Fails to sign `late`, but only after something else was signed."""

        public = SigningKey.load_or_create(data / "key").public
        inner = SigningKey.load_or_create(data / "key")

        def sign(self, type: str, body: bytes) -> str:  # noqa: A002 - the word of the format
            if type == "late":
                assert authority.sign("plan", b"{}")
            if type != "plan":
                raise KeyUnusable("nobody answered")  # noqa: EM101, TRY003 - a test's own
            return self.inner.sign(type, body)

    authority = AuthorityKey(Late(), lambda: now, None)
    with pytest.raises(KeyUnusable):
        authority.sign("late", b"{}")
    assert authority.trouble is None
    with pytest.raises(KeyUnusable):
        authority.sign("now", b"{}")
    assert authority.trouble is not None
