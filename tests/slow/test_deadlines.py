"""The short form of `make lab-deadlines`: what is promised on a link that others fill is kept."""

import random
from pathlib import Path

import pytest
from benchmarks.deadlines import measure, summary


@pytest.mark.anyio
@pytest.mark.timeout(120)
async def test_deadlines_that_are_promised_beside_others_are_kept(tmp_path: Path) -> None:
    found = await measure(tmp_path, random.Random(7), 6)  # noqa: S311 - no secret
    counted = summary(found.promises, found.refusals)
    assert counted["kept"] == counted["promised"] == 6, found.promises
