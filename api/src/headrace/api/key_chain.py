"""The authority keys of an installation, one after the other, in `authority.pub` of its data folder.

Its first line is the key that signs now; below it stand the successions that led there, oldest first: sealed documents,
one a line, each signed by the key that ended and by the one that came after it (decision 15). The file is replaced as a
whole, so that a rotation that is cut off anywhere has happened or has not.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Self

from headrace.api.data_folder import AUTHORITY_CHAIN
from headrace.api.durable import replace_file
from headrace.api.errors import CannotStart
from headrace.guardrails import SealCode, SealError, Signs, seal, utc_text, utc_time, verify

MAX_OVERLAP: Final = timedelta(days=366)
"""How long two keys may count; nodes refuse more."""
_TYPE: Final = "succession"


@dataclass(frozen=True, slots=True)
class Succession:
    """One key came after another at a time, and both count until another; `document` is the sealed text."""

    former: str
    next: str
    since: datetime
    until: datetime
    document: str

    @classmethod
    def of(cls, document: str) -> Self:
        """Read one that both its keys have signed; raises `SealError`."""
        try:
            claimed = json.loads(json.loads(document)["body"])
            former, next_ = str(claimed["former"]), str(claimed["next"])
        except (LookupError, TypeError, ValueError) as error:
            raise SealError(SealCode.MALFORMED_DOCUMENT, "a succession in it can't be read") from error
        fields = verify(document, _TYPE, [former]).fields()
        verify(document, _TYPE, [next_])
        return cls(former, next_, utc_time(str(fields["from"])), utc_time(str(fields["until"])), document)


@dataclass(frozen=True, slots=True)
class KeyChain:
    """`public` signs now; the successions lead to it."""

    public: str
    successions: tuple[Succession, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that has signed here, the newest first."""
        return (self.public, *(one.former for one in reversed(self.successions)))

    @property
    def documents(self) -> list[str]:
        """What nodes are told."""
        return [one.document for one in self.successions]

    def counting(self, now: datetime) -> tuple[str, ...]:
        """Return the keys whose time is not over: what is to start was sealed with one of them."""
        return (self.public, *(one.former for one in reversed(self.successions) if now < one.until))

    def followed_by(self, key: Signs, former: Signs, now: datetime, overlap: timedelta) -> Self:
        """Let `key` come after `former`, which signs now; raises `CannotStart` for one that has signed here before."""
        if key.public in self.keys:
            message = f"{key.public} is or was this installation's key already; give a new one"
            raise CannotStart(message)
        body = {
            "former": former.public,
            "next": key.public,
            "from": utc_text(now),
            "until": utc_text(now + overlap),
            "site": "",
        }
        added = Succession.of(seal(_TYPE, body, former, key).text)
        return type(self)(key.public, (*self.successions, added))

    def reaching(self, public: str, documents: Sequence[str]) -> Self | None:
        """Follow what a signer says came after our key until `public`, or return nothing when that does not lead there.

        Raises `SealError` for a document that is no succession.
        """
        found = self
        for one in map(Succession.of, documents):
            if one.former == found.public:
                found = type(self)(one.next, (*found.successions, one))
        return found if found.public == public else None

    @classmethod
    def read(cls, data: Path) -> Self | None:
        """Read the chain of a data folder; nothing where none is kept. Raises `CannotStart` for a broken one."""
        path = data / AUTHORITY_CHAIN
        if not path.exists():
            return None
        public, *documents = path.read_text(encoding="ascii").splitlines() or [""]
        try:
            chain = cls(public, tuple(map(Succession.of, documents)))
        except SealError as error:
            message = f"`{path}` can't be used: {error.args[0]}; put it back from a backup"
            raise CannotStart(message) from error
        ends = [one.next for one in chain.successions]
        if ends and [*(one.former for one in chain.successions[1:]), public] != ends:
            message = f"`{path}` can't be used: a succession in it does not lead to the next; put it back from a backup"
            raise CannotStart(message)
        return chain

    def written(self, data: Path) -> Self:
        """Keep the chain, as a whole and durably: from then on this is the installation's key."""
        lines = "".join(f"{line}\n" for line in (self.public, *self.documents))
        replace_file(data / AUTHORITY_CHAIN, lines.encode("ascii"))
        return self
