"""Looks in the site's directories whether people are still there, and in which groups."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from headrace.auth.directory import Directory, DirectoryAway
from headrace.auth.store import IdentityRecord, IdentityStore, every_identity


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look has found: whether anything has changed, and which directories could not be asked, and why."""

    changed: bool
    away: tuple[str, ...]


class DirectoryWatch:
    """Brings identities up to date with their directories.

    Who was deleted, disabled, has expired or was moved out of the base is gone; who is locked out or has to change
    the password is not: a stranger's guesses end nobody's work. While a directory is away, everybody stays as they are.
    """

    def __init__(
        self, directories: Sequence[Directory], identities: IdentityStore, clock: Callable[[], datetime]
    ) -> None:
        """`clock` answers aware UTC times."""
        self._directories = directories
        self._identities = identities
        self._clock = clock

    def __bool__(self) -> bool:
        """Whether there is anything to look at."""
        return bool(self._directories)

    async def look(self) -> Looked:
        """Look once."""
        changed, away = False, []
        known = [one async for one in every_identity(self._identities)] if self._directories else []
        for directory in self._directories:
            mine = [one for one in known if one.issuer == directory.config.issuer]
            try:
                changed |= await self._look_at(directory, mine)
            except DirectoryAway as error:
                away.append(f"nobody knows who has left {directory.config.domain}: {error}")
        return Looked(changed, tuple(away))

    async def _look_at(self, directory: Directory, known: Sequence[IdentityRecord]) -> bool:
        found = await directory.look_up([one.subject for one in known])
        changed = False
        for one in known:
            account = found.get(one.subject)
            groups = account.groups if account is not None and account.refusal is None else None
            if account is not None and account.name != one.name:
                await self._identities.rename(one.issuer, one.subject, account.name)
                changed = True
            if (groups is None) != (one.gone is not None) or (groups is not None and groups != one.groups):
                await self._identities.renew(one.issuer, one.subject, groups, self._clock())
                changed = True
        return changed
