"""Active Directory over LDAP with TLS: the port `Directory` on ldap3, which blocks, so in threads of its own."""

import ast
import asyncio
import re
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar
from urllib.parse import urlsplit

from ldap3 import BASE, NONE, SUBTREE, Connection, Server, Tls
from ldap3.core.exceptions import LDAPException
from pyasn1.error import PyAsn1Error

from headrace.auth.directory import (
    MAX_GROUPS,
    SUB_CODES,
    Account,
    DirectoryAway,
    DirectoryConfig,
    DirectoryRefused,
    LookedUp,
    Refusal,
    TypedName,
    escaped,
    name_filter,
)
from headrace.auth.errors import AuthError
from headrace.auth.passwords import check_name

T = TypeVar("T")
P = ParamSpec("P")

SLOWEST: Final = 4
"""An answer takes at most this many times the limit of one step."""
REFUSED_FOR_S: Final = 900
"""After a wrong password of the service's own account, so that its tries don't get that account locked out."""
_ATTRIBUTES: Final = (
    "objectGUID", "userPrincipalName", "sAMAccountName", "mail", "userAccountControl", "accountExpires",
)  # fmt: skip
_SUB_CODE: Final = re.compile(r"\bdata ([0-9a-f]+)\b")
_SUCCESS, _INVALID_CREDENTIALS = 0, 49
_DISABLED: Final = 0x2
_TICKS_A_SECOND: Final = 10_000_000
_UNIX_EPOCH_TICKS: Final = 116_444_736_000_000_000
_NEVER: Final = {0, 0x7FFF_FFFF_FFFF_FFFF}

_WRONG_PASSWORD: Final = f"{Refusal.PASSWORD}; the one in `secret_file` is wrong: write it and restart"

_BROKEN: Final = (LDAPException, PyAsn1Error, OSError, LookupError, ValueError)
"""What ldap3 raises, also for answers that it can't read."""

Entry = Mapping[str, Sequence[bytes]]


class LdapDirectory:
    """One domain. Every question opens a connection of its own and closes it; the first server that answers is asked.

    At most `connections` questions are under way and `waiting` wait; more are refused. Referrals are not followed: a
    password goes only to servers that the site names, under certificates of the authority that it names.
    """

    def __init__(self, config: DirectoryConfig) -> None:
        """Read the authority's certificate; raises `OSError` (`ssl.SSLError` is one) when that can't be done."""
        self._config = config
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._context.load_verify_locations(config.ca)
        self._servers = config.servers
        self._threads = ThreadPoolExecutor(config.connections, thread_name_prefix=config.domain)
        self._own = threading.local()
        """Of each thread: the question that it works on."""
        self._asked = 0
        self._no_bind_before = 0.0
        """By the monotonic clock."""

    @property
    def config(self) -> DirectoryConfig:
        """See `Directory`."""
        return self._config

    async def find(self, name: str) -> Account:
        """See `Directory`."""
        typed = TypedName.read(name)
        if typed is None or not typed.fits(self._config):
            raise DirectoryRefused(Refusal.NAME)
        return await self._ask(self.find_now, typed)

    async def check(self, account: Account, password: str) -> None:
        """See `Directory`. An empty password is never sent: a directory takes it for a question without a person."""
        if not password:
            raise DirectoryRefused(Refusal.EMPTY)
        try:
            secret = password.encode()
        except UnicodeEncodeError as error:
            raise DirectoryRefused(Refusal.PASSWORD) from error
        await self._ask(self._check, account.dn, secret)

    async def look_up(self, subjects: Collection[str]) -> LookedUp:
        """See `Directory`."""
        wanted = sorted(filter(_is_guid, subjects))
        return await self._ask(self._look_up, wanted) if wanted else LookedUp({})

    async def now(self) -> datetime:
        """See `Directory`."""
        return await self._ask(self._now)

    def close(self) -> None:
        """See `Directory`."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _ask(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do blocking work in a thread, for a limited time."""
        if self._asked >= self._config.connections + self._config.waiting:
            message = f"{self._asked} questions to {self._config.domain} are under way or wait already"
            raise DirectoryAway(message)
        self._asked += 1
        question = _Question()
        try:
            async with asyncio.timeout(SLOWEST * self._config.timeout_s):
                asked = partial(self._work, question, partial(work, *args, **kwargs))
                return await asyncio.get_running_loop().run_in_executor(self._threads, asked)
        except TimeoutError as error:
            message = f"{self._config.domain} has not answered for {SLOWEST * self._config.timeout_s} s"
            raise DirectoryAway(message) from error
        finally:
            # Nobody waits for it any more: a server that goes on answering keeps no thread.
            question.end()
            self._asked -= 1

    # -- in threads --

    def _work(self, question: "_Question", work: Callable[[], T]) -> T:
        self._own.question = question
        try:
            return work()
        finally:
            self._own.question = None

    def find_now(self, typed: TypedName) -> Account:
        """Find whose name this is, as `find` does. Blocks."""
        with self.as_service() as connection:
            meant = _meant(self.search(connection, name_filter(typed, self._config)), typed, self._config)
            if len(meant) == 1:
                return self._account(connection, *meant[0])
        # Nobody shall learn from the time that an answer takes who has an account.
        with suppress(DirectoryRefused), self._opened(f"CN=nobody,{self._config.base}", b"no password"):
            pass
        raise DirectoryRefused(Refusal.AMBIGUOUS if meant else Refusal.UNKNOWN)

    def _now(self) -> datetime:
        with self.as_service() as connection:
            return self.time(connection)

    def _check(self, dn: str, password: bytes) -> None:
        with self._opened(dn, password):
            pass

    def _look_up(self, subjects: Sequence[str]) -> LookedUp:
        ids = "".join(f"(objectGUID={escaped(uuid.UUID(one).bytes_le)})" for one in subjects)
        with self.as_service() as connection:
            found: dict[str, Account] = {}
            unknown: dict[str, str] = {}
            for dn, entry in self.search(connection, f"(&(objectClass=user)(|{ids}))"):
                subject = _subject(entry)
                try:
                    found[subject] = self._account(connection, dn, entry)
                except (DirectoryAway, LookupError, ValueError) as error:
                    unknown[subject] = str(error)
        return LookedUp(found, unknown)

    def _account(self, connection: Connection, dn: str, entry: Entry) -> Account:
        _, shown = next(iter(self.search(connection, "(objectClass=*)", ("tokenGroups",), of=dn)), (dn, {}))
        if "tokenGroups" not in shown:
            message = f"{self._config.account} may not read the groups (tokenGroups) of {dn}"
            raise DirectoryAway(message)
        subject = _subject(entry)
        groups = frozenset(sid_text(sid) for sid in shown["tokenGroups"])
        refusal = self._refusal(connection, entry)
        if len(groups) > MAX_GROUPS:
            groups, refusal = frozenset(), Refusal.GROUPS
        return Account(subject=subject, dn=dn, name=self._name(entry) or subject, groups=groups, refusal=refusal)

    def _refusal(self, connection: Connection, entry: Entry) -> Refusal | None:
        if int(one_of(entry, "userAccountControl") or b"0") & _DISABLED:
            return Refusal.DISABLED
        ends = int(one_of(entry, "accountExpires") or b"0")
        if ends not in _NEVER and ends <= _ticks(self.time(connection)):
            return Refusal.ENDED
        return None

    def time(self, connection: Connection) -> datetime:
        """Return what time the domain has: its accounts end by its clock, however this host's is set. Blocks."""
        [(_, root)] = self.search(connection, "(objectClass=*)", ("currentTime",), of="")
        return datetime.strptime(text_of(root, "currentTime")[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)

    def _name(self, entry: Entry) -> str | None:
        """Return a name that nobody else has in this domain, when it keeps to the rule of people's names."""
        short = text_of(entry, "sAMAccountName")
        for name in (text_of(entry, "userPrincipalName"), f"{short}@{self._config.domain}" if short else ""):
            with suppress(AuthError):
                return check_name(name)
        return None

    def search(
        self, connection: Connection, condition: str, attributes: Sequence[str] = _ATTRIBUTES, *, of: str | None = None
    ) -> list[tuple[str, Entry]]:
        """Search below the base, or read the one entry `of`; anything but a whole answer is `DirectoryAway`. Blocks."""
        connection.search(
            self._config.base if of is None else of,
            condition,
            search_scope=SUBTREE if of is None else BASE,
            attributes=list(attributes),
            time_limit=self._config.timeout_s,
        )
        result = connection.result
        if result["result"] != _SUCCESS:
            message = f"{connection.server.host} could not search in {of or self._config.base}: {_said(result)}"
            raise DirectoryAway(message)
        return [
            (one["dn"], {name: values for name, values in one["raw_attributes"].items() if values})
            for one in connection.response or ()
            if one["type"] == "searchResEntry"
        ]

    @contextmanager
    def as_service(self) -> Iterator[Connection]:
        """Open a connection of the account that looks people up; raises `DirectoryAway`. Blocks."""
        if time.monotonic() < self._no_bind_before:
            message = f"{self._config.domain} refuses {self._config.account}: {_WRONG_PASSWORD}"
            raise DirectoryAway(message)
        try:
            with self._opened(self._config.account, self._config.secret.encode()) as connection:
                yield connection
        except DirectoryRefused as error:
            said: str = error.reason
            if error.reason is Refusal.PASSWORD:
                said, self._no_bind_before = _WRONG_PASSWORD, time.monotonic() + REFUSED_FOR_S
            message = f"{self._config.domain} refuses {self._config.account}: {said}"
            raise DirectoryAway(message) from error

    @contextmanager
    def _opened(self, user: str, password: bytes) -> Iterator[Connection]:
        connection = self._connected(user, password)
        try:
            yield connection
        except _BROKEN as error:
            message = f"{connection.server.host} broke off: {_words(error)}"
            raise DirectoryAway(message) from error
        finally:
            _end(connection)

    def _connected(self, user: str, password: bytes) -> Connection:
        """Sign in at the first server that answers, which is then asked first."""
        said = []
        for address in self._servers:
            try:
                connection = self._bound(address, user, password)
            except (*_BROKEN, DirectoryAway) as error:
                said.append(f"{address}: {_words(error)}")
                continue
            self._servers = (address, *(other for other in self._servers if other != address))
            return connection
        raise DirectoryAway(*said)

    def _bound(self, address: str, user: str, password: bytes) -> Connection:
        parts, limit_s = urlsplit(address), self._config.timeout_s
        server = Server(
            parts.hostname or "",
            parts.port or (636 if parts.scheme == "ldaps" else 389),
            use_ssl=parts.scheme == "ldaps",
            tls=CheckedTls(self._context),
            get_info=NONE,
            connect_timeout=limit_s,
        )
        connection = Connection(
            server,
            user,
            password,  # type: ignore[arg-type] # bytes are sent as they are; a text would be changed (SASLprep) first
            receive_timeout=limit_s,
            auto_referrals=False,
            check_names=False,
            read_only=True,
        )
        try:
            self._hold(connection)
            connection.open(read_server_info=False)
            self._hold(connection)
            if not server.ssl:
                connection.start_tls(read_server_info=False)
                self._hold(connection)
            connection.bind(read_server_info=False)
            _check_bind(connection.result)
        except BaseException:
            _end(connection)
            raise
        return connection

    def _hold(self, connection: Connection) -> None:
        question: _Question | None = getattr(self._own, "question", None)
        if question is not None:
            question.hold(connection.socket)


class _Question:
    """What a thread asks a server; whoever waits for the answer ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._ended = False

    def hold(self, opened: socket.socket | None) -> None:
        """Go on with this connection; raises `DirectoryAway` when nobody waits any more."""
        with self._lock:
            self._socket = opened
            if self._ended:
                message = "nobody waits for the answer any more"
                raise DirectoryAway(message)

    def end(self) -> None:
        """Break off the connection that is open, if one is: its thread notices."""
        with self._lock:
            self._ended = True
            if self._socket is not None:
                with suppress(OSError):
                    # The connection below TLS: the thread may be reading from the TLS above it.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class CheckedTls(Tls):
    """TLS whose certificates and host names are checked by Python's `ssl`; ldap3 alone checks them its own way."""

    def __init__(self, context: ssl.SSLContext) -> None:
        """Use `context`, which checks both."""
        super().__init__(validate=ssl.CERT_REQUIRED)
        self._context = context

    def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:  # noqa: ANN401, FBT001, FBT002 - ldap3's
        """See `Tls`."""
        connection.socket = self._context.wrap_socket(
            connection.socket, server_hostname=connection.server.host, do_handshake_on_connect=do_handshake
        )


def _end(connection: Connection) -> None:
    """Close a connection; ldap3 leaves the socket of one that could not be opened."""
    opened = connection.socket
    with suppress(LDAPException, OSError):
        connection.unbind()
    if opened is not None:
        opened.close()


def _words(error: Exception) -> str:
    """Return what an error says; ldap3 puts some messages into tuples, and those into texts."""
    text = str(error)
    with suppress(ValueError, SyntaxError):
        while text.startswith("("):
            found = ast.literal_eval(text)
            if not (isinstance(found, tuple) and len(found) == 1 and isinstance(found[0], str)):
                break
            text = found[0]
    return text or type(error).__name__


def _check_bind(result: Mapping[str, Any]) -> None:
    if result["result"] == _INVALID_CREDENTIALS:
        code = _SUB_CODE.search(result["message"])
        raise DirectoryRefused(SUB_CODES.get(code[1], Refusal.OTHER) if code else Refusal.OTHER)
    if result["result"] != _SUCCESS:
        raise DirectoryAway(_said(result))


def _meant(
    entries: Sequence[tuple[str, Entry]], typed: TypedName, config: DirectoryConfig
) -> Sequence[tuple[str, Entry]]:
    """Return whose name was typed: a sign-in name before a mail address, which several people may have."""
    if not typed.mail_like:
        return entries
    whole = f"{typed.user}@{typed.domain}".casefold()
    names = [one for one in entries if text_of(one[1], "userPrincipalName").casefold() == whole]
    if not names and typed.domain.casefold() == config.domain.casefold():
        names = [one for one in entries if text_of(one[1], "sAMAccountName").casefold() == typed.user.casefold()]
    return names or entries


def _subject(entry: Entry) -> str:
    return str(uuid.UUID(bytes_le=one_of(entry, "objectGUID")))


def _ticks(moment: datetime) -> int:
    """Write a moment as Windows does: in steps of 100 ns since 1601."""
    return _UNIX_EPOCH_TICKS + int((moment - datetime.fromtimestamp(0, UTC)).total_seconds()) * _TICKS_A_SECOND


def _is_guid(subject: str) -> bool:
    """Whether this can be somebody's objectGUID, written as we write it; administrators link what they type."""
    try:
        return str(uuid.UUID(subject)) == subject
    except ValueError:
        return False


def one_of(entry: Entry, name: str) -> bytes:
    """Return an attribute's first value, empty where there is none."""
    return next(iter(entry.get(name, ())), b"")


def text_of(entry: Entry, name: str) -> str:
    """Return an attribute's first value as text."""
    return one_of(entry, name).decode("utf-8", "replace")


def sid_text(raw: bytes) -> str:
    """Write a security identifier as Windows does (MS-DTYP 2.4.2)."""
    parts = (raw[start : start + 4] for start in range(8, len(raw), 4))
    numbers = (int.from_bytes(part, "little") for part in parts)
    return "-".join(("S", str(raw[0]), str(int.from_bytes(raw[2:8])), *map(str, numbers)))


def _said(result: Mapping[str, Any]) -> str:
    return f"{result['description']} {result['message']}".strip()
