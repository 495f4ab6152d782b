"""Secrets that are shown once and stored only as keyed hashes: API tokens, sessions, invitation links.

All hold 256 random bits, a prefix that says what they are, and a CRC-32 that tells a typing mistake from a wrong secret
(and lets secret scanners find them). Sessions and links name their person as well: the row that is found by the hash
says so too, and whoever only writes to the database can't make it another person's.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MIN_PEPPER_BYTES: Final = 32
MAX_SEALED: Final = 4000
"""Characters of a text that somebody keeps for this service."""
_NONCE_BYTES: Final = 12

_BASE32: Final = r"[a-z2-7]{52}"
_TOKEN: Final = re.compile(rf"hrt_(?P<id>[0-9a-f]{{16}})_{_BASE32}[0-9a-f]{{8}}")
_SESSION: Final = re.compile(rf"hrs_(?P<person>[0-9A-Za-z_]{{1,40}})_{_BASE32}[0-9a-f]{{8}}")
_INVITATION: Final = re.compile(rf"hri_(?P<person>[0-9A-Za-z_]{{1,40}})_{_BASE32}[0-9a-f]{{8}}")


@dataclass(frozen=True, slots=True)
class MadeSecret:
    """A fresh secret and the id it carries, of the token or of the person; never log `text`."""

    text: str = field(repr=False)
    id: str


class Pepper:
    """The service's key for hashing secrets (HMAC-SHA256): a stolen database alone lets nobody check a guess.

    After a rotation, keys from before still tell what was hashed with them; what is new is hashed with the newest.
    """

    __slots__ = ("_keys",)

    def __init__(self, key: bytes, *former: bytes) -> None:
        """Take at least 32 random bytes each, the newest key first; raises `ValueError` for fewer."""
        self._keys = (key, *former)
        for one in self._keys:
            if len(one) < MIN_PEPPER_BYTES:
                raise ValueError(len(one))

    def hash(self, secret: str) -> str:
        """Lower-case hex HMAC of a secret: what is stored."""
        return self.hashes(secret)[0]

    def hashes(self, secret: str) -> tuple[str, ...]:
        """Return the hash of a secret under each key: as what it may be stored, the newest first."""
        said = secret.encode("utf-8", "surrogatepass")
        return tuple(hmac.new(key, said, hashlib.sha256).hexdigest() for key in self._keys)

    def fits(self, secret: str, stored: str) -> bool:
        """Compare with a stored hash in constant time."""
        given = stored.encode("utf-8", "surrogatepass")
        return any(hmac.compare_digest(hashed.encode("ascii"), given) for hashed in self.hashes(secret))

    def seal(self, purpose: str, fields: Mapping[str, str | int | float]) -> str:
        """Write what somebody else keeps until it is needed again, and can't change; good for this purpose only."""
        payload = base64.urlsafe_b64encode(json.dumps(fields).encode()).decode("ascii").rstrip("=")
        return f"{payload}.{self.hash(f'{purpose}:{payload}')}"

    def unseal(self, purpose: str, text: str) -> dict[str, Any] | None:
        """Read what was sealed for a purpose; `None` for anything else."""
        payload, _, seal = text.partition(".")
        if len(text) > MAX_SEALED or not self.fits(f"{purpose}:{payload}", seal):
            return None
        fields: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return fields

    def hide(self, place: str, secret: str) -> str:
        """Encrypt (AES-256-GCM) a secret that has to be read again; it can be read for this place only."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        hidden = AESGCM(_hiding(self._keys[0])).encrypt(nonce, secret.encode(), place.encode())
        return base64.urlsafe_b64encode(nonce + hidden).decode("ascii")

    def reveal(self, place: str, hidden: str) -> str | None:
        """Read what was hidden for a place; `None` for anything else."""
        try:
            whole = base64.b64decode(hidden, altchars="-_", validate=True)
        except (ValueError, binascii.Error):
            return None
        for key in self._keys:
            try:
                said = AESGCM(_hiding(key)).decrypt(whole[:_NONCE_BYTES], whole[_NONCE_BYTES:], place.encode())
            except (InvalidTag, ValueError):
                continue
            return said.decode()
        return None


def _hiding(key: bytes) -> bytes:
    """Return the key that only encrypts, made from one that hashes."""
    return hmac.new(key, b"headrace/secrets/v1", hashlib.sha256).digest()


def make_token() -> MadeSecret:
    """Make an API token: `hrt_<id>_<secret><crc>`."""
    token_id = secrets.token_hex(8)
    return MadeSecret(_with_crc(f"hrt_{token_id}_{_random()}"), token_id)


def make_session(person: str) -> MadeSecret:
    """Make the secret of a person's session: `hrs_<person>_<secret><crc>`."""
    return MadeSecret(_with_crc(f"hrs_{person}_{_random()}"), person)


def make_invitation(person: str) -> MadeSecret:
    """Make the secret of a person's link: `hri_<person>_<secret><crc>`."""
    return MadeSecret(_with_crc(f"hri_{person}_{_random()}"), person)


def token_id(text: str) -> str | None:
    """Read the id of a well-formed API token; `None` when its form or its CRC is wrong."""
    match = _TOKEN.fullmatch(text)
    return match["id"] if match and _crc_fits(text) else None


def session_person(text: str) -> str | None:
    """Read whose session a well-formed secret is of; `None` when its form or its CRC is wrong."""
    match = _SESSION.fullmatch(text)
    return match["person"] if match and _crc_fits(text) else None


def invitation_person(text: str) -> str | None:
    """Read whose link a well-formed secret is of; `None` when its form or its CRC is wrong."""
    match = _INVITATION.fullmatch(text)
    return match["person"] if match and _crc_fits(text) else None


def _random() -> str:
    return base64.b32encode(secrets.token_bytes(32)).decode("ascii").rstrip("=").lower()


def _with_crc(body: str) -> str:
    return f"{body}{zlib.crc32(body.encode('ascii')):08x}"


def _crc_fits(text: str) -> bool:
    return text == _with_crc(text[:-8])
