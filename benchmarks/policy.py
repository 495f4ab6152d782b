"""Measure decisions of policies with 100 and 1,000 rules in one process, in processor time.

Other work changes that little. Median, 99th percentile and longest are printed.

.venv/bin/python -m benchmarks.policy
"""

import os
import platform
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from demo.stage import say

from headrace.guardrails import (
    Caller,
    Facts,
    Moment,
    PolicySet,
    ResolvedEndpoint,
    Route,
    decide,
    default_policy_text,
    explain,
    settle,
)

DECISIONS = 500
PROTECTED = 20
"""Places in the folder that is asked for in the second case: each is decided, too."""


def main() -> None:
    """Measure and print."""
    caller = Caller(person="pn_ada", roles=frozenset({"requester"}), groups=frozenset({"lab1"}))
    facts = Facts(moment=Moment(now=datetime.now(UTC)), files=9, bytes=9, max_files=25, max_bytes=99, overwrites=1)
    load = os.getloadavg()[0]
    say(f"{platform.machine()}, Python {platform.python_version()}, load {load:.0f}; {DECISIONS} of each")
    say("| rules | what | processor time, median (ms) | 99th percentile | longest | longest by the clock |")
    say("| --- | --- | --- | --- | --- | --- |")
    for count in (100, 1000):
        policies = site_policy(count)
        narrow, wide = between(("raw", "run42")), between(("wide",))
        asked = decide(policies, "copy", caller, narrow, facts)
        measured: dict[str, Callable[[], object]] = {
            "a folder": partial(decide, policies, "copy", caller, narrow, facts),
            f"a folder that holds {PROTECTED} named places": partial(decide, policies, "copy", caller, wide, facts),
            "what would be allowed instead": partial(explain, policies, asked),
        }
        for what, work in measured.items():
            say(f"| {count:,} | {what} | {timed(work)} |")


def site_policy(count: int) -> PolicySet:
    """Make the default policy with rules added up to `count`, of which each names a group, a label or a place."""
    kinds = (
        'forbid (principal, action == Action::"copy", resource) when {{ resource.source.within.contains("/raw/{n}")}};',
        'permit (principal in Group::"lab{n}", action == Action::"copy", resource);',
        'forbid (principal, action == Action::"sync", resource) when {{ resource.source.labels.contains("x=p{n}") }};',
    )
    wide = [
        f'@id("w{n}") @reason("r") @qos("bulk") permit (principal, action == Action::"copy", resource) '
        f'when {{ resource.source.within.contains("/wide/p{n}") }};'
        for n in range(PROTECTED)
    ]
    text = default_policy_text()
    own = text.count("@id(")
    more = [f'@id("r{n}") @reason("r") {kinds[n % 3].format(n=n)}' for n in range(max(0, count - own - PROTECTED))]
    parsed = PolicySet.parse("\n".join([text, *wide, *more]))
    if not isinstance(parsed, PolicySet):
        raise TypeError(parsed)
    return parsed


def between(path: tuple[str, ...]) -> Route:
    """Make a route from a path to an archive."""

    def end(name: str, at: tuple[str, ...]) -> ResolvedEndpoint:
        return ResolvedEndpoint(endpoint=name, node="n", root="r", path=at, into=True)

    return settle(end("krios1", path), end("archive", ("2026",)))


def timed(work: Callable[[], object]) -> str:
    """Call `work` again and again, and say what a call takes."""
    work()
    found, longest = [], 0.0
    for _ in range(DECISIONS):
        begun, clock = time.thread_time(), time.perf_counter()
        work()
        found.append((time.thread_time() - begun) * 1000)
        longest = max(longest, (time.perf_counter() - clock) * 1000)
    found.sort()
    return f"{statistics.median(found):.2f} | {found[int(len(found) * 0.99)]:.2f} | {found[-1]:.2f} | {longest:.0f}"


if __name__ == "__main__":
    main()
