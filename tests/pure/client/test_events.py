"""docs/events.md says every kind of event as it is declared."""

import os
from collections.abc import Iterator
from pathlib import Path

from headrace.client.models import CHANGE_STATES, AuditKind, ChangeKind, TransferEventKind, TransferState

PAGE = Path(__file__).parents[3] / "docs" / "events.md"
INTRO = """# Events

Made from `client/src/headrace/client/models/events.py` by tests/pure/client/test_events.py
(`HEADRACE_WRITE_GOLDEN=1`).
A later version may know more kinds: skip what you do not know.
"""


def test_the_page_of_events_is_as_they_are_declared() -> None:
    fresh = "\n".join((INTRO, *_transfers(), *_changes(), *_audit()))
    if os.environ.get("HEADRACE_WRITE_GOLDEN"):
        PAGE.write_text(fresh, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == fresh, "write it with HEADRACE_WRITE_GOLDEN=1, and review the diff"


def test_every_kind_says_what_it_is_about() -> None:
    for kinds in (TransferEventKind, ChangeKind, AuditKind):
        assert [kind for kind in kinds if not kind.about] == []


def test_every_state_of_a_transfer_has_an_entry_in_its_history() -> None:
    assert {str(state) for state in TransferState} <= {str(kind) for kind in TransferEventKind}


def _transfers() -> Iterator[str]:
    yield "## Of a transfer\n"
    yield "Its history: `GET /transfers/{id}/events`, `headrace watch`, the console. `message` says the rest.\n"
    yield "| kind | says |"
    yield "| --- | --- |"
    yield from (f"| `{kind}` | {kind.about} |" for kind in TransferEventKind)


def _changes() -> Iterator[str]:
    yield "\n## Changes\n"
    yield "What `GET /events` streams. A change carries no data: read its subject anew.\n"
    yield "| kind | says | states |"
    yield "| --- | --- | --- |"
    for kind in ChangeKind:
        states = ", ".join(f"`{state}`" for state in CHANGE_STATES.get(kind, ()))
        yield f"| `{kind}` | {kind.about} | {states} |"


def _audit() -> Iterator[str]:
    yield "\n## Of the audit chain\n"
    yield "`GET /audit`, the console. A value over 1,000 characters is cut; `NAME_sha256` is the digest of the whole.\n"
    yield "| kind | says | `detail` |"
    yield "| --- | --- | --- |"
    for kind in AuditKind:
        yield f"| `{kind}` | {kind.about} | {', '.join(f'`{name}`' for name in sorted(kind.fields))} |"
    yield ""
