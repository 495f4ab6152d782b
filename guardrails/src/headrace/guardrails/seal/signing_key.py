"""The service's own key: made on first use, kept in one file that nobody else may read."""

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from headrace.guardrails.errors import SealCode, SealError
from headrace.guardrails.seal.documents import encode, signature_input

_MAX_FILE_BYTES: Final = 4096


class SigningKey:
    """An Ed25519 key that signs documents. `public` is its id everywhere: `ed25519:<base64url>`."""

    __slots__ = ("_sign", "public")

    def __init__(self, public: bytes, sign: Callable[[bytes], bytes]) -> None:
        """Take the 32 bytes of the public half, and what signs a message, wherever the private half is."""
        self._sign = sign
        self.public = "ed25519:" + encode(public)

    @classmethod
    def from_seed(cls, seed: bytes) -> "SigningKey":
        """Make the key that 32 bytes of seed determine; raises `ValueError` for another length."""
        return cls._of(Ed25519PrivateKey.from_private_bytes(seed))

    @classmethod
    def _of(cls, private: Ed25519PrivateKey) -> "SigningKey":
        return cls(private.public_key().public_bytes_raw(), private.sign)

    @classmethod
    def load_or_create(cls, path: Path) -> "SigningKey":
        """Load the key (PKCS #8 PEM) from `path`, or make one there (0600, durable, never over an existing file).

        Raises `SealError`: `key_file_unsafe` when it is no plain file or others may read it, `key_file_unreadable` when
        it holds no Ed25519 key; `OSError` as the system says.
        """
        with suppress(FileExistsError):
            if not path.exists():
                _create(path)
        return cls.load(path)

    @classmethod
    def load(cls, path: Path, *, shared_with_group: bool = False) -> "SigningKey":
        """Load the key (PKCS #8 PEM) from a file that is there; raises as `load_or_create` does.

        `shared_with_group`: its group may read it, too. systemd's credentials look like that.
        """
        return cls.from_pem(read_private_file(path, shared_with_group=shared_with_group), path)

    @classmethod
    def from_pem(cls, text: bytes, path: Path) -> "SigningKey":
        """Take the key (PKCS #8 PEM) that the text of `path` is; raises `SealError` (`key_file_unreadable`)."""
        return cls._of(_key_of(path, text))

    def sign(self, type: str, body: bytes) -> str:  # noqa: A002 - the word of the format
        """Sign a body under its document type; the signature in base64url without padding."""
        return encode(self._sign(signature_input(type, body)))

    def __repr__(self) -> str:
        """Show the public half only."""
        return f"SigningKey({self.public})"


def read_private_file(path: Path, *, shared_with_group: bool = False) -> bytes:
    """Read at most 4 KiB of a file that nobody else may read; raises `SealError` (`key_file_unsafe`), `OSError`."""
    others = 0o037 if shared_with_group else 0o077
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_mode & others or status.st_uid not in {os.geteuid(), 0}:
            raise SealError(
                SealCode.KEY_FILE_UNSAFE,
                f"`{path}` must be a plain file of this account that nobody else may read (chmod 600)",
            )
        return file.read(_MAX_FILE_BYTES)


def _key_of(path: Path, text: bytes) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(text, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SealError(SealCode.KEY_FILE_UNREADABLE, f"`{path}` holds no private key in PEM form") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SealError(SealCode.KEY_FILE_UNREADABLE, f"`{path}` holds a key that is not Ed25519")
    return key


def _create(path: Path) -> None:
    """Write a new key under a temporary name and link it, so that `path` is whole or absent and never replaced."""
    text = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    descriptor, temporary = tempfile.mkstemp(prefix=".key-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        Path(temporary).unlink()
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
