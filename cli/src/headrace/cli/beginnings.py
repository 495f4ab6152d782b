"""What is named by the beginning of its id, where the service wants the whole id."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Final, Protocol

from headrace.client import HeadraceError
from headrace.client import models as m

_LEAST: Final = 4
"""Characters of an id, beside its prefix, that name something."""
_LISTED: Final = 5


class HasId(Protocol):
    """Something with an id."""

    @property
    def id(self) -> str:
        """Its id, such as `tk_` and 32 hex digits."""


def begun_by(known: Iterable[HasId], text: str, things: str) -> str:
    """Return the id of the only one of `known` whose id begins with `text`, with or without its prefix.

    An id that nothing has stays as it is: the service says what stands against it. Several are refused and listed.
    """
    ids = [one.id for one in known]
    bare = text.rpartition("_")[2]
    found = [one for one in ids if one.startswith(text) or ("_" not in text and one.partition("_")[2].startswith(text))]
    if text in ids or len(bare) < _LEAST or not found:
        return text
    if len(found) == 1:
        return found[0]
    more = " and more" if len(found) > _LISTED else ""
    detail = f"`{text}` is the beginning of several {things}: {', '.join(found[:_LISTED])}{more}; give more of the id."
    raise HeadraceError(m.Problem(title="Ambiguous", status=HTTPStatus.CONFLICT, code="ambiguous_id", detail=detail))
