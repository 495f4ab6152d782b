import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.guardrails import Link, SealError, link, verify_chain


def chain(events: int) -> list[Link]:
    links: list[Link] = []
    for number in range(events):
        links.append(link(links[-1] if links else None, {"kind": "asked", "person": "pn_ada", "n": number}))
    return links


def test_a_chain_is_whole_from_its_first_event_to_its_head() -> None:
    links = chain(5)
    verdict = verify_chain((entry.record for entry in links), links[-1].hash)
    assert (verdict.intact, verdict.events, verdict.head) == (True, 5, links[-1].hash)
    assert verify_chain([]).intact


def test_a_chain_may_have_gone_on_since_its_head_was_exported() -> None:
    links = chain(5)
    assert verify_chain((entry.record for entry in links), links[2].hash).intact


def test_each_event_holds_the_hash_of_the_one_before() -> None:
    first, second = chain(2)
    assert json.loads(first.record)["previous"] == "0" * 64
    assert json.loads(second.record) == {
        "kind": "asked",
        "n": 1,
        "person": "pn_ada",
        "previous": first.hash,
        "sequence": "2",
    }


@given(st.integers(0, 4), st.binary(max_size=30) | st.just(b"null"))
def test_a_changed_event_breaks_the_chain(at: int, other: bytes) -> None:
    records = [entry.record for entry in chain(5)]
    head = chain(5)[-1].hash
    records[at] = other
    verdict = verify_chain(records, head)
    assert not verdict.intact
    assert verdict.broken_at == at + 1


@given(st.integers(0, 3))
def test_an_event_edited_in_place_is_noticed_at_the_next_one_even_without_a_head(at: int) -> None:
    records = [entry.record for entry in chain(5)]
    records[at] = records[at].replace(b"pn_ada", b"pn_eve")
    assert verify_chain(records).broken_at == at + 2


@given(st.data())
def test_removed_repeated_and_swapped_events_break_the_chain(data: st.DataObject) -> None:
    links = chain(6)
    order = data.draw(st.lists(st.integers(0, 5), max_size=8))
    verdict = verify_chain((links[at].record for at in order), links[-1].hash)
    assert verdict.intact == (order == list(range(6)))


def test_events_cut_off_at_the_end_are_noticed_with_an_exported_head() -> None:
    links = chain(5)
    records = [entry.record for entry in links[:3]]
    assert verify_chain(records).intact
    assert not verify_chain(records, links[-1].hash).intact


def test_a_rewritten_chain_does_not_reach_the_exported_head() -> None:
    head = chain(3)[-1].hash
    rewritten = link(link(link(None, {"kind": "asked"}), {"kind": "asked"}), {"kind": "asked"})
    assert rewritten.sequence == 3
    forged: list[Link] = []
    for _ in range(3):
        forged.append(link(forged[-1] if forged else None, {"kind": "asked", "person": "pn_eve"}))
    assert not verify_chain((entry.record for entry in forged), head).intact


def test_an_event_that_can_not_be_written_down_is_refused() -> None:
    with pytest.raises(SealError):
        link(None, {"share": 0.5})  # type: ignore[dict-item]  # that a float is refused is the point
    with pytest.raises(ValueError, match="65"):
        link(None, {"words": "x" * 65_536})
    for name in ("previous", "sequence"):
        with pytest.raises(ValueError, match=name):
            link(None, {name: "1"})
