"""The list of what an attempt could not move, page by page: a file of JSON lines."""

from dataclasses import dataclass
from pathlib import Path

from headrace.api.errors import Code, ServiceError
from headrace.api.paging import ListFile, Place, made_up
from headrace.api.transfers.advice import advice_on, told
from headrace.client import models as m
from headrace.guardrails import path_text


@dataclass(frozen=True, slots=True)
class FailedList:
    """The list of one attempt; its names are `withheld` from the reader, or not."""

    path: Path
    attempt: int
    withheld: bool

    def page(self, after: str | None, limit: int) -> m.Page[m.FailedFile]:
        """Read a page; raises `invalid_request`, `no_file_list`. The names are not left out yet."""
        kept = ListFile(self.path, self.attempt, self.withheld)
        offset = self._offset(kept, after)
        if not self.path.is_file():
            raise ServiceError(Code.NO_FILE_LIST, "the list of files that did not arrive is no longer kept here")
        entries, next_place = kept.page(offset, limit)
        items = [
            m.FailedFile(
                path=path_text(entry["path"]).removeprefix("/"),
                error=entry["error"],
                message=told(entry["error"], entry["message"]),
                retry=entry["retry"],
                advice=advice_on(entry["error"], retry=entry["retry"]),
            )
            for entry in entries
        ]
        return m.Page(items=items, next=next_place)

    def _offset(self, kept: ListFile, after: str | None) -> int:
        if after is None:
            return 0
        place = Place.read(after)
        if place.unit != kept.unit:
            raise made_up(after)
        if place.number != self.attempt:
            message = f"attempt {self.attempt} has a list of its own; begin again without `after`"
            raise ServiceError(Code.INVALID_REQUEST, message, fields=("after",))
        return place.offset
