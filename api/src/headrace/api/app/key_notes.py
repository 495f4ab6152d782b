"""Which keys sign and answer here, in the audit chain.

Keys are replaced by commands of the data folder's owner while nothing runs (`headrace ca rotate-authority`, `ca
rotate-hub`, `signer rotate`), and their time ends by itself. The next start writes what has happened, and a job what
ends meanwhile: what the folder says is held against what the chain says already. Nobody's name stands with it: as with
another administrator's link, whoever did it had the folder.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headrace.api.audit.chain import Audit, Wanted
from headrace.api.clock import Clock
from headrace.api.key_chain import KeyChain
from headrace.api.store import Database
from headrace.client import models as m
from headrace.engine import Hub
from headrace.guardrails import utc_text

_BEGUN = m.AuditKind.AUTHORITY_KEY_BEGUN
_ROTATED = m.AuditKind.AUTHORITY_KEY_ROTATED
_ENDED = m.AuditKind.AUTHORITY_KEY_ENDED
_HUB_NEXT = m.AuditKind.HUB_KEY_NEXT
_HUB_TAKEN = m.AuditKind.HUB_KEY_TAKEN
_KINDS = (_BEGUN, _ROTATED, _ENDED, _HUB_NEXT, _HUB_TAKEN)
_MOST = 1000
"""How far back is looked: some centuries, when a key has a year."""


@dataclass(frozen=True, slots=True)
class Note:
    """What became of the key `key`."""

    kind: m.AuditKind
    key: str
    detail: Mapping[str, str]


class KeyNotes:
    """Writes what has become of the keys of one service."""

    def __init__(self, database: Database, audit: Audit, clock: Clock, chain: KeyChain, hub: Hub) -> None:
        """Append to `audit` what is new of the authority's `chain` and of the hub's key."""
        self._database = database
        self._audit = audit
        self._clock = clock
        self._chain = chain
        self._hub = hub
        self._writing = asyncio.Lock()

    async def write(self) -> None:
        """Write what the audit chain does not say yet."""
        async with self._writing:
            page = await self._audit.events(Wanted(kinds=_KINDS, newest_first=True), after=0, limit=_MOST)
            # The page is in the order of time, which a clock that was set back does not keep.
            known = sorted(page.items, key=lambda event: event.sequence, reverse=True)
            missing = [*self._of_authority(known), *self._of_hub(known)]
            if not missing:
                return
            async with self._database.write() as tx:
                for note in missing:
                    await self._audit.append(tx, note.kind, subject=note.key, detail=note.detail)

    def _of_authority(self, known: Sequence[m.AuditEvent]) -> Iterator[Note]:
        chain = self._chain
        oldest_first = chain.keys[::-1]
        last = _last(known, _BEGUN, _ROTATED)
        new = chain.successions
        if last in oldest_first:
            new = new[oldest_first.index(last) :]
        else:
            yield Note(_BEGUN, oldest_first[0], {"former": last})
        for one in new:
            times = {"since": utc_text(one.since), "until": utc_text(one.until)}
            yield Note(_ROTATED, one.next, {"former": one.former, **times})
        ended = {(event.subject, event.detail["next"]) for event in known if event.kind == _ENDED}
        for one in chain.successions:
            if self._clock() >= one.until and (one.former, one.next) not in ended:
                yield Note(_ENDED, one.former, {"next": one.next})

    def _of_hub(self, known: Sequence[m.AuditEvent]) -> Iterator[Note]:
        key = self._hub.key
        if (last := _last(known, _HUB_TAKEN)) != key:
            yield Note(_HUB_TAKEN, key, {"former": last})
        if self._hub.succession is None:
            return
        said = json.loads(self._hub.succession)
        if said["next"] == key:
            # Its time has come; the former key is kept for nodes that were away.
            return
        if _last(known, _HUB_NEXT) != said["next"]:
            yield Note(_HUB_NEXT, said["next"], {"former": key, "since": said["from"], "until": said["until"]})


def _last(known: Sequence[m.AuditEvent], *kinds: m.AuditKind) -> str:
    """Return the key of the last event of these kinds; `known` begins with the newest."""
    return next((str(event.subject) for event in known if event.kind in kinds), "")
