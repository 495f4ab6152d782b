"""What another host has received of the audit chain: what a restored service leaves there."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from headrace.api.audit.heads import HeadsFile
from headrace.api.audit.received import verify_received
from headrace.guardrails import Link, SigningKey, link

KEY = SigningKey.from_seed(bytes(32))
AT = datetime(2026, 11, 27, tzinfo=UTC)


def grown(last: Link | None, kinds: str) -> Iterator[Link]:
    """Go on with a chain by one event a letter."""
    for kind in kinds:
        last = link(last, {"kind": kind})
        yield last


def lines(links: list[Link]) -> list[bytes]:
    """What is received of these events, and of the head behind them."""
    head = HeadsFile(Path("/nowhere/heads"), KEY).signed(links[-1].sequence, links[-1].hash, AT).encode()
    return [*(b'{"event":%b,"hash":%b}' % (one.record, json.dumps(one.hash).encode()) for one in links), head]


def test_two_chains_with_one_past_are_told_to_be_perhaps_a_restored_service_and_where_to_part_the_log() -> None:
    before = list(grown(None, "abc"))
    lost, after = list(grown(before[-1], "de")), list(grown(before[-1], "wxyz"))
    log = [*lines(before), *lines(lost), *lines(after)]
    found = verify_received(log, KEY.public)
    begins = len(lines(before)) + len(lines(lost)) + 1
    assert (found.intact, found.broken_at) == (False, 4)
    assert "restored from a backup" in found.detail
    assert f"those from line {begins} on" in found.detail
    assert verify_received(log[: begins - 1], KEY.public).intact
    assert verify_received(log[begins - 1 :], KEY.public).intact


def test_an_event_that_is_not_what_its_hash_says_is_called_altered_and_nothing_else() -> None:
    chain = list(grown(None, "abc"))
    forged = lines(chain)[1].replace(b'"kind":"b"', b'"kind":"x"')
    found = verify_received([*lines(chain), forged], KEY.public)
    assert (found.broken_at, found.detail) == (2, "event 2 is there in two forms, one of them altered")
