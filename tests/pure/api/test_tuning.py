"""Streams and units that are set: the nearest level that says something holds, each value for itself."""

from headrace.api.policy.tuning import effective, of_transfer
from headrace.client import models as m

SITE = m.QosDocument(
    tuning=m.Tuning(streams=2, unit_bytes=1 << 20),
    pairs=[
        m.QosPair(source="lab", destination="archive", streams=16),
        m.QosPair(source="archive", destination="lab", unit_bytes=1 << 24),
    ],
)
NOTHING = m.Tuning()


def test_what_nobody_set_is_for_the_nodes_to_choose() -> None:
    assert effective(m.QosDocument(), NOTHING, "lab", "archive") == m.EffectiveTuning()
    assert of_transfer(None) == m.EffectiveTuning()


def test_the_transfer_goes_before_its_pair_and_the_pair_before_the_site_each_value_for_itself() -> None:
    found = effective(SITE, NOTHING, "lab", "archive")
    assert found.streams == m.Tuned(value=16, level="pair")
    assert found.unit_bytes == m.Tuned(value=1 << 20, level="site")
    found = effective(SITE, m.Tuning(unit_bytes=1 << 18), "lab", "archive")
    assert found.streams == m.Tuned(value=16, level="pair")
    assert found.unit_bytes == m.Tuned(value=1 << 18, level="transfer")


def test_a_pair_counts_one_way() -> None:
    found = effective(SITE, NOTHING, "archive", "lab")
    assert found.streams == m.Tuned(value=2, level="site")
    assert found.unit_bytes == m.Tuned(value=1 << 24, level="pair")
    assert effective(SITE, NOTHING, "lab", "lab").streams == m.Tuned(value=2, level="site")


def test_only_what_was_set_for_the_plan_itself_goes_on_to_a_changed_plan() -> None:
    found = effective(SITE, m.Tuning(unit_bytes=1 << 18), "lab", "archive")
    assert found.own() == m.Tuning(unit_bytes=1 << 18)
