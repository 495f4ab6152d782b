"""What a look for leavers has found, and the brake on it: one wrong answer of an issuer ends nobody's work."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from headrace.auth.grants import by_group, with_rights
from headrace.auth.store import IdentityRecord, IdentityStore, PeopleStore, PersonRecord, everybody

FEW: Final = 5
"""So many people of an issuer may lose everything in one look, however few there are."""
SHARE: Final = 10
"""Where there are more, at most one in so many may."""
_MAX_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of a look: whether anything has changed, and in sentences what is not known or was not done."""

    changed: bool
    troubles: tuple[str, ...]


class Brake:
    """Applies what people lose by a look, at its end, unless too many would lose everything at once.

    Sessions, tokens, unused approvals and running transfers do not come back, so an answer that takes them from more
    than `FEW` people and from more than one in `SHARE` is believed only when an administrator acts on it.
    """

    def __init__(self, people: PeopleStore, identities: IdentityStore) -> None:
        """Look in these stores who can do anything, and by what."""
        self._people = people
        self._identities = identities

    async def held(
        self, issuer: str, everyone: Sequence[IdentityRecord], losses: Sequence[IdentityRecord]
    ) -> tuple[frozenset[str], str]:
        """Return which people keep what they have in spite of `losses`, and why; nobody and no text if all is applied.

        `everyone` are all identities as they are, `losses` some of this issuer as they would be.
        """
        if len(losses) <= FEW:
            return frozenset(), ""
        after = defaultdict[str, dict[tuple[str, str], IdentityRecord]](dict)
        for one in (*everyone, *losses):
            after[one.person][one.issuer, one.subject] = one
        theirs = {one.person for one in everyone if one.issuer == issuer}
        bound = by_group(await self._identities.bindings())
        able = [one async for one in everybody(self._people) if one.id in theirs and _is_able(one)]
        going = [one for one in able if not _is_able(with_rights(one, after[one.id].values(), bound))]
        if len(going) <= FEW or len(going) * SHARE <= len(able):
            return frozenset(), ""
        said = (
            f"by what {issuer} answers now, {len(going)} of {len(able)} people would lose all access at once: "
            f"{named(one.name for one in going)}. Nothing was taken from them. Look whether they have really left: the "
            "account that looks people up may see too little, a database may be restored, a group may be renamed. If "
            "they have not, mend that. If they have, disable them (`headrace people disable`) or unbind their group; "
            f"the others follow by themselves once they are {FEW}, or a tenth"
        )
        return frozenset(one.id for one in going), said


def loses(before: IdentityRecord, after: IdentityRecord) -> bool:
    """Whether a change of an identity may take something from its person."""
    return before.gone is None and (after.gone is not None or not before.groups <= after.groups)


def as_of(one: IdentityRecord, groups: frozenset[str] | None, now: datetime) -> IdentityRecord:
    """Return an identity as it is when its issuer names these groups, or `None` because it is no longer."""
    return replace(one, gone=one.gone or now) if groups is None else replace(one, groups=groups, gone=None)


def named(names: Iterable[str]) -> str:
    """List some of these names, and how many more there are."""
    all_names = sorted(names)
    beyond = len(all_names) - _MAX_NAMED
    more = f" and {beyond} other{'s' if beyond > 1 else ''}" if beyond > 0 else ""
    return ", ".join(all_names[:_MAX_NAMED]) + more


def _is_able(person: PersonRecord) -> bool:
    return person.state == "active" and bool(person.roles)
