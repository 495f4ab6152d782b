"""Whose plans and transfers a list shows: of an endpoint or a label, of a person, of an assistant, of a project."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from headrace.api.sites.endpoint_pages import labelled
from headrace.api.store import Tx
from headrace.api.store.names import people_named
from headrace.api.store.tables_site import EndpointNameRow, EndpointRow
from headrace.api.store.tables_work import PlanRow, TransferRow
from headrace.api.store.ways import MOST_WAYS, any_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """As it is asked for; what is empty narrows nothing."""

    endpoint: str = ""
    """Its id or an alias: as source or destination."""
    label: str = ""
    """`classification=restricted`, or a label's name alone: of the source's or the destination's endpoint."""
    person: str = ""
    """Id or name of the requester."""
    agent: str = ""
    """The assistant that planned it."""
    project: str = ""
    """The project that it is for."""

    async def known(self, tx: Tx) -> "Narrowed":
        """Look up what the names stand for now; what is unknown fits nothing."""
        ends: list[tuple[str, ...]] = []
        if self.endpoint:
            named = select(EndpointNameRow.endpoint).where(EndpointNameRow.name_key == self.endpoint.casefold())
            ends.append(tuple(await tx.scalars(named)))
        if self.label:
            fitting = select(EndpointRow.pk).where(labelled(self.label)).order_by(EndpointRow.pk)
            ends.append(tuple(await tx.scalars(fitting)))
        return Narrowed(
            ends=tuple(ends),
            people=await people_named(tx, self.person) if self.person else None,
            agent=self.agent or None,
            project=self.project or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """What a list is narrowed to, by the keys of the store; `None` narrows nothing, an empty tuple fits nothing."""

    ends: tuple[tuple[str, ...], ...] = ()
    """Endpoints, of each group one is the source or the destination."""
    people: tuple[str, ...] | None = None
    agent: str | None = None
    project: str | None = None

    def conditions(self, row: type[PlanRow | TransferRow]) -> list[ColumnElement[bool]]:
        """Return the conditions on a row."""
        found: list[ColumnElement[bool]] = []
        if self.people is not None:
            found.append(one_of(row.requester, self.people))
        if self.agent is not None:
            found.append(row.agent == self.agent)
        if self.project is not None:
            found.append(row.project == self.project)
        return found + [or_(one_of(row.source_endpoint, e), one_of(row.destination_endpoint, e)) for e in self.ends]


ANYBODYS: Final = Narrowing()


def one_of(column: InstrumentedAttribute[str], values: Sequence[str]) -> ColumnElement[bool]:
    """Say that a column has one of some values; one alone is compared, so that its index is in the list's order."""
    if len(values) == 1:
        return column == values[0]
    return column.in_(values if len(values) <= MOST_WAYS else any_of(values))
