"""What `make steady` says of a run: each finding can be made."""

from tests.slow.steady.verdict import FEWEST_SAMPLES, Sample, grown, quarters

MIB = 1 << 20


def run(mib: list[int], descriptors: int = 40, threads: int = 8) -> list[Sample]:
    """Samples of four quarters, each as large as `mib` says."""
    each = FEWEST_SAMPLES // 4
    return [Sample(10.0 * number, mib[number // each] * MIB, descriptors, threads) for number in range(FEWEST_SAMPLES)]


def test_memory_that_grows_after_it_has_warmed_up_is_found() -> None:
    assert grown(run([50, 200, 205, 209])) == []
    [found] = grown(run([50, 200, 205, 211]))
    assert "from 200" in found
    assert "to 211" in found
    assert quarters(run([50, 200, 205, 211])) == [50, 200, 205, 211]


def test_descriptors_and_threads_that_grow_are_found() -> None:
    before, later = run([200] * 4), run([200] * 4, descriptors=60, threads=20)
    half = FEWEST_SAMPLES // 2
    assert [one.split()[2] for one in grown(before[:half] + later[half:])] == ["descriptors", "threads"]


def test_a_short_run_says_nothing() -> None:
    [found] = grown(run([200] * 4)[:-1])
    assert "let it run longer" in found
