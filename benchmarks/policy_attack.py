"""Measure what others notice while one person asks for plans of a folder that a policy of the largest size names often.

.venv/bin/python -m benchmarks.policy_attack

The service runs in this process, and `/live` is asked in it, so that what holds up its event loop is seen.
One person asks for many plans at once of a folder in which nearly all of 1,000 rules name a place, one in two inside
another one; half of them ask, so that alternatives are looked for. Meanwhile another person plans a small folder, again
and again.
"""

import argparse
import asyncio
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from demo.stage import say
from tests.servers.site import Site, started_site
from tests.service.test_consent import publish
from tests.service.test_metrics import asked

from headrace.api.settings import Settings
from headrace.client import models as m
from headrace.client.port import HeadraceError
from headrace.guardrails import default_policy_text
from headrace.guardrails.policy.policy_set import MAX_RULES

AT_ONCE = 8
"""Plans of the one person."""
LOOKED_S = 0.05


def attack_policy() -> str:
    """Make the largest policy in which all rules but the default ones name places in one folder, nested in pairs."""
    text = default_policy_text()
    forbids = (
        '@id("w{n}") @reason("r") forbid (principal, action == Action::"copy", resource) '
        'when {{ resource.source.within.contains("/wide/p{pair}") && context.files > 100000 }};'
    )
    asks = (
        '@id("w{n}") @reason("r") @obligation("approval:approver:1") forbid (principal, action == Action::"copy", '
        'resource) when {{ resource.source.within.contains("/wide/p{pair}/q") && context.bytes > {n} }};'
    )
    kinds = forbids, asks
    rules = [kinds[n % 2].format(n=n, pair=n // 2) for n in range(MAX_RULES - text.count("@id("))]
    return "\n".join([text, *rules])


async def measure(folder: Path, seconds: float) -> None:
    """Let two people plan side by side; print how long the second one and `/live` wait, alone and then beside it."""
    async with started_site(folder, Settings(changes_per_minute_of_one=10**6)) as site:
        await site.start_both()
        for name in ("wide/a.txt", "wide/p7/q/b.txt", "small/a.txt"):
            (site.lab / name).parent.mkdir(parents=True, exist_ok=True)
            (site.lab / name).write_text(name)
        await publish(site, attack_policy())
        bob = await site.person("bob", "requester")

        async def small() -> object:
            return await bob.plan("lab:/small", "archive:/x/")

        async def wide() -> m.Plan | None:
            with suppress(HeadraceError, AssertionError):  # too many at once, or not settled in the time of a test
                return await site.ada.plan("lab:/wide", "archive:/y/")
            return None

        say(f"load {os.getloadavg()[0]:.0f}; {MAX_RULES:,} rules; each for {seconds:.0f} s; in ms")
        say("| while | what | asked | median | longest |")
        say("| --- | --- | --- | --- | --- |")
        await _watched("nobody else plans", site, small, seconds)
        cpu, begun, ended = _cpu_s(), time.monotonic(), 0
        over = asyncio.Event()

        async def again() -> None:
            nonlocal ended
            while not over.is_set():
                ended += (await wide()) is not None

        others = [asyncio.create_task(again()) for _ in range(AT_ONCE)]
        await _watched(f"one person makes {AT_ONCE} plans at once of the folder", site, small, seconds)
        over.set()
        for one in others:
            one.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        share = (_cpu_s() - cpu) / (time.monotonic() - begun)
        say(f"{ended} plans of the folder ended meanwhile; the service took {share:.2f} of a processor")


async def _watched(during: str, site: Site, small: Callable[[], Awaitable[object]], seconds: float) -> None:
    until = time.monotonic() + seconds

    async def live() -> object:
        # A loop that is held up wakes late: that counts, too.
        await asyncio.sleep(LOOKED_S)
        return await asked(site, "/live")

    async def loop(call: Callable[[], Awaitable[object]]) -> list[float]:
        found = list[float]()
        while time.monotonic() < until:
            begun = time.monotonic()
            await call()
            found.append((time.monotonic() - begun) * 1000)
        return found

    lives = asyncio.create_task(loop(live))
    plans = await loop(small)
    for what, found, less in (
        ("`/live`", await lives, LOOKED_S * 1000),
        ("a small plan of another person", plans, 0.0),
    ):
        say(f"| {during} | {what} | {len(found)} | {statistics.median(found) - less:.0f} | {max(found) - less:.0f} |")


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.policy_attack", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each half takes")
    with tempfile.TemporaryDirectory(prefix="headrace-policy-") as folder:
        asyncio.run(measure(Path(folder), parser.parse_args().seconds))


if __name__ == "__main__":
    main()
