"""How long a transfer may take: fitted to those before it, and never led far astray by nonsense among them."""

import math
import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as some

from headrace.api.planning.time_model import Deleted, Moved, fit

GB = 10**9
SIZES = some.integers(0, 10**18)
FILES = some.integers(1, 10**9)
ANYTHING = some.builds(Moved, SIZES, FILES, some.floats(allow_nan=True, allow_infinity=True))


def pair(seed: int, count: int, noise: float) -> list[Moved]:
    """Transfers of a made pair of endpoints: 1 GB/s, 0.3 ms a file, half a second for each."""
    chance = random.Random(seed)  # noqa: S311 - the same every time
    made = []
    for _ in range(count):
        bytes_, files = int(10 ** chance.uniform(6, 12)), int(10 ** chance.uniform(0, 5))
        seconds = bytes_ / GB + files * 3e-4 + 0.5
        made.append(Moved(bytes_, files, seconds * math.exp(chance.gauss(0, noise))))
    return made


def test_without_a_transfer_there_is_no_answer() -> None:
    assert fit([]) is None
    assert fit([Moved(GB, 0, 1), Moved(GB, 1, 0), Moved(GB, 1, math.nan), Moved(GB, 1, -3)]) is None


def test_what_made_the_times_is_found_again() -> None:
    model = fit(pair(1, 30, 0))
    assert model is not None
    assert (model.byte_s, model.file_s, model.fixed_s) == pytest.approx((1 / GB, 3e-4, 0.5), rel=0.01)
    assert model.transfers == 30


@given(some.lists(ANYTHING, min_size=1, max_size=12), SIZES, FILES, some.none() | some.integers(1, 10**12))
def test_whatever_is_known_an_estimate_is_a_range_of_times(
    known: list[Moved], bytes_: int, files: int, rate_bps: int | None
) -> None:
    model = fit(known)
    if model is None:
        return
    assert min(model.byte_s, model.file_s, model.fixed_s) >= 0
    found = model.seconds(bytes_, files, rate_bps)
    assert 0 < found.low <= found.likely <= found.high < math.inf
    assert rate_bps is None or found.low >= bytes_ * 8 / rate_bps


@given(some.lists(ANYTHING, min_size=1, max_size=12), SIZES, FILES, some.integers(0, 10**15), some.integers(0, 10**6))
def test_more_never_takes_less(known: list[Moved], bytes_: int, files: int, more: int, more_files: int) -> None:
    model = fit(known)
    if model is None:
        return
    less, whole = model.seconds(bytes_, files), model.seconds(bytes_ + more, files + more_files)
    assert less.likely <= whole.likely * (1 + 1e-9)
    assert less.high <= whole.high * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_fifth_of_nonsense_leads_nobody_astray(seed: int) -> None:
    known = pair(seed, 40, 0.05)
    mad = [
        Moved(one.bytes, one.files, one.seconds * (1000 if number % 2 else 0.001)) for number, one in enumerate(known)
    ]
    model = fit(known[:32] + mad[32:])
    assert model is not None
    for one in pair(seed + 100, 20, 0):
        assert model.seconds(one.bytes, one.files).likely == pytest.approx(one.seconds, rel=0.15)


@pytest.mark.parametrize(("seen", "held", "most_off"), [(1, 0.5, 1), (3, 0.75, 0.2), (8, 0.9, 0.15), (30, 0.9, 0.15)])
def test_from_eight_transfers_on_half_are_within_15_percent_and_the_range_holds_for_nine_of_ten(
    seen: int, held: float, most_off: float
) -> None:
    off, within = [], []
    for seed in range(30):
        model = fit(pair(seed, seen, 0.1))
        assert model is not None
        for one in pair(seed + 1000, 20, 0.1):
            if model.reaches(one.bytes, one.files):
                found = model.seconds(one.bytes, one.files)
                off.append(abs(found.likely / one.seconds - 1))
                within.append(found.low <= one.seconds <= found.high)
    assert median(off) <= most_off
    assert sum(within) / len(within) >= held


def test_a_transfer_far_beyond_what_is_known_is_not_promised_by_what_small_ones_cost_at_the_least() -> None:
    model = fit([Moved(1000, 1, 0.5)] * 10)
    assert model is not None
    assert model.seconds(1000, 1).likely == pytest.approx(0.5)
    assert not model.reaches(GB, 1)
    assert model.seconds(GB, 1).high >= GB * 0.5 / 1000


def test_what_is_deleted_comes_on_top_at_what_a_name_cost_before() -> None:
    known = pair(1, 30, 0)
    model = fit(known, [Deleted(1000, 0.2), Deleted(10_000, 2.0), Deleted(5, 900.0), Deleted(0, 1.0), Deleted(9, 0.0)])
    assert model is not None
    assert model.delete_s == pytest.approx(2e-4), "nonsense is outvoted"
    without, whole = model.seconds(GB, 10), model.seconds(GB, 10, None, 1_000_000)
    assert whole.likely - without.likely == pytest.approx(200)
    assert whole.low < without.low + 200 < without.high + 200 < whole.high
    held = model.seconds(GB, 10, 8 * 10**6, 1_000_000)
    assert held.likely == pytest.approx(1000 + 200), "the ceiling holds back what is copied, and not what is deleted"


def test_deletes_that_nobody_measured_cost_nothing_and_that_is_known() -> None:
    model = fit(pair(1, 30, 0))
    assert model is not None
    assert model.delete_s is None
    assert model.seconds(GB, 10, None, 10**6) == model.seconds(GB, 10)


def test_many_files_are_not_taken_for_as_many_transfers_of_one_file() -> None:
    model = fit([Moved(12_000_000, 1, 0.6), Moved(213_000_000, 1, 8.1)])
    assert model is not None
    assert model.file_s == 0.0, "what one file and a transfer cost can't be told apart"
    found = model.seconds(14_000_000, 120)
    assert 0.5 < found.likely < 2
    assert found.low < 0.6 < found.high
