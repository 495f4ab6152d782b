"""What the campaign of kills (tests/slow) holds against itself: its moments and the nodes' return."""

import pytest
from tests.slow.kill_service.house import Back
from tests.slow.kill_service.verdict import MUST_BE_HIT, late_nodes, missed

ALL = dict.fromkeys(MUST_BE_HIT, 1)


@pytest.mark.parametrize("moment", MUST_BE_HIT)
def test_a_long_campaign_that_never_hit_a_moment_fails(moment: str) -> None:
    assert missed(ALL, 200) == []
    [finding] = missed(ALL | {moment: 0}, 200)
    assert f"`{moment}`" in finding
    assert missed(ALL | {moment: 0}, 199) == []


def test_nodes_that_come_back_late_fail_it_on_a_quiet_host_only() -> None:
    assert late_nodes([Back(2.0, 0.1), Back(30.0, 2.0)]) == []
    [finding] = late_nodes([Back(0.2, 0.1), Back(2.1, 1.9)])
    assert "2.1 s" in finding
