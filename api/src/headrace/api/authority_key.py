"""Where the authority key is kept: in the data folder, in another file, as a systemd credential, or in a PKCS#11 token.

Whichever it is, its public half stands in the data folder, so that a folder is never served with another key by
mistake: nodes would refuse every ticket, and the exported heads of the audit chain would prove nothing.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar

from headrace.api.clock import Clock
from headrace.api.durable import sync_folder, write_whole
from headrace.api.errors import CannotStart, KeyUnusable
from headrace.api.settings import SettingError, Settings
from headrace.guardrails import SigningKey, Signs, canonical

T = TypeVar("T")

_FILE: Final = "authority.key"
_PUBLIC: Final = "authority.pub"
_VARIABLE: Final = "HEADRACE_AUTHORITY_KEY"
_CREDENTIAL: Final = "credential:"
_PKCS11: Final = "pkcs11:"
_CREDENTIALS: Final = "CREDENTIALS_DIRECTORY"
"""Where systemd tells a service that its credentials are."""
_TRY_AGAIN: Final = timedelta(seconds=2)
"""How long a key that failed is left alone by those who only want to know."""
_PROBE: Final = {"probe": "headrace"}


@dataclass(frozen=True, slots=True)
class KeyTrouble:
    """Since when the key can't be used, and why, in words for operators."""

    since: datetime
    why: str


class AuthorityKey:
    """Signs with the authority key, and knows whether it can be used now."""

    def __init__(self, key: Signs, clock: Clock) -> None:
        """Sign with `key`, which raises `KeyUnusable` while it can't be used."""
        self._key = key
        self._clock = clock
        self._trouble: KeyTrouble | None = None
        self._tried = clock()

    @property
    def public(self) -> str:
        """The public half: its id everywhere."""
        return self._key.public

    @property
    def trouble(self) -> KeyTrouble | None:
        """What is the matter with the key; one that failed more than two seconds ago is tried."""
        if self._trouble is not None and abs(self._clock() - self._tried) >= _TRY_AGAIN:
            with suppress(KeyUnusable):
                self.sign("probe", canonical(_PROBE))
        return self._trouble

    def sign(self, type: str, body: bytes) -> str:  # noqa: A002 - the word of the format
        """Sign as `SigningKey` does; raises `KeyUnusable`."""
        return self._watched(lambda: self._key.sign(type, body))

    def _watched(self, use: Callable[[], T]) -> T:
        """Use the key, and note whether it can be used."""
        self._tried = self._clock()
        try:
            made = use()
        except KeyUnusable as error:
            self._trouble = KeyTrouble(self._trouble.since if self._trouble else self._tried, error.why)
            raise
        self._trouble = None
        return made


def authority_key(settings: Settings, environment: Mapping[str, str]) -> SigningKey:
    """Return the authority key from its place; the first start makes one, in the data folder only.

    Raises `SettingError` for a place that can't be, `CannotStart` when the key is not the one of the data folder or a
    token can't be used, `SealError` for a file that holds none or that others may read, `OSError` as the system says.
    """
    known = authority_public(settings.data)  # before the first start makes one
    key = _key(settings, environment)
    _hold(settings.data, known, key.public, str(settings.authority_key or settings.data / _FILE), _VARIABLE)
    return key


def hold_to_its_key(data: Path, public: str, place: str, variable: str) -> None:
    """Note to which key a data folder belongs, or raise `CannotStart` when `place` holds another one."""
    _hold(data, authority_public(data), public, place, variable)


def _hold(data: Path, known: str | None, public: str, place: str, variable: str) -> None:
    if known is None:
        _keep(data / _PUBLIC, public)
    elif known != public:
        message = (
            f"the authority key of `{place}` is {public}, but `{data}` belongs to {known}: its nodes "
            f"would refuse every ticket; put the key from before back, or correct {variable}"
        )
        raise CannotStart(message)


def authority_public(data: Path) -> str | None:
    """Return the public half of the key to which a data folder belongs; nothing when no service has started in it."""
    kept = data / _PUBLIC
    if kept.exists():
        return kept.read_text(encoding="ascii").strip()
    return SigningKey.load(data / _FILE).public if (data / _FILE).exists() else None


def _key(settings: Settings, environment: Mapping[str, str]) -> SigningKey:
    place = settings.authority_key
    if not place:
        if authority_public(settings.data) is None:
            return SigningKey.load_or_create(settings.data / _FILE)
        return SigningKey.load(settings.data / _FILE)
    if place.startswith(_PKCS11):
        return _in_token(place)
    if place.startswith(_CREDENTIAL):
        return SigningKey.load(_credential(place.removeprefix(_CREDENTIAL), environment), shared_with_group=True)
    return SigningKey.load(Path(place))


def _credential(name: str, environment: Mapping[str, str]) -> Path:
    folder = environment.get(_CREDENTIALS)
    if not folder:
        message = (
            f"`{_VARIABLE}` names the credential `{name}`, but systemd gave none: add `LoadCredential={name}:PATH`"
        )
        raise SettingError(message)
    if not name or "/" in name or name.startswith("."):
        message = f"`{_VARIABLE}` is `{_CREDENTIAL}{name}`; write the name that `LoadCredential=` gives it"
        raise SettingError(message)
    return Path(folder) / name


def _in_token(uri: str) -> SigningKey:
    try:
        # Its library is needed where a site has such a token, and nowhere else.
        from headrace.api.pkcs11_key import open_key  # noqa: PLC0415
    except ImportError as error:
        message = f"`{_VARIABLE}` is in a PKCS#11 token: install `headrace-api[pkcs11]`"
        raise SettingError(message) from error
    return open_key(uri, _VARIABLE)


def _keep(path: Path, public: str) -> None:
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        write_whole(descriptor, f"{public}\n".encode())
    finally:
        os.close(descriptor)
    fresh.rename(path)
    sync_folder(path.parent)
