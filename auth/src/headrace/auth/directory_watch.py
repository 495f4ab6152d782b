"""Looks in the site's directories whether people are still there, and in which groups."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from headrace.auth.directory import BATCH, Directory, DirectoryAway
from headrace.auth.leavers import Brake, Looked, as_of, loses, named
from headrace.auth.store import IdentityRecord, IdentityStore, every_identity

MISSES: Final = 2
"""Questions without an answer, one after the other, until a directory counts as away: each may take its whole time."""


class DirectoryWatch:
    """Brings identities up to date with their directories.

    Who was deleted, disabled, has expired or was moved out of the base is gone; who is locked out or has to change
    the password is not: a stranger's guesses end nobody's work. Of whom a directory says nothing, they stay as they
    are. What people get is applied with each answer, what they lose at the end of the look (`Brake`).
    """

    def __init__(
        self,
        directories: Sequence[Directory],
        identities: IdentityStore,
        brake: Brake,
        clock: Callable[[], datetime],
    ) -> None:
        """`clock` answers aware UTC times."""
        self._directories = {one.config.issuer: one for one in directories}
        self._identities = identities
        self._brake = brake
        self._clock = clock

    @property
    def issuers(self) -> Sequence[str]:
        """Where there is anything to look at; each is looked at by itself, so that none waits for another."""
        return tuple(self._directories)

    async def look(self, issuer: str) -> Looked:
        """Look once in one directory."""
        everyone = [one async for one in every_identity(self._identities)]
        look = _Look(self._directories[issuer], self._identities, self._clock)
        known = [one for one in everyone if one.issuer == issuer]
        misses = 0
        for start in range(0, len(known), BATCH):
            try:
                await look.at(known[start : start + BATCH])
                misses = 0
            except DirectoryAway as error:
                look.away, misses = error, misses + 1
            if misses == MISSES:
                break
        held, why = await self._brake.held(issuer, everyone, [after for _, after in look.losses])
        for before, after in look.losses:
            if before.person not in held:
                await look.lose(before, after)
        return Looked(look.changed, (*((why,) if why else ()), *look.unanswered()))


class _Look:
    """What one look has found so far."""

    def __init__(self, directory: Directory, identities: IdentityStore, clock: Callable[[], datetime]) -> None:
        self._directory = directory
        self._identities = identities
        self._clock = clock
        self.changed = False
        self.losses: list[tuple[IdentityRecord, IdentityRecord]] = []
        """Identities as they are, and as they would be."""
        self.away: DirectoryAway | None = None
        self._unknown: dict[str, str] = {}
        """By name, why nothing is known of somebody."""

    async def at(self, some: Sequence[IdentityRecord]) -> None:
        """Look at some people; raises `DirectoryAway`."""
        looked = await self._directory.look_up([one.subject for one in some])
        for one in some:
            if one.subject in looked.unknown:
                self._unknown[one.name or one.subject] = looked.unknown[one.subject]
                continue
            account = looked.found.get(one.subject)
            groups = account.groups if account is not None and account.refusal is None else None
            if account is not None and account.name != one.name:
                await self._identities.rename(one.issuer, one.subject, account.name)
                self.changed = True
            after = as_of(one, groups, self._clock())
            if loses(one, after):
                self.losses.append((one, after))
            elif after != one:
                await self._identities.renew(one.issuer, one.subject, groups, self._clock())
                self.changed = True

    async def lose(self, before: IdentityRecord, after: IdentityRecord) -> None:
        """Note what somebody loses, unless they have signed in since they were looked at."""
        now = await self._identities.identity(before.issuer, before.subject)
        if now is not None and now.seen == before.seen:
            groups = after.groups if after.gone is None else None
            await self._identities.renew(before.issuer, before.subject, groups, self._clock())
            self.changed = True

    def unanswered(self) -> list[str]:
        """Say of whom the directory has told nothing, and why."""
        domain, said = self._directory.config.domain, []
        if self.away is not None:
            said.append(f"nobody knows who has left {domain}: {self.away}")
        if self._unknown:
            why = self._unknown[min(self._unknown)]
            said.append(f"nobody knows whether {named(self._unknown)} has left {domain}: {why}")
        return said
