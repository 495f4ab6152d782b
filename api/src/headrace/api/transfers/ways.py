"""In which ways a list finds the transfers that a caller may see, each along an index in the order of time.

Everybody's by state, endpoint, assistant or person, for who sees everything; one's own, and those of plans that needed
the approval of one's roles or groups, for who does not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, select

from headrace.api.planning.plan_queries import Rights
from headrace.api.planning.whose import Narrowed, one_of
from headrace.api.store.tables_work import TransferApproverRow, TransferRow
from headrace.api.store.ways import MOST_WAYS, Way
from headrace.client import models as m

_ROWS = Way(select(TransferRow), TransferRow.id, TransferRow.created)
_EVERY_STATE = tuple(m.TransferState)


def ways_to(rights: Rights, known: Narrowed, states: Sequence[m.TransferState]) -> list[Way[str]]:
    """Return the ways to transfers that fit and that may be seen; together they find each that does."""
    if not all(known.ends):
        # An endpoint or label that there is not: nobody's transfers need be looked through for it.
        return [_none()]
    in_states = [TransferRow.state.in_(states)] if states else []
    if rights.oversees and (rights.agent is None or rights.reads_all):
        return _among_all(known, states, in_states)
    found: list[Way[str]] = []
    if known.people is None or rights.person in known.people:
        own = replace(known, people=(rights.person,))
        if rights.agent is not None and not rights.reads_all:
            mine = TransferRow.agent == rights.agent
            found += [way.where(mine) for way in _of_people(own, states)]
        else:
            found += _of_people(own, states)
    if rights.agent is None or rights.reads_all:
        found += [_for_approver(name).where(*known.conditions(TransferRow), *in_states) for name in _names(rights)]
    return found or [_none()]


def _names(rights: Rights) -> list[str]:
    return sorted(rights.approves_as)


def _among_all(
    known: Narrowed, states: Sequence[m.TransferState], in_states: Sequence[ColumnElement[bool]]
) -> list[Way[str]]:
    if known.people is not None:
        return _of_people(known, states)
    if known.ends:
        of_ends = list(_of_endpoints(known, states or _EVERY_STATE))
        if len(of_ends) <= MOST_WAYS:
            return of_ends
    elif known.agent is None and states:
        return [_ROWS.where(TransferRow.state == state) for state in dict.fromkeys(states)]
    # By the assistant's index if one is named, else from the newest on: what many endpoints have is soon found.
    return [_ROWS.where(*known.conditions(TransferRow), *in_states)]


def _of_people(known: Narrowed, states: Sequence[m.TransferState]) -> list[Way[str]]:
    """Return the ways to the transfers of the people who are named."""
    rest = replace(known, people=None).conditions(TransferRow)
    alone = [TransferRow.requester == person for person in known.people or ()]
    if not states:
        return [_ROWS.where(person, *rest) for person in alone] or [_none()]
    return [
        _ROWS.where(person, TransferRow.state == state, *rest) for person in alone for state in dict.fromkeys(states)
    ] or [_none()]


def _of_endpoints(known: Narrowed, states: Sequence[m.TransferState]) -> Iterator[Way[str]]:
    """Yield the ways to the transfers from or to the endpoints of the first group."""
    first, *others = known.ends
    rest = replace(known, ends=tuple(others)).conditions(TransferRow)
    for endpoint in first:
        for end in (TransferRow.source_endpoint, TransferRow.destination_endpoint):
            for state in dict.fromkeys(states):
                yield _ROWS.where(end == endpoint, TransferRow.state == state, *rest)


def _for_approver(name: str) -> Way[str]:
    needed = TransferApproverRow
    rows = select(TransferRow).join(needed, needed.transfer == TransferRow.id).where(needed.name == name)
    return Way(rows, needed.transfer, needed.created)


def _none() -> Way[str]:
    return _ROWS.where(one_of(TransferRow.id, ()))
