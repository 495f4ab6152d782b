"""Looks in the site's directories whether people are still there, and in which groups."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from headrace.auth.directory import Directory, DirectoryAway
from headrace.auth.store import IdentityRecord, IdentityStore

_log = logging.getLogger(__name__)


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

    async def look(self) -> bool:
        """Look once; answers whether anything has changed."""
        changed = False
        known = await self._identities.identities() if self._directories else ()
        for directory in self._directories:
            mine = [one for one in known if one.issuer == directory.config.issuer]
            try:
                changed |= await self._look_at(directory, mine)
            except DirectoryAway as error:
                _log.warning("nobody knows who has left %s: %s", directory.config.domain, error)
        return changed

    async def _look_at(self, directory: Directory, known: Sequence[IdentityRecord]) -> bool:
        found = await directory.look_up([one.subject for one in known])
        changed = False
        for one in known:
            account = found.get(one.subject)
            groups = account.groups if account is not None and account.refusal is None else None
            if (groups is None) != (one.gone is not None) or (groups is not None and groups != one.groups):
                await self._identities.renew(one.issuer, one.subject, groups, self._clock())
                changed = True
        return changed
