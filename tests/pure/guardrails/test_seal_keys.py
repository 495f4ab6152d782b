import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from headrace.guardrails import SealCode, SealError, SigningKey, seal, verify


def test_a_key_is_made_once_and_loaded_ever_after(tmp_path: Path) -> None:
    path = tmp_path / "key"
    made = SigningKey.load_or_create(path)
    loaded = SigningKey.load_or_create(path)
    assert made.public == loaded.public
    assert verify(seal("plan", {}, made).text, "plan", {loaded.public})


def test_only_its_owner_may_read_the_key_file(tmp_path: Path) -> None:
    path = tmp_path / "key"
    SigningKey.load_or_create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [found.name for found in tmp_path.iterdir()] == ["key"]


def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    SigningKey.load_or_create(path)
    path.chmod(0o640)
    with pytest.raises(SealError, match="chmod 600") as refused:
        SigningKey.load_or_create(path)
    assert refused.value.code == SealCode.KEY_FILE_UNSAFE


def test_a_link_in_place_of_the_key_file_is_not_followed(tmp_path: Path) -> None:
    SigningKey.load_or_create(tmp_path / "real")
    (tmp_path / "key").symlink_to(tmp_path / "real")
    with pytest.raises(OSError, match="symbolic links"):
        SigningKey.load_or_create(tmp_path / "key")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a key",
        X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    ],
    ids=["empty", "text", "another kind of key"],
)
def test_a_file_without_an_ed25519_key_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(SealError) as refused:
        SigningKey.load_or_create(path)
    assert refused.value.code == SealCode.KEY_FILE_UNREADABLE
    assert path.read_bytes() == content


def test_a_key_shows_only_its_public_half() -> None:
    key = SigningKey.from_seed(b"s" * 32)
    assert repr(key) == f"SigningKey({key.public})"
