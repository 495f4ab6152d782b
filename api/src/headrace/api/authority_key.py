"""Where the authority key is kept: in the data folder, in another file, as a systemd credential, or in a PKCS#11 token.

Whichever it is, its public half stands in the data folder, so that a folder is never served with another key by
mistake: nodes would refuse every ticket, and the exported heads of the audit chain would prove nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Final, TypeVar

from headrace.api.clock import Clock
from headrace.api.data_folder import AUTHORITY_KEY, NEXT_AUTHORITY_KEY
from headrace.api.durable import sync_folder
from headrace.api.errors import CannotStart, KeyUnusable
from headrace.api.key_chain import KeyChain
from headrace.api.settings import SettingError, Settings
from headrace.guardrails import SigningKey, Signs, canonical

T = TypeVar("T")

_VARIABLE: Final = "HEADRACE_AUTHORITY_KEY"
_CREDENTIAL: Final = "credential:"
_PKCS11: Final = "pkcs11:"
_CREDENTIALS: Final = "CREDENTIALS_DIRECTORY"
"""Where systemd tells a service that its credentials are."""
_TRY_AGAIN: Final = timedelta(seconds=2)
"""How long a key that failed is left alone by those who only want to know."""
PROBE: Final = "probe"
"""Type of a document that is signed to see whether that works."""
_PROBE: Final = {"probe": "headrace"}


@dataclass(frozen=True, slots=True)
class KeyTrouble:
    """Since when the key can't be used, and why, in words for operators."""

    since: datetime
    why: str


class AuthorityKey:
    """Signs with the authority key, and knows whether it can be used now."""

    def __init__(self, key: Signs, clock: Clock, chain: KeyChain | None) -> None:
        """Sign with `key`, the newest of `chain` (or the only one); it raises `KeyUnusable` while it can't be used."""
        self._key = key
        self.chain = chain or KeyChain(key.public)
        self._clock = clock
        self._trouble: KeyTrouble | None = None
        self._tried = clock()
        self._order = count()
        self._worked = -1

    @property
    def public(self) -> str:
        """The public half: its id everywhere."""
        return self._key.public

    @property
    def trouble(self) -> KeyTrouble | None:
        """What is the matter with the key; one that failed more than two seconds ago is tried."""
        if self._trouble is not None:
            self._try()
        return self._trouble

    def accepted(self, *, starts: bool) -> tuple[str, ...]:
        """Return whose signature counts on a plan, and on consent to it.

        What is to start was sealed by a key whose time is not over; what has started by then goes on.
        """
        return self.chain.counting(self._clock()) if starts else self.chain.keys

    def sign(self, type: str, body: bytes) -> str:  # noqa: A002 - the word of the format
        """Sign as `SigningKey` does; raises `KeyUnusable`."""
        return self._watched(lambda: self._key.sign(type, body))

    def _try(self) -> None:
        """Try the key, unless it was used less than two seconds ago."""
        if abs(self._clock() - self._tried) >= _TRY_AGAIN:
            with suppress(KeyUnusable):
                self.sign(PROBE, canonical(_PROBE))

    def _watched(self, use: Callable[[], T]) -> T:
        """Use the key, and note whether it can be used; several threads do so at a time."""
        self._tried, began = self._clock(), next(self._order)
        try:
            made = use()
        except KeyUnusable as error:
            # What began before another use succeeded tells of before, however late it fails.
            if began > self._worked:
                self._trouble = KeyTrouble(self._trouble.since if self._trouble else self._tried, error.why)
            raise
        self._worked, self._trouble = next(self._order), None
        return made


def authority_key(settings: Settings, environment: Mapping[str, str]) -> SigningKey:
    """Return the authority key from its place; the first start makes one, in the data folder only.

    Raises `SettingError` for a place that can't be, `CannotStart` when the key is not the one of the data folder or a
    token can't be used, `SealError` for a file that holds none or that others may read, `OSError` as the system says.
    """
    known = key_chain(settings.data)  # before the first start makes one
    if settings.authority_key:
        key = key_in(settings.authority_key, environment)
    elif known is None:
        key = SigningKey.load_or_create(settings.data / AUTHORITY_KEY)
    else:
        _finish_rotation(settings.data, known)
        key = SigningKey.load(settings.data / AUTHORITY_KEY)
    hold_to_its_key(settings.data, key.public, str(settings.authority_key or settings.data / AUTHORITY_KEY), _VARIABLE)
    return key


def hold_to_its_key(data: Path, public: str, place: str, variable: str) -> None:
    """Note to which key a data folder belongs, or raise `CannotStart` when `place` holds another one."""
    chain = key_chain(data)
    if chain is not None and chain.public != public:
        message = (
            f"the authority key of `{place}` is {public}, but `{data}` belongs to {chain.public}: its nodes "
            f"would refuse every ticket; put the key from before back, or correct {variable}"
        )
        raise CannotStart(message)
    if KeyChain.read(data) is None:
        KeyChain(public).written(data)


def follow_signer(data: Path, public: str, successions: Sequence[str]) -> None:
    """Take up the keys that have come after ours at a signer of its own, if they lead to the one that it has now."""
    chain = key_chain(data)
    followed = chain.reaching(public, successions) if chain is not None else None
    if followed is not None and followed != chain:
        followed.written(data)


def key_chain(data: Path) -> KeyChain | None:
    """Return the keys to which a data folder belongs; nothing when no service has started in it."""
    if (chain := KeyChain.read(data)) is not None:
        return chain
    return KeyChain(SigningKey.load(data / AUTHORITY_KEY).public) if (data / AUTHORITY_KEY).exists() else None


def rotated(
    settings: Settings, environment: Mapping[str, str], place: str, *, now: datetime, overlap: timedelta
) -> KeyChain:
    """Let the key in `place` (empty: a new one in the data folder) come after the one from before.

    Both count during the overlap. Nobody else uses the folder meanwhile. Raises as `authority_key` does, of either key.
    """
    former = authority_key(settings, environment)
    chain = key_chain(settings.data) or KeyChain(former.public)
    chain = chain.followed_by(_next_key(settings.data, environment, place), former, now, overlap)
    return _kept(settings.data, chain)


def begun_anew(data: Path, environment: Mapping[str, str], place: str) -> KeyChain:
    """Let the key in `place` (empty: a new one in the data folder) be the first of a new chain: no node knows it."""
    return _kept(data, KeyChain(_next_key(data, environment, place).public))


def _kept(data: Path, chain: KeyChain) -> KeyChain:
    """Let a rotation happen: before the chain is written it has not, after that the next start ends it."""
    chain.written(data)
    _finish_rotation(data, chain)
    return chain


def _next_key(data: Path, environment: Mapping[str, str], place: str) -> SigningKey:
    if place:
        return key_in(place, environment)
    (data / NEXT_AUTHORITY_KEY).unlink(missing_ok=True)  # of a rotation that was cut off before it happened
    return SigningKey.load_or_create(data / NEXT_AUTHORITY_KEY)


def _finish_rotation(data: Path, chain: KeyChain) -> None:
    """Put the key that a rotation has made in its place, also when that rotation was cut off after it happened."""
    if (data / NEXT_AUTHORITY_KEY).exists() and SigningKey.load(data / NEXT_AUTHORITY_KEY).public == chain.public:
        (data / NEXT_AUTHORITY_KEY).rename(data / AUTHORITY_KEY)
        sync_folder(data)


def key_in(place: str, environment: Mapping[str, str]) -> SigningKey:
    """Return the key in a place that a setting names; raises as `authority_key` does."""
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
