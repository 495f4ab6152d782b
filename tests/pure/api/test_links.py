"""Who runs over which links, and how a link is divided among the nodes behind it."""

import pytest

from headrace.api.policy.links import Moving, Path, divide, path_of
from headrace.client import models as m

KEYS = {"left": "L", "other": "O", "right": "R", "far": "F"}


def document(*links: m.QosLink, **weights: int) -> m.QosDocument:
    classes = [m.QosClass(name=name, weight=weight) for name, weight in (weights or {"bulk": 10}).items()]
    return m.QosDocument(links=list(links), classes=classes)


UPLINK = m.QosLink(name="uplink", rate_bps=900, nodes=["left", "other"])


def test_a_transfer_takes_a_link_where_one_end_is_behind_it_and_the_other_is_not() -> None:
    to_peers = m.QosLink(name="wan", rate_bps=900, nodes=["left"], peers=["far"])
    held = document(UPLINK, to_peers)
    assert path_of(held, KEYS, "L", "R") == Path(("uplink",), ())
    assert path_of(held, KEYS, "R", "O") == Path((), ("uplink",))
    assert path_of(held, KEYS, "L", "O") == Path(), "both are behind it"
    assert path_of(held, KEYS, "F", "L") == Path((), ("uplink", "wan"))
    assert path_of(held, KEYS, "R", "F") == Path()
    assert path_of(held, {}, "L", "R") == Path(), "no node of these names is here"


def test_a_node_that_is_alone_behind_a_link_has_it_whole() -> None:
    alone = m.QosLink(name="card", rate_bps=800, nodes=["left"])
    divided = divide(document(alone), KEYS, [Moving("a", "bulk", "L", "R", Path(("card",)))])
    assert divided.nodes["L"]["card"].rate_bps == 800
    assert divided.entitled_bps == pytest.approx({"a": 800})


def test_nodes_behind_one_link_divide_it_by_what_runs_there() -> None:
    held = document(UPLINK, bulk=1, fast=2)
    moving = [
        Moving("a", "bulk", "L", "R", Path(("uplink",))),
        Moving("b", "fast", "O", "R", Path(("uplink",))),
    ]
    divided = divide(held, KEYS, moving)
    assert [divided.nodes[node]["uplink"].rate_bps for node in "LO"] == pytest.approx([300, 600], abs=1)
    assert divided.entitled_bps == pytest.approx({"a": 300, "b": 600})


@pytest.mark.parametrize(
    ("rate", "ceiling", "others", "held"),
    [
        (900, 300, 0, True),
        (900, 300, 1, True),
        (900, 900, 0, False),
        (900, 2000, 0, False),
        (900, 500, 9, False),
        (900, None, 0, False),
        (None, 300, 0, True),
        (None, None, 0, False),
    ],
)
def test_the_ceiling_of_a_class_holds_who_fill_it_together_and_nobody_whom_the_link_leaves_less(
    rate: int | None, ceiling: int | None, others: int, *, held: bool
) -> None:
    link = m.QosLink(name="uplink", rate_bps=rate, nodes=["left"])
    low = m.QosClass(name="low", weight=1, links=[m.QosClassLink(link="uplink", ceiling_bps=ceiling)])
    kept = m.QosDocument(links=[link], classes=[low, m.QosClass(name="high", weight=1 + others)])
    path = Path(("uplink",))
    moving = [Moving("a", "low", "L", "R", path), Moving("b", "low", "L", "F", path)]
    if others:
        moving.append(Moving("c", "high", "L", "R", path))
    expected = {"a": ("uplink", ceiling), "b": ("uplink", ceiling)} if held else {}
    assert divide(kept, KEYS, moving).capped == expected


def test_of_two_links_the_tighter_one_says_whether_a_ceiling_holds() -> None:
    wan = m.QosLink(name="wan", rate_bps=100, nodes=["right"])
    low = m.QosClass(name="low", links=[m.QosClassLink(link="uplink", ceiling_bps=300)])
    moving = [Moving("a", "low", "L", "R", Path(("uplink",), ("wan",)))]
    assert divide(m.QosDocument(links=[UPLINK, wan], classes=[low]), KEYS, moving).capped == {}
    wider = wan.model_copy(update={"rate_bps": 400})
    found = divide(m.QosDocument(links=[UPLINK, wider], classes=[low]), KEYS, moving).capped
    assert found == {"a": ("uplink", 300)}


def test_what_a_node_does_not_use_is_the_others_until_it_wants_it_again() -> None:
    mega = 1_000_000
    link = m.QosLink(name="uplink", rate_bps=900 * mega, nodes=["left", "other"])
    held = document(link, bulk=1)

    def rates(took: float | None, entitled: float) -> list[int | None]:
        path = Path(("uplink",))
        moving = [
            Moving("a", "bulk", "L", "R", path, took_bps=took, entitled_bps=entitled),
            Moving("b", "bulk", "O", "R", path),
        ]
        divided = divide(held, KEYS, moving)
        return [divided.nodes[node]["uplink"].rate_bps for node in "LO"]

    assert rates(None, 450 * mega) == pytest.approx([450 * mega, 450 * mega], abs=1)
    assert rates(80 * mega, 450 * mega) == pytest.approx([101 * mega, 799 * mega], abs=1)
    assert rates(80 * mega, 101 * mega) == pytest.approx([101 * mega, 799 * mega], abs=1), "it keeps room above that"
    assert rates(100 * mega, 101 * mega) == pytest.approx([450 * mega, 450 * mega], abs=1), "it fills what it has"


def test_a_node_is_told_its_part_of_a_link_for_each_direction() -> None:
    moving = [
        Moving("a", "bulk", "L", "R", Path(("uplink",))),
        Moving("b", "bulk", "R", "L", Path((), ("uplink",))),
        Moving("c", "bulk", "O", "R", Path(("uplink",))),
    ]
    divided = divide(document(UPLINK, bulk=1), KEYS, moving)
    sends = [divided.nodes[node]["uplink"].of("out").rate_bps for node in "LO"]
    receives = [divided.nodes[node]["uplink"].of("in").rate_bps for node in "LO"]
    assert sends == pytest.approx([450, 450], abs=1)
    assert receives == pytest.approx([900, 450], abs=1), "nothing is received by the other one"


def test_floors_and_ceilings_of_a_class_are_divided_with_the_link() -> None:
    own = m.QosClassLink(link="uplink", floor_bps=300, ceiling_bps=600)
    held = m.QosDocument(links=[UPLINK], classes=[m.QosClass(name="bulk", links=[own])])
    path = Path(("uplink",))
    moving = [Moving(name, "bulk", node, "R", path) for name, node in (("a", "L"), ("b", "O"))]
    divided = divide(held, KEYS, moving)
    told = [divided.nodes[node]["uplink"].classes["bulk"] for node in "LO"]
    assert sum(one.floor_bps for one in told) == pytest.approx(300)
    assert sum(one.ceiling_bps or 0 for one in told) == pytest.approx(600)


def test_a_link_without_a_capacity_is_not_divided() -> None:
    open_ = m.QosLink(name="uplink", nodes=["left", "other"])
    divided = divide(document(open_), KEYS, [Moving("a", "bulk", "L", "R", Path(("uplink",)))])
    assert divided.nodes["L"]["uplink"].rate_bps is None
    assert divided.entitled_bps == {}
