"""An authority key in a PKCS#11 token (a hardware module, or SoftHSM): it signs there and never leaves it."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, cast
from urllib.parse import unquote

import pkcs11
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pkcs11 import Attribute, Mechanism, ObjectClass

from headrace.api.errors import CannotStart, KeyUnusable
from headrace.api.settings import SettingError
from headrace.guardrails import SealError, SigningKey, read_private_file

_PROBE: Final = b"headrace: does this key sign?"
_KEY_BYTES: Final = 32
_NAMES: Final = frozenset({"token", "object", "module-path", "pin-source"})


@dataclass(frozen=True, slots=True)
class _Place:
    """What a `pkcs11:` URI (RFC 7512) says."""

    token: str
    object: str
    module: str
    pin_file: Path

    @classmethod
    def parse(cls, uri: str, what: str) -> "_Place":
        path, _, query = uri.removeprefix("pkcs11:").partition("?")
        pairs = [part.partition("=") for part in (*path.split(";"), *query.split("&")) if part]
        said = {name: unquote(value) for name, _, value in pairs}
        # A PIN in a setting would stand in the environment, and in units that everybody may read.
        if said.keys() != _NAMES or not all(said.values()):
            message = (
                f"`{what}` is not understood; write "
                "`pkcs11:token=NAME;object=LABEL?module-path=/PATH&pin-source=/FILE`, "
                "with the PIN in a file of mode 0600 (no `pin-value`)"
            )
            raise SettingError(message)
        pin_file = Path(said["pin-source"].removeprefix("file://").removeprefix("file:"))
        return cls(said["token"], said["object"], said["module-path"], pin_file)


class _Signing(Protocol):
    """A private key of a token, as far as it is used here."""

    def sign(self, data: bytes, *, mechanism: Mechanism) -> bytes: ...


class _TokenKey:
    """A private key in a token. After any failure the module is begun anew, once a signature: it holds on to tokens."""

    def __init__(self, place: _Place) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._refused_pin: str | None = None
        self._key, self.public = self._open()

    def sign(self, message: bytes) -> bytes:
        with self._lock:
            try:
                return self._signed(message)
            except pkcs11.PKCS11Error:
                pass
            try:
                self._key, public = self._open(anew=True)
                if public != self.public:
                    raise _unusable(self._place, "it holds another key than before")
                return self._signed(message)
            except (CannotStart, SealError, OSError, pkcs11.PKCS11Error) as error:
                raise KeyUnusable(str(error) or _said(error)) from error

    def _signed(self, message: bytes) -> bytes:
        return self._key.sign(message, mechanism=Mechanism.EDDSA)

    def _open(self, *, anew: bool = False) -> tuple["_Signing", bytes]:
        place = self._place
        pin = read_private_file(place.pin_file).decode(errors="replace").strip()
        if pin == self._refused_pin:
            # A token locks itself after some wrong ones.
            raise _unusable(place, f"it refused the PIN in `{place.pin_file}`; write the right one there")
        try:
            module = pkcs11.lib(place.module)
            if anew:
                module.reinitialize()
            token = module.get_token(token_label=place.token)
            try:
                session = token.open(user_pin=pin)
            except pkcs11.UserAlreadyLoggedIn:  # counts for all sessions of a process
                session = token.open()
            private = cast("_Signing", session.get_key(object_class=ObjectClass.PRIVATE_KEY, label=place.object))
            public = session.get_key(object_class=ObjectClass.PUBLIC_KEY, label=place.object)
            # The point alone, or as a DER octet string: modules differ.
            point = bytes(public[Attribute.EC_POINT])[-_KEY_BYTES:]
            signature = private.sign(_PROBE, mechanism=Mechanism.EDDSA)
            Ed25519PublicKey.from_public_bytes(point).verify(signature, _PROBE)
        except pkcs11.PinIncorrect as error:
            self._refused_pin = pin
            raise _unusable(place, _said(error)) from error
        except InvalidSignature as error:
            raise _unusable(place, "its private and public key do not belong together") from error
        except (pkcs11.PKCS11Error, RuntimeError, ValueError) as error:
            raise _unusable(place, _said(error)) from error
        return private, point


def open_key(uri: str, what: str) -> SigningKey:
    """Return the key that a `pkcs11:` URI names; `what` is the setting that holds it.

    Raises `SettingError` for another URI, `CannotStart` when module, token or key can't be used, `SealError` when
    others may read the file of the PIN.
    """
    key = _TokenKey(_Place.parse(uri, what))
    return SigningKey(key.public, key.sign)


def _unusable(place: _Place, why: str) -> CannotStart:
    return CannotStart(
        f"the authority key `{place.object}` in the token `{place.token}` (module `{place.module}`) can't be used: "
        f"{why}"
    )


def _said(error: Exception) -> str:
    return " ".join((type(error).__name__, *map(str, error.args[:1]))).strip()
