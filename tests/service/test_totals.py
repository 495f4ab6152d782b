"""What stays of a transfer's progress once its nodes have signed."""

from datetime import UTC, datetime

from headrace.api.transfers.receipts import Totals, changed_in
from headrace.client import models as m

AT = datetime(2026, 11, 22, tzinfo=UTC)


def test_the_counts_that_stay_are_the_signed_ones_whatever_was_counted_on_the_way() -> None:
    counted = m.Progress(
        files_total=9, files_done=8, bytes_total=900, bytes_received=800, bytes_durable=700, resent_bytes=60, at=AT
    )
    final = Totals(files=3, bytes=300, identical=1, failed=0, resent=5).final(counted, resent_before=2, for_good=0)
    assert final == m.Progress(
        files_total=3,
        files_done=3,
        files_identical=1,
        identical_by="size-mtime",
        bytes_total=300,
        bytes_received=300,
        bytes_durable=300,
        resent_bytes=7,
        at=AT,
    )


def test_what_was_thrown_away_of_a_file_that_failed_counts_as_not_arrived() -> None:
    counted = m.Progress(files_total=2, bytes_total=419, bytes_durable=251, at=AT)
    final = Totals(files=1, bytes=100, identical=0, failed=1, resent=0).final(counted, resent_before=0, for_good=0)
    assert (final.bytes_total, final.bytes_durable, final.bytes_failed) == (419, 100, 319)
    # A retry of the failed file alone counts no more than that one; what arrived before it stays in the total.
    again = m.Progress(files_total=1, bytes_total=319, bytes_durable=151, at=AT)
    totals = Totals(files=1, bytes=100, identical=0, failed=1, resent=0, bytes_before=100)
    final = totals.final(again, resent_before=0, for_good=0)
    assert (final.bytes_total, final.bytes_durable, final.bytes_failed) == (419, 100, 319)


def test_sources_of_a_move_that_stay_are_counted_and_said_with_their_reasons() -> None:
    kept = (
        m.KeptSources(reason=m.KeptReason.CHANGED, count=1, detail="it changed after it was copied"),
        m.KeptSources(reason=m.KeptReason.STOPPED, count=2000, detail="stopped on request"),
    )
    totals = Totals(files=3, bytes=300, identical=0, failed=0, resent=0, kept=kept)
    assert totals.final(m.Progress(at=AT), resent_before=0, for_good=0).sources_kept == 2001
    assert totals.sentence("complete", "in 1 s", "at-rest") == (
        "complete: 3 files there (3 copied and verified at-rest, 300 bytes), in 1 s. "
        "Sources that stay: 1 changed after the copy, 2,000 left when the transfer was stopped."
    )


def test_what_a_sync_deleted_is_counted_and_said() -> None:
    totals = Totals(files=3, bytes=300, identical=0, failed=0, resent=0, deleted=1)
    final = totals.final(m.Progress(at=AT), resent_before=0, for_good=0)
    assert (final.deleted, final.deleted_to_trash) == (1, False)
    assert totals.sentence("complete", "in 1 s", "at-rest") == (
        "complete: 3 files there (3 copied and verified at-rest, 300 bytes; 1 entry deleted at the destination), "
        "in 1 s."
    )


def test_only_what_was_copied_is_called_verified() -> None:
    """What is taken as the same by size and time was not read; what has the same checksum was."""
    said = Totals(files=3, bytes=300, identical=1, failed=0, resent=0).sentence("complete", "in 1 s", "in-transit")
    assert said == (
        "complete: 3 files there (2 copied and verified in-transit, 300 bytes; "
        "1 taken as the same by size and time, not read), in 1 s."
    )
    none = Totals(files=3, bytes=0, identical=3, failed=0, resent=0)
    assert "verified" not in none.sentence("complete", "in 1 s", "in-transit")
    assert "verified" not in Totals(files=0, bytes=0, identical=0, failed=0, resent=0).sentence(
        "complete", "", "at-rest"
    )
    read = Totals(files=3, bytes=0, identical=3, failed=0, resent=0, by_checksum=True)
    said = read.sentence("complete", "in 1 s", "in-transit")
    assert said == "complete: 3 files there (0 copied, 0 bytes; 3 have the same checksum already), in 1 s."
    assert read.final(m.Progress(at=AT), resent_before=0, for_good=0).identical_by == "checksum"


def test_what_changed_while_it_was_copied_is_said() -> None:
    totals = Totals(files=3, bytes=300, identical=0, failed=0, resent=5, changed=1)
    assert "; 1 changed after the plan or while being copied" in totals.sentence("complete", "in 1 s", "at-rest")


def test_a_file_that_changed_in_several_attempts_counts_once_and_one_of_an_earlier_attempt_counts() -> None:
    """What a partial transfer brought before its retry came in the later form, too."""
    first, second = {"changed": ["a", "b", "a"]}, {"changed": ["b", "c"]}
    assert changed_in([first, second]) == 3
    assert changed_in([{"changed": "no list"}, {}]) == 0
