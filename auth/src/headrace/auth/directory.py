"""The port to a site's directories: whose name this is, whether this is their password, who is there still.

Exception tree::

    DirectoryError
    ├── DirectoryRefused    the directory answered, and it was no; `reason` is for the log
    └── DirectoryAway       it did not answer, or not as it has to; says nothing about the person
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

MAX_NAME: Final = 320
"""The longest mail address."""
BATCH: Final = 50
"""Subjects in one question; a filter of that many ids is within every limit of a domain controller."""
LEAST_ATTEMPTS: Final = 3
"""One for each share of a directory's tries: with fewer, nobody could prove anything."""
MAX_GROUPS: Final = 1_100
"""Windows itself signs nobody in who is in more than 1,015 groups."""


class Refusal(StrEnum):
    """Why a directory turned somebody away; only the log says which."""

    UNKNOWN = "no account of this name"
    AMBIGUOUS = "more than one account of this name"
    NAME = "not a name of this directory"
    PASSWORD = "wrong password"  # noqa: S105 - what was wrong, no password
    EMPTY = "empty password"
    HOUR = "not at this hour"
    COMPUTER = "not from this computer"
    EXPIRED = "the password has expired"
    MUST_CHANGE = "the password must be changed first"
    DISABLED = "the account is disabled"
    ENDED = "the account has expired"
    LOCKED = "the account is locked out"
    GROUPS = "more groups than Windows allows"
    OTHER = "refused"

    @property
    def asks_for_another_password(self) -> bool:
        """Whether the person has to choose another password; a directory says so only when the old one was right."""
        return self in {Refusal.EXPIRED, Refusal.MUST_CHANGE}


SUB_CODES: Final[Mapping[str, Refusal]] = {
    "525": Refusal.UNKNOWN,
    "52e": Refusal.PASSWORD,
    "530": Refusal.HOUR,
    "531": Refusal.COMPUTER,
    "532": Refusal.EXPIRED,
    "533": Refusal.DISABLED,
    "701": Refusal.ENDED,
    "773": Refusal.MUST_CHANGE,
    "775": Refusal.LOCKED,
}
"""What stands after `data` in the message of a refused bind."""


class DirectoryError(Exception):
    """See the module."""


class DirectoryRefused(DirectoryError):  # noqa: N818 - says what is the case
    """The directory says no."""

    def __init__(self, reason: Refusal) -> None:
        """Say why, for the log."""
        super().__init__(reason)
        self.reason = reason


class DirectoryAway(DirectoryError):  # noqa: N818 - says what is the case
    """The directory can't be asked; the message says what every server of it did."""

    def __init__(self, *said: str) -> None:
        """Say what was tried, and what came of it."""
        super().__init__("; ".join(said))


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryConfig:
    """One Active Directory domain, and how far Headrace goes with it."""

    domain: str
    """Its DNS name."""
    netbios: str
    """What stands before the backslash."""
    suffixes: frozenset[str]
    """What may stand after the `@`, beside the domain."""
    servers: tuple[str, ...]
    """`ldaps://host[:port]`, or `ldap://host[:port]` for StartTLS; never without TLS."""
    ca: str
    """The PEM file of the authority that has to have signed the servers' certificates."""
    account: str
    """Who looks people up."""
    secret: str = field(repr=False)
    base: str
    """Below which entry people are looked for."""
    timeout_s: int
    """How long one step (to connect, to answer once) may take."""
    connections: int
    """How many questions are under way at the same time, each on a connection of its own."""
    waiting: int
    """How many more may wait; more than that are refused."""
    attempts: int
    """How many wrong passwords for one account reach the domain within `attempts_window_s`."""
    attempts_window_s: int

    @property
    def issuer(self) -> str:
        """The name of this directory in identities and group bindings."""
        return f"ad:{self.domain}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Somebody as a directory shows them. `subject` and `groups` stay when people and groups are renamed."""

    subject: str
    """The objectGUID."""
    dn: str
    name: str
    groups: frozenset[str] = frozenset()
    """The SIDs of all groups, nested and primary ones, too."""
    refusal: Refusal | None = None
    """Why this account may not be used at present, as far as it can be told without its password."""


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What a directory shows of some subjects; who is in neither is gone."""

    found: Mapping[str, Account]
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Whose account can't be read whole, and why."""


class Directory(Protocol):
    """One domain. Every method raises `DirectoryAway`."""

    @property
    def config(self) -> DirectoryConfig:
        """What it was made from."""
        ...

    async def find(self, name: str) -> Account:
        """Find whose name this is; raises `DirectoryRefused`."""
        ...

    async def check(self, account: Account, password: str) -> None:
        """Let the directory check a password; raises `DirectoryRefused`."""
        ...

    async def look_up(self, subjects: Collection[str]) -> LookedUp:
        """Show the accounts of these subjects, at most `BATCH`, as they are now."""
        ...

    async def now(self) -> datetime:
        """Sign in as the service, and return what time the domain has."""
        ...

    def close(self) -> None:
        """End; nothing waits for what is under way."""
        ...


@dataclass(frozen=True, slots=True)
class TypedName:
    """A name as somebody typed it, in two parts."""

    user: str
    domain: str
    mail_like: bool
    """Whether it came as `user@domain`."""

    @classmethod
    def read(cls, text: str) -> "TypedName | None":
        r"""Read `user@domain` or `DOMAIN\user`; anything else is not a name of a directory."""
        if len(text) > MAX_NAME or not text.isprintable():
            return None
        if "\\" in text:
            domain, _, user = text.partition("\\")
        else:
            user, _, domain = text.rpartition("@")
        return cls(user, domain, "\\" not in text) if user and domain else None

    def fits(self, config: DirectoryConfig) -> bool:
        """Whether it is a name in this domain."""
        domain = self.domain.casefold()
        if self.mail_like:
            return domain in {config.domain.casefold(), *map(str.casefold, config.suffixes)}
        return domain in {config.netbios.casefold(), config.domain.casefold()}


def escaped(value: str | bytes) -> str:
    """Write a value into an LDAP filter (RFC 4515) so that nothing in it is read as one."""
    raw = value if isinstance(value, bytes) else value.encode()
    return "".join(chr(one) if chr(one).isascii() and chr(one).isalnum() else f"\\{one:02x}" for one in raw)


def name_filter(name: TypedName, config: DirectoryConfig) -> str:
    """Say in LDAP whose names may be meant."""
    user, whole = escaped(name.user), escaped(f"{name.user}@{name.domain}")
    if not name.mail_like:
        meant = f"(sAMAccountName={user})"
    else:
        short = f"(sAMAccountName={user})" if name.domain.casefold() == config.domain.casefold() else ""
        meant = f"(|(userPrincipalName={whole})(mail={whole}){short})"
    return f"(&(objectCategory=person)(objectClass=user){meant})"
