"""What a signer of its own keeps: passkeys that its owner has accepted, the policy, and what it has signed already."""

import os
import pwd
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from headrace.guardrails import default_policy_text, utc_text, utc_time

_FILE: Final = "signer.sqlite"
_PATIENCE_S: Final = 1.0
"""How long another program may hold the file; the service waits 2 s for an answer."""
_ROOM_BYTES: Final = 8192
"""More than what is written for one request."""
_MAX_OFFERED: Final = 100
"""Passkeys that may wait to be accepted."""
_MAX_OFFERED_OF_ONE: Final = 5
"""Of one person."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS passkeys (
    id TEXT PRIMARY KEY, person TEXT NOT NULL, public_key TEXT NOT NULL, sign_count INTEGER NOT NULL,
    accepted INTEGER NOT NULL, publishes INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS nonces (nonce TEXT PRIMARY KEY, until TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS released (digest TEXT PRIMARY KEY, transfer TEXT NOT NULL, started TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS complete (digest TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS policy (one INTEGER PRIMARY KEY CHECK (one = 1), text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS room (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL);
"""
_REMEDIES: Final = (
    ("full", "make room there"),
    ("No space", "make room there"),
    ("locked", "end the program that has its file open"),
    ("malformed", "put the folder back from a backup"),
    ("not a database", "put the folder back from a backup"),
)
"""By what SQLite or the system says."""
_REMEDY: Final = "look at its disk, and whether the signer's account may write there"


class StateUnusable(Exception):  # noqa: N818 - says what is the case
    """The state can't be read or written; the message says which folder, what happened and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPasskey:
    """A passkey of a person (COSE key, base64url); one that is not accepted counts for nothing."""

    id: str
    person: str
    public_key: str
    sign_count: int = 0
    accepted: bool = False
    publishes: bool = False
    """Whether it may agree to a policy, too."""


class SignerState:
    """One file of SQLite in a folder of the signer's own account; each method is one transaction, and durable."""

    def __init__(self, folder: Path) -> None:
        """Keep it in `folder`, which is made (0700); this and each method raise `StateUnusable`."""
        require_owner(folder)
        self._path = folder / _FILE
        with _in_words(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            os.close(descriptor)
        with self._open() as store:
            store.executescript(_TABLES)

    @classmethod
    def existing(cls, folder: Path) -> Self:
        """Open what a signer keeps in `folder`, and make nothing where none has run."""
        require_owner(folder)
        with _in_words(folder):
            held = (folder / _FILE).is_file()
        if not held:
            message = f"`{folder}` holds no signer: --state is the folder of `headrace signer run`, which makes it"
            raise StateUnusable(message)
        return cls(folder)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with (
            _in_words(self._path.parent),
            closing(sqlite3.connect(self._path, timeout=_PATIENCE_S, isolation_level=None)) as store,
        ):
            store.execute("PRAGMA synchronous = FULL")
            store.execute("BEGIN IMMEDIATE")
            yield store
            store.commit()

    def measure(self) -> None:
        """Make a small write that takes room on the disk, and give the room back."""
        with self._open() as store:
            store.execute("INSERT OR REPLACE INTO room VALUES (1, zeroblob(?))", (_ROOM_BYTES,))
        with self._open() as store:
            store.execute("DELETE FROM room")

    # -- passkeys --

    def passkeys(self) -> list[KnownPasskey]:
        """Return all of them."""
        with self._open() as store:
            rows = store.execute("SELECT * FROM passkeys ORDER BY person, id").fetchall()
        return [_passkey(row) for row in rows]

    def passkey(self, passkey: str) -> KnownPasskey | None:
        """Return one."""
        with self._open() as store:
            row = store.execute("SELECT * FROM passkeys WHERE id = ?", (passkey,)).fetchone()
        return _passkey(row) if row else None

    def offer(self, passkey: KnownPasskey) -> bool:
        """Keep a passkey until the owner accepts it; `False` when too many wait, of its person or of all."""
        waiting = "SELECT count(*), count(*) FILTER (WHERE person = ?) FROM passkeys WHERE NOT accepted AND id <> ?"
        with self._open() as store:
            all_, of_one = store.execute(waiting, (passkey.person, passkey.id)).fetchone()
            if all_ >= _MAX_OFFERED or of_one >= _MAX_OFFERED_OF_ONE:
                return False
            said = (passkey.id, passkey.person, passkey.public_key)
            store.execute("INSERT OR IGNORE INTO passkeys VALUES (?, ?, ?, 0, 0, 0)", said)
            return True

    def accept(self, passkey: str, *, publishes: bool) -> KnownPasskey | None:
        """Let a passkey that was offered count; what it may already, it may still."""
        with self._open() as store:
            store.execute(
                "UPDATE passkeys SET accepted = 1, publishes = max(publishes, ?) WHERE id = ?", (publishes, passkey)
            )
        return self.passkey(passkey)

    def remove(self, passkey: str) -> bool:
        """Forget a passkey; whether there was one."""
        with self._open() as store:
            return store.execute("DELETE FROM passkeys WHERE id = ?", (passkey,)).rowcount > 0

    def use(self, passkey: str, count: int, nonce: str, now: datetime, until: datetime) -> bool:
        """Use an answer up; `False` when it was used before, or its counter went back."""
        with self._open() as store:
            store.execute("DELETE FROM nonces WHERE until <= ?", (utc_text(now),))
            before = store.execute("SELECT sign_count FROM passkeys WHERE id = ?", (passkey,)).fetchone()
            known = store.execute("SELECT 1 FROM nonces WHERE nonce = ?", (nonce,)).fetchone()
            if before is None or known or (count <= before[0] and (count, before[0]) != (0, 0)):
                return False
            store.execute("INSERT INTO nonces VALUES (?, ?)", (nonce, utc_text(until)))
            store.execute("UPDATE passkeys SET sign_count = ? WHERE id = ?", (count, passkey))
            return True

    # -- what was signed --

    def released(self, digest: str) -> tuple[str, datetime] | None:
        """Return for which transfer a plan was released first, and when."""
        with self._open() as store:
            row = store.execute("SELECT transfer, started FROM released WHERE digest = ?", (digest,)).fetchone()
        return (row[0], utc_time(row[1])) if row else None

    def release(self, digest: str, transfer: str, now: datetime) -> None:
        """Note that a plan was released for a transfer."""
        with self._open() as store:
            store.execute("INSERT INTO released VALUES (?, ?, ?)", (digest, transfer, utc_text(now)))

    def complete(self, digest: str) -> None:
        """Note that all of a plan has been carried out."""
        with self._open() as store:
            store.execute("INSERT OR IGNORE INTO complete VALUES (?)", (digest,))

    def is_complete(self, digest: str) -> bool:
        """Whether all of a plan has been carried out."""
        with self._open() as store:
            return store.execute("SELECT 1 FROM complete WHERE digest = ?", (digest,)).fetchone() is not None

    # -- policy --

    def policy(self) -> str:
        """Return the policy that decides: the default one until another was published or given."""
        with self._open() as store:
            row = store.execute("SELECT text FROM policy").fetchone()
        return str(row[0]) if row else default_policy_text()

    def take_policy(self, text: str) -> None:
        """Decide by `text` from now on."""
        with self._open() as store:
            store.execute("INSERT OR REPLACE INTO policy VALUES (1, ?)", (text,))


def require_owner(folder: Path) -> None:
    """Raise `StateUnusable` when `folder` is another account's: the signer could not read what is made in it."""
    with _in_words(folder):
        try:
            owner = folder.stat().st_uid
        except FileNotFoundError:
            return
    if owner != os.geteuid():
        message = f"`{folder}` belongs to the account `{_account(owner)}`: run this as that account"
        raise StateUnusable(message)


def _account(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


@contextmanager
def _in_words(folder: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        said = getattr(error, "strerror", None) or str(error)
        remedy = next((remedy for words, remedy in _REMEDIES if words in said), _REMEDY)
        message = f"its state folder `{folder}` can't be read or written ({said}): {remedy}"
        raise StateUnusable(message) from error


def _passkey(row: tuple[str, str, str, int, int, int]) -> KnownPasskey:
    passkey, person, public_key, count, accepted, publishes = row
    return KnownPasskey(
        id=passkey,
        person=person,
        public_key=public_key,
        sign_count=count,
        accepted=bool(accepted),
        publishes=bool(publishes),
    )
