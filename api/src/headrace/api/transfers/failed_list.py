"""The list of what an attempt could not move, page by page: a file of JSON lines.

Where a page goes on is `ATTEMPT.bBYTE`, so that a list of ten million files takes no longer at its end than at its
start. Whoever may not see the names gets `ATTEMPT.eENTRY`: from bytes they would learn how long each name is.
"""

import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from headrace.api.errors import Code, ServiceError
from headrace.client import models as m
from headrace.guardrails import path_text

_PLACE: Final = re.compile(r"([0-9]{1,18})\.([be])([0-9]{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class FailedList:
    """The list of one attempt; its names are `withheld` from the reader, or not."""

    path: Path
    attempt: int
    withheld: bool

    def page(self, after: str | None, limit: int) -> m.Page[m.FailedFile]:
        """Read a page; raises `invalid_request`, `no_file_list`. The names are not left out yet."""
        number = self._number(after)
        if not self.path.is_file():
            raise ServiceError(Code.NO_FILE_LIST, "the list of files that did not arrive is no longer kept here")
        with self.path.open("rb") as lines:
            self._skip(lines, number)
            entries = [json.loads(line) for line in itertools.islice(lines, limit)]
            place = number + len(entries) if self.withheld else lines.tell()
            more = bool(lines.readline())
        items = [
            m.FailedFile(
                path=path_text(entry["path"]).removeprefix("/"),
                error=entry["error"],
                message=entry["message"],
                retry=entry["retry"],
            )
            for entry in entries
        ]
        return m.Page(items=items, next=f"{self.attempt}.{self._unit}{place}" if more else None)

    @property
    def _unit(self) -> str:
        return "e" if self.withheld else "b"

    def _number(self, after: str | None) -> int:
        if after is None:
            return 0
        found = _PLACE.fullmatch(after)
        if found is None or found[2] != self._unit:
            message = f"`after` is `{after[:40]}`; give `next` of the page before"
            raise ServiceError(Code.INVALID_REQUEST, message, fields=("after",))
        if int(found[1]) != self.attempt:
            message = f"attempt {self.attempt} has a list of its own; begin again without `after`"
            raise ServiceError(Code.INVALID_REQUEST, message, fields=("after",))
        return int(found[3])

    def _skip(self, lines: BinaryIO, number: int) -> None:
        if self.withheld:
            next(itertools.islice(lines, number, number), None)
        elif number := min(number, self.path.stat().st_size):
            # Of the line that holds the byte before, whoever made up a place sees nothing.
            lines.seek(number - 1)
            lines.readline()
