"""In which ways a list finds the transfers that a caller may see, each along an index in the order of time.

Everybody's by state, endpoint, assistant, project or person, for who sees everything; one's own, and those of plans
that needed the approval of one's roles or groups, for who does not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, select

from headrace.api.planning.plan_ways import Rights
from headrace.api.planning.whose import Narrowed, one_of
from headrace.api.store.tables_work import TransferApproverRow, TransferRow
from headrace.api.store.ways import MOST_WAYS, Way, each_of
from headrace.client import models as m

_ROWS = Way(select(TransferRow), TransferRow.id, TransferRow.created)
Conditions = Sequence[ColumnElement[bool]]


def ways_to(rights: Rights, known: Narrowed, states: Sequence[m.TransferState]) -> list[Way[str]]:
    """Return the ways to transfers that fit and that may be seen; together they find each that does."""
    if not all(known.ends):
        # An endpoint or label that there is not: nobody's transfers need be looked through for it.
        return [_none()]
    states = tuple(dict.fromkeys(states))
    if rights.oversees and rights.only_planned_by is None:
        return _named(known, states)
    found: list[Way[str]] = []
    if known.people is None or rights.person in known.people:
        own = replace(known, people=(rights.person,))
        if rights.only_planned_by is None:
            found += _named(own, states)
        elif known.agent in {None, rights.only_planned_by}:
            found += _named(replace(own, agent=rights.only_planned_by), states)
    if rights.only_planned_by is None:
        narrowed = [*known.conditions(TransferRow), *_in(states)]
        found += [way.where(*narrowed) for way in _for_approver(sorted(rights.approves_as))]
    return found or [_none()]


def _named(known: Narrowed, states: Sequence[m.TransferState]) -> list[Way[str]]:
    """Return the ways to everybody's transfers, or to those of the people who are named."""
    return _among_all(known, states) if known.project is None else list(_of_project(known, states))


def _of_project(known: Narrowed, states: Sequence[m.TransferState]) -> Iterator[Way[str]]:
    """Yield the ways to a project's transfers, by its index, or by that of each person's of it."""
    rest = [*replace(known, people=None).conditions(TransferRow), *_in(states)]
    if known.people is None or len(known.people) > MOST_WAYS:
        yield _ROWS.where(*known.conditions(TransferRow), *_in(states))
        return
    for person in known.people:
        yield _ROWS.where(TransferRow.requester == person, *rest)
    if not known.people:
        yield _none()


def _among_all(known: Narrowed, states: Sequence[m.TransferState]) -> list[Way[str]]:
    if known.people is not None:
        return _of_people(known, states)
    if known.agent is None and known.ends:
        # The index of an endpoint goes by state as well, where one is asked for: few may have it.
        return list(_of_endpoints(_ROWS, known, [[TransferRow.state == state] for state in states] or [[]], MOST_WAYS))
    if known.agent is None and states:
        return [_ROWS.where(TransferRow.state == state) for state in states]
    # By the assistant's index if one is named, else from the newest on.
    return [_ROWS.where(*known.conditions(TransferRow), *_in(states))]


def _of_people(known: Narrowed, states: Sequence[m.TransferState]) -> list[Way[str]]:
    """Return the ways to the transfers of the people who are named."""
    rest = replace(known, people=None)
    found: list[Way[str]] = []
    for person in known.people or ():
        rows = _ROWS.where(TransferRow.requester == person)
        if known.agent is None and known.ends:
            found += _of_endpoints(rows, rest, [_in(states)], MOST_WAYS // len(known.people or "1"))
        elif known.agent is None and states:
            found += [rows.where(TransferRow.state == state) for state in states]
        else:
            found.append(rows.where(*rest.conditions(TransferRow), *_in(states)))
    if len(found) > MOST_WAYS:
        return [_ROWS.where(*known.conditions(TransferRow), *_in(states))]
    return found or [_none()]


def _of_endpoints(rows: Way[str], known: Narrowed, in_states: Sequence[Conditions], most: int) -> Iterator[Way[str]]:
    """Yield the ways to those of `rows` that go from or to the endpoints of the first group."""
    first, *others = known.ends
    rest = replace(known, ends=tuple(others)).conditions(TransferRow)
    for end in (TransferRow.source_endpoint, TransferRow.destination_endpoint):
        for state in in_states:
            yield from each_of(rows.where(*state, *rest), end, first, most // (2 * len(in_states)))


def _in(states: Sequence[m.TransferState]) -> Conditions:
    return [TransferRow.state.in_(states)] if states else []


def _for_approver(names: Sequence[str]) -> Iterator[Way[str]]:
    needed = TransferApproverRow
    if len(names) > MOST_WAYS:  # a store takes so many ways at once, and a person may have 1,000 groups
        yield _ROWS.where(TransferRow.id.in_(select(needed.transfer).where(needed.name.in_(names))))
        return
    rows = select(TransferRow).join(needed, needed.transfer == TransferRow.id)
    yield from (Way(rows.where(needed.name == name), needed.transfer, needed.created) for name in names)


def _none() -> Way[str]:
    return _ROWS.where(one_of(TransferRow.id, ()))
