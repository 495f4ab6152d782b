"""What is wrong with signing people in, and with seeing that they have left."""

from collections.abc import AsyncIterator, Iterator
from typing import Final

from sqlalchemy import func, select

from headrace.api.core import Core
from headrace.api.people.sql_identities import SqlIdentityStore
from headrace.api.store.tables_site import IdentityRow, PersonRow
from headrace.auth import IssuerWatch
from headrace.client import models as m

SEVERAL: Final = 3
"""So many people who lose their last role by signing in are no coincidence any more."""
_CHECK: Final = "run `headrace auth check` with the service's settings: it says what is wrong"
_Code = m.HealthCode


class PeopleHealth:
    """Tells causes about people from elsewhere."""

    def __init__(self, core: Core, issuers: IssuerWatch, identities: SqlIdentityStore) -> None:
        """Look at these parts."""
        self._core = core
        self._issuers = issuers
        self._identities = identities

    def of_issuers(self) -> Iterator[m.HealthCause]:
        """Tell at which issuers nobody can sign in, and whose clocks differ."""
        for issuer, unusable in sorted(self._issuers.unusable.items()):
            yield m.HealthCause(
                code=_Code.SIGN_IN_UNAVAILABLE,
                sentence=f"nobody can sign in at `{issuer}`: {unusable.said}",
                what_to_do=_CHECK,
                since=unusable.since,
            )
        for issuer, (since, ahead) in sorted(self._issuers.skews.items()):
            seconds = int(ahead.total_seconds())
            yield m.HealthCause(
                code=_Code.CLOCK_DIFFERS,
                sentence=f"the clock of `{issuer}` is {abs(seconds):,} s {'ahead of' if seconds > 0 else 'behind'} "
                "this host's, so sessions, accounts and tickets may end too early or too late",
                what_to_do="set up time synchronisation on both; do not restart the service before its clock is right",
                since=since,
            )

    async def of_sign_ins(self) -> AsyncIterator[m.HealthCause]:
        """Tell where several people have lost their last role by signing in, and have none yet."""
        for issuer, lost in sorted((await self._identities.lost_at_sign_in(self._core.clock())).items()):
            if len(lost) >= SEVERAL:
                yield m.HealthCause(
                    code=_Code.ACCESS_LOST,
                    sentence=f"{len(lost)} people of `{issuer}` have lost their last role by signing in within a day: "
                    f"no group that it named then gives one here, and what they had running has stopped",
                    what_to_do="look there which groups it names now (`headrace auth check NAME`, the mapper or claim "
                    "of groups), and at `headrace people groups`; who signs in with a role again has it back",
                    since=min(lost.values()),
                )

    async def of_lost_settings(self) -> AsyncIterator[m.HealthCause]:
        """Tell whose issuer no setting names any more: nobody looks whether they have left."""
        known = self._issuers.issuers
        reached = select(IdentityRow.person).where(IdentityRow.issuer.in_(known))
        query = (
            select(IdentityRow.issuer, func.count(IdentityRow.person.distinct()).label("people"))
            .join(PersonRow, PersonRow.id == IdentityRow.person)
            .where(
                IdentityRow.issuer.not_in(known),
                IdentityRow.gone.is_(None),
                PersonRow.state == "active",
                PersonRow.id.not_in(reached),
            )
            .group_by(IdentityRow.issuer)
            .order_by(IdentityRow.issuer)
        )
        async with self._core.database.read() as tx:
            found = [(row.issuer, row.people) for row in await tx.execute(query)]
        for issuer, people in found:
            setting = "HEADRACE_DIRECTORIES" if issuer.startswith("ad:") else "HEADRACE_OIDC_ISSUERS"
            of_whom = "1 person" if people == 1 else f"{people:,} people"
            yield m.HealthCause(
                code=_Code.LEAVERS_UNSEEN,
                sentence=f"{of_whom} of `{issuer}` can't sign in there, and nobody looks whether they have left: their "
                f"tokens and sessions go on. The setting is missing: no file of `{setting}` names this issuer",
                what_to_do=f"set `{setting}` again and restart; if the issuer was given up, disable its people "
                "(`headrace people disable`)",
            )
