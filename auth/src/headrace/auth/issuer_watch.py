"""Looks whether people can sign in at each issuer, and what time it is there, also while nobody is known of it."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Final

from headrace.auth.directory import Directory, DirectoryAway
from headrace.auth.oidc_claims import LEEWAY_S
from headrace.auth.oidc_provider import Provider, ProviderFailed, Providers

LOOK_ISSUERS_S: Final = 60
"""Between two looks at one issuer."""
MAX_DIRECTORY_SKEW: Final = timedelta(seconds=60)
"""Between a domain and this host: accounts end by its clock, sessions and tickets by this one."""
MAX_PROVIDER_SKEW: Final = timedelta(seconds=LEEWAY_S)
"""Between a provider and this host: its tokens are refused beyond that."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Unusable:
    """Nobody can sign in at an issuer: since when it is known, and why."""

    since: datetime
    said: str


class IssuerWatch:
    """Knows at which issuers nobody can sign in, and whose clock differs from this host's.

    A look asks what every sign-in asks, without a person: a directory is signed in to as the service and tells its
    time, a provider gives its discovery document and keys. What only an exchange can find (a client secret that has
    ended) is what the last one found (`Provider.trouble`).
    """

    def __init__(
        self,
        directories: Sequence[Directory],
        providers: Providers,
        clock: Callable[[], datetime],
        steady: Callable[[], datetime],
    ) -> None:
        """`clock` tells the time; `steady` measures for how long exchanges have failed, however the clock is set."""
        self._clock = clock
        self._steady = steady
        self._looks: dict[str, Callable[[], Awaitable[tuple[datetime | None, timedelta]]]] = {
            one.config.issuer: partial(_of_directory, one) for one in directories
        }
        self._providers = [providers.named(issuer.id) for issuer in providers.issuers]
        self._looks |= {one.issuer.url: partial(_of_provider, one) for one in self._providers}
        self._unusable: dict[str, Unusable] = {}
        self._skews: dict[str, tuple[datetime, timedelta]] = {}

    @property
    def issuers(self) -> Sequence[str]:
        """Each directory and provider of this site, watched or not."""
        return tuple(self._looks)

    @property
    def unusable(self) -> Mapping[str, Unusable]:
        """By issuer, why nobody can sign in there now."""
        refused = {
            one.issuer.url: Unusable(self._clock() - (self._steady() - one.trouble[0]), one.trouble[1])
            for one in self._providers
            if one.trouble is not None
        }
        return {**refused, **self._unusable}

    @property
    def skews(self) -> Mapping[str, tuple[datetime, timedelta]]:
        """By issuer whose clock differs too much: since when it is known, and how far its clock is ahead."""
        return self._skews

    async def look(self, issuer: str) -> None:
        """Look once at one issuer; what it finds stands in the properties and, when it is new, in the log."""
        try:
            theirs, allowed = await self._looks[issuer]()
        except (DirectoryAway, ProviderFailed) as error:
            before = self._unusable.get(issuer)
            if before is None:
                _log.warning("nobody can sign in at %s: %s", issuer, error)
            self._unusable[issuer] = Unusable(before.since if before else self._clock(), str(error))
            return
        if self._unusable.pop(issuer, None) is not None:
            _log.info("people can sign in at %s again", issuer)
        ahead = theirs - self._clock() if theirs is not None else timedelta(0)
        if abs(ahead) <= allowed:
            self._skews.pop(issuer, None)
            return
        known = self._skews.get(issuer)
        if known is None:
            _log.warning("the clock of %s is %d s ahead of this host's", issuer, ahead.total_seconds())
        self._skews[issuer] = known[0] if known else self._clock(), ahead


async def _of_directory(directory: Directory) -> tuple[datetime | None, timedelta]:
    return await directory.now(), MAX_DIRECTORY_SKEW


async def _of_provider(provider: Provider) -> tuple[datetime | None, timedelta]:
    await provider.document()
    said = provider.date
    await provider.keys()
    try:
        theirs = parsedate_to_datetime(said or "").astimezone(UTC)
    except ValueError:
        theirs = None
    return theirs, MAX_PROVIDER_SKEW
