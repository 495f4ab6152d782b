"""Pages of the list of endpoints, found along an index in its order: what one costs depends on its length.

A filter looks at rows until the page is full. Both texts that it looks at are in the row itself, so that one that
nothing fits passes 20,000 in a few milliseconds.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, or_, select

from headrace.api.store.dialects import by_value, place_in
from headrace.api.store.tables_site import EndpointRow, NodeRow

_SHOWN: Final[Select[*tuple[Any, ...]]] = (
    select(
        *(EndpointRow.pk, EndpointRow.name_key, EndpointRow.node_key, EndpointRow.root, EndpointRow.access),
        *(EndpointRow.labels, EndpointRow.folder_labels, NodeRow.name.label("node_name")),
    )
    # By each row's node: beginning with the nodes, a store would read and sort all endpoints.
    .join_from(EndpointRow, NodeRow, NodeRow.key == by_value(EndpointRow.node_key))
    .where(NodeRow.state != "revoked")
    .order_by(EndpointRow.name_key)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """Which endpoints a list shows, as it is asked for; what is empty narrows nothing, what is unknown fits nothing."""

    text: str = ""
    """Part of an id, an alias, the root or the node's name, whatever the case."""
    label: str = ""
    """`classification=restricted`, or a label's name alone."""
    node: str = ""
    """Id, name or key of the node."""

    def rows(self, after: str | None, most: int) -> Select[*tuple[Any, ...]]:
        """Select the first `most` endpoints that fit, by id, after the one with the id or alias `after`."""
        query = _SHOWN.limit(most)
        if after is not None:
            query = query.where(EndpointRow.name_key > after.casefold())
        if text := self.text.strip():
            query = query.where(place_in(EndpointRow.searched, text.casefold()) > 0)
        if self.label:
            query = query.where(labelled(self.label))
        if self.node:
            named = or_(NodeRow.id == self.node, NodeRow.name == self.node, NodeRow.key == self.node)
            query = query.where(EndpointRow.node_key.in_(select(NodeRow.key).where(named)))
        return query


def searched(names: Sequence[str], root: str, node: str) -> str:
    """Write what a search for an endpoint looks at."""
    return "\n".join(text.casefold() for text in (*names, root, node))


def labels_text(labels: Mapping[str, str]) -> str:
    """Write the labels of an endpoint as `labelled` finds them."""
    return json.dumps(dict(labels), sort_keys=True)


def labelled(wanted: str) -> ColumnElement[bool]:
    """Say that an endpoint has the label `name=value`, or one of this name.

    No name or value holds a quotation mark (`endpoints.py` refuses it), so what stands between two is all of either.
    """
    name, is_value, value = wanted.partition("=")
    written = f"{json.dumps(name)}: " + (json.dumps(value) if is_value else "")
    return place_in(EndpointRow.labels, written) > 0
