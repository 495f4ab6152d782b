"""What is named by the beginning of its id, where the service wants the whole id."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Final, Protocol

from headrace.client import HeadraceError
from headrace.client import models as m

_LEAST: Final = 4
"""Characters of an id, beside its prefix, that name something."""
_LISTED: Final = 5
_CUT_OFF: Final = ".\N{HORIZONTAL ELLIPSIS}"
"""What stands behind an id that was cut off where it was shown."""


class HasId(Protocol):
    """Something with an id."""

    @property
    def id(self) -> str:
        """Its id, such as `tk_` and 32 hex digits."""


def begun_by(known: Iterable[HasId], text: str, things: str) -> str:
    """Return the id of the only one of `known` whose id begins with `text`, with or without its prefix.

    An id that nothing has stays as it is: the service says what stands against it. Several are refused and listed, and
    so is too short a beginning of one.
    """
    ids = [one.id for one in known]
    text = text.rstrip(_CUT_OFF)
    bare = text.rpartition("_")[2]
    found = [one for one in ids if one.startswith(text) or ("_" not in text and one.partition("_")[2].startswith(text))]
    if not text or text in ids or not found:
        return text
    if len(found) == 1 and len(bare) >= _LEAST:
        return found[0]
    if len(found) == 1:
        detail = f"`{text}` is only the beginning of an id: give the whole id, which may be `{found[0]}`."
        raise HeadraceError(m.Problem(title="Not found", status=HTTPStatus.NOT_FOUND, code="not_found", detail=detail))
    more = " and more" if len(found) > _LISTED else ""
    detail = f"`{text}` is the beginning of several {things}: {', '.join(found[:_LISTED])}{more}; give more of the id."
    raise HeadraceError(m.Problem(title="Ambiguous", status=HTTPStatus.CONFLICT, code="ambiguous_id", detail=detail))
