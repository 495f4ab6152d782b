"""In which ways a list finds a person's plans that a caller may see, each along an index in the order of time.

Somebody's own, or everybody's for who sees everything, by state, endpoint, assistant or project; of others' plans,
those that need the approval of one of the caller's roles or groups.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from sqlalchemy import ColumnElement, and_, or_, select

from headrace.api.caller import Caller
from headrace.api.planning.whose import Narrowed, one_of
from headrace.api.store.tables_work import PlanApproverRow, PlanRow
from headrace.api.store.ways import MOST_WAYS, Way, each_of
from headrace.auth import Role, Scope

OVERSEERS = frozenset({Role.OPERATOR, Role.AUDITOR})
"""Roles that see every plan and transfer. An approver sees what may need an approval."""
KEPT: Final = 256
"""Conditions that are kept made, one for each caller's rights: making one costs more than asking the store."""
_ROWS: Final = Way(select(PlanRow), PlanRow.id, PlanRow.created)


@dataclass(frozen=True, slots=True)
class Rights:
    """What of a caller decides which plans and transfers are theirs to see."""

    person: str
    agent: str | None
    reads_all: bool
    oversees: bool
    approves_as: frozenset[str]
    """Roles and groups whose approvals the caller may give."""

    @property
    def only_planned_by(self) -> str | None:
        """The assistant that sees nothing but what it planned itself, if the caller is one."""
        return None if self.reads_all else self.agent


def rights_of(caller: Caller) -> Rights:
    """Return the rights of now."""
    principal = caller.principal
    roles = {str(role) for role in principal.roles}
    return Rights(
        person=principal.id,
        agent=principal.agent,
        reads_all=principal.may(Scope.TRANSFER_READ_ALL),
        oversees=bool(principal.roles & OVERSEERS),
        # A group named like a role does not stand for it.
        approves_as=frozenset(roles | (principal.groups - {str(role) for role in Role})),
    )


@lru_cache(KEPT)
def visible_by(rights: Rights) -> ColumnElement[bool]:
    """Which plans a caller with these rights may see: of a single plan; `ways_to_plans` finds those of a list."""
    if rights.only_planned_by is not None:
        return and_(PlanRow.requester == rights.person, PlanRow.agent == rights.only_planned_by)
    if rights.oversees:
        return PlanRow.id.is_not(None)
    return or_(PlanRow.requester == rights.person, approvable_by(rights))


def approvable_by(rights: Rights) -> ColumnElement[bool]:
    """Which plans need an approval that somebody with these roles and groups may give."""
    # One condition, however many groups a person has: a store takes no thousand alternatives.
    needed, names = PlanApproverRow, sorted(rights.approves_as)
    return select(needed.plan).where(needed.plan == PlanRow.id, needed.name.in_(names)).correlate(PlanRow).exists()


def ways_to_plans(
    rights: Rights, people: Sequence[str], known: Narrowed, in_states: Sequence[ColumnElement[bool]]
) -> list[Way[str]]:
    """Return the ways to the plans of `people` that fit and that may be seen; together they find each that does.

    `known` narrows them, and so does any of `in_states`, if there are some.
    """
    if not all(known.ends):
        return [_none()]
    found: list[Way[str]] = []
    most = MOST_WAYS // max(1, len(people))
    for person in people:
        if rights.only_planned_by is not None:
            if person == rights.person and known.agent in {None, rights.only_planned_by}:
                found += _of_person(person, replace(known, agent=rights.only_planned_by), in_states, most)
        elif rights.oversees or person == rights.person:
            found += _of_person(person, known, in_states, most)
        else:
            rest = [*replace(known, people=None).conditions(PlanRow), *_any_of(in_states)]
            found += [way.where(*rest) for way in _for_approver(sorted(rights.approves_as), person)]
    return found or [_none()]


def _of_person(person: str, known: Narrowed, in_states: Sequence[ColumnElement[bool]], most: int) -> Iterator[Way[str]]:
    rows, known = _ROWS.where(PlanRow.requester == person), replace(known, people=None)
    if known.agent is not None or known.project is not None:
        yield rows.where(*known.conditions(PlanRow), *_any_of(in_states))
    elif known.ends:
        first, *others = known.ends
        rest = [*replace(known, ends=tuple(others)).conditions(PlanRow), *_any_of(in_states)]
        for end in (PlanRow.source_endpoint, PlanRow.destination_endpoint):
            yield from each_of(rows.where(*rest), end, first, most // 2)
    else:
        rest = known.conditions(PlanRow)
        yield from (rows.where(*one, *rest) for one in ([[state] for state in in_states] or [[]]))


def _any_of(in_states: Sequence[ColumnElement[bool]]) -> list[ColumnElement[bool]]:
    return [or_(*in_states)] if in_states else []


def _for_approver(names: Sequence[str], requester: str) -> Iterator[Way[str]]:
    needed = PlanApproverRow
    if len(names) > MOST_WAYS:  # a store takes so many ways at once, and a person may have 1,000 groups
        which = select(needed.plan).where(needed.name.in_(names), needed.requester == requester)
        yield _ROWS.where(PlanRow.requester == requester, PlanRow.id.in_(which))
        return
    rows = select(PlanRow).join(needed, needed.plan == PlanRow.id).where(needed.requester == requester)
    yield from (Way(rows.where(needed.name == name), needed.plan, needed.created) for name in names)


def _none() -> Way[str]:
    return _ROWS.where(one_of(PlanRow.id, ()))
