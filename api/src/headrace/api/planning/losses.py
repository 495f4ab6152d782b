"""What a plan would replace and delete, name by name: the lists that its survey made, page by page."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.data_folder import lists_dir
from headrace.api.errors import Code, ServiceError
from headrace.api.paging import ListFile, Place, made_up
from headrace.api.planning.plan_queries import Plans
from headrace.api.planning.redaction import Redaction
from headrace.client import models as m
from headrace.guardrails import path_text

_LISTS: Final[tuple[tuple[m.LossKind, str], ...]] = (("replaced", "overwrites.jsonl"), ("deleted", "deletes.jsonl"))
"""Both lists in their order; places count them from 1."""
_SECOND_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Losses:
    """Reads the lists of plans."""

    core: Core
    plans: Plans
    redaction: Redaction

    async def page(
        self, caller: Caller, plan: str, how: m.LossKind | None, *, after: str | None, limit: int
    ) -> m.LossPage:
        """List what a plan would replace, then what it would delete; raises `names_withheld` for assistants."""
        async with self.core.database.read() as tx:
            row = await self.plans.row(tx, caller, plan)
            [withheld] = await self.redaction.withheld(tx, caller, [row])
        if withheld:
            raise ServiceError(Code.NAMES_WITHHELD, "these names are withheld from assistants; the requester sees them")
        card = m.Plan.model_validate_json(row.card)
        survey = card.survey
        if survey is None or row.state == m.PlanState.SURVEYING:
            raise ServiceError(Code.PLAN_NOT_READY, f"nothing was listed for plan `{row.id}`: it is {row.state}")
        moves = card.intent is not None and card.intent.action == "move" and how != "replaced"
        moved = survey.files + survey.identical_files if moves else 0
        if not survey.overwrites + survey.deletes:
            return m.LossPage(items=[], moved=moved)
        folder = lists_dir(self.core.settings.data, row.id)
        wanted = [(n, kind, folder / name) for n, (kind, name) in enumerate(_LISTS, 1) if how in {None, kind}]
        page = await asyncio.to_thread(_page, wanted, after, limit)
        return page.model_copy(update={"moved": moved})


def _page(wanted: Sequence[tuple[int, m.LossKind, Path]], after: str | None, limit: int) -> m.LossPage:
    """Read one list after the other until the page is full."""
    place = Place.read(after) if after is not None else None
    if place is not None and (place.unit != "b" or place.number not in {number for number, _, _ in wanted}):
        raise made_up(after or "")
    items: list[m.Loss] = []
    for number, kind, path in wanted:
        if place is not None and number < place.number:
            continue
        if not path.is_file():
            raise ServiceError(Code.NO_FILE_LIST, "the lists of this plan are no longer kept here")
        offset = place.offset if place is not None and number == place.number else 0
        entries, following = ListFile(path, number).page(offset, limit - len(items))
        items += [_loss(kind, entry) for entry in entries]
        if following is not None:
            return m.LossPage(items=items, next=following)
    return m.LossPage(items=items)


def _loss(kind: m.LossKind, entry: dict[str, Any]) -> m.Loss:
    return m.Loss(
        how=kind,
        path=path_text(entry["path"]).removeprefix("/"),
        kind=entry["type"],
        bytes=int(entry["size"]),
        modified=_time(int(entry["mtime_ns"])),
    )


def _time(nanoseconds: int) -> datetime | None:
    """Read a time of storage; one that no calendar here has is left out."""
    try:
        return datetime.fromtimestamp(nanoseconds // _SECOND_NS, UTC)
    except (ValueError, OverflowError, OSError):
        return None
