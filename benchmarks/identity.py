"""What it costs to know who calls: each kind of secret, a flood of unknown keys, and people who sign in at once.

.venv/bin/python -m benchmarks.identity     (the directory is Samba's; without it that line is left out)

Figures are kept in `docs/benchmarks/identity.json`, unless `--out` says where.
"""

import argparse
import asyncio
import json
import shutil
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from demo.stage import REPOSITORY, say
from tests.conformance.identity_store_conformance import bind
from tests.pure.auth.documents import KEY, NOW, Documents, OwnClock, claims, issuer_at, served, signed
from tests.servers.directory import PASSWORD, Domain, config_of, domain_running
from tests.servers.site import Site, started_site

from benchmarks.machine import machine
from headrace.auth import (
    Authenticator,
    AuthError,
    GroupBinding,
    MemoryPeopleStore,
    Pepper,
    PersonRecord,
    Role,
    TooManyAttempts,
)
from headrace.auth.directory_ldap import LdapDirectory

CHECKS = 1000
"""Of each kind of secret, after a tenth of it that is not counted."""
FLOOD = 1000
AT_ONCE = 100
LIMITS = config_of("ldaps://127.0.0.1", ca="")
"""What the measured directory is asked with: as much as a site has that says no others."""
_HERE = "https://headrace.example.org"


@dataclass(frozen=True, slots=True)
class Crowd:
    """People who sign in for the first time at the same moment."""

    come_from: str
    in_after_s: Sequence[float]
    came_again: int
    """How often somebody was told to come again in some seconds, and did."""

    def data(self) -> dict[str, object]:
        """Return the figures that are kept."""
        return {
            "first_in_after_s": round(min(self.in_after_s), 1),
            "last_in_after_s": round(max(self.in_after_s), 1),
            "came_again": self.came_again,
        }


@dataclass(frozen=True, slots=True)
class Known:
    """What was measured: milliseconds of each check by kind of secret, and how the two crowds fared."""

    checks_ms: dict[str, Sequence[float]]
    flood_s: float
    flood_fetches: int
    sign_ins: Sequence["Crowd"]
    """Those who signed in at once, from addresses of their own and from one; none without a directory."""

    def data(self) -> dict[str, object]:
        """Return the figures that are kept."""
        return {
            "checks_ms": {kind: spread(found) for kind, found in self.checks_ms.items()},
            "unknown_keys": {"tokens": FLOOD, "seconds": round(self.flood_s, 2), "fetches": self.flood_fetches},
            "directory_sign_ins": {
                "people": AT_ONCE,
                "connections_to_the_directory": LIMITS.connections,
                "questions_that_may_wait": LIMITS.waiting,
                **{crowd.come_from: crowd.data() for crowd in self.sign_ins},
            },
        }


def spread(figures: Sequence[float]) -> dict[str, float]:
    """Return the median and the 99th percentile."""
    return {
        "median": round(statistics.median(figures), 3),
        "p99": round(statistics.quantiles(figures, n=100)[98], 3),
    }


def measure_identity(home: Path) -> Known:
    """Measure all of it."""
    with tempfile.TemporaryDirectory(prefix="headrace-identity-", dir=home) as name:
        checks = asyncio.run(_own_secrets(Path(name)))
    with served() as documents:
        access, flood_s, fetches = asyncio.run(_of_a_provider(documents))
    checks["an access token of a provider"] = access
    if shutil.which("samba") is None:
        return Known(checks, flood_s, fetches, ())
    with domain_running() as domain:
        names = [f"guest{number}" for number in range(AT_ONCE)]
        for name in names:
            domain.add(name)
            domain.join(name, "xfer-users")
        own = {name: f"10.0.0.{number}" for number, name in enumerate(names)}
        crowds = [
            asyncio.run(_at_once(domain, "addresses of their own", own)),
            asyncio.run(_at_once(domain, "one address", dict.fromkeys(names, "10.0.0.1"))),
        ]
        return Known(checks, flood_s, fetches, crowds)


async def _own_secrets(folder: Path) -> dict[str, Sequence[float]]:
    async with started_site(folder) as site:
        return await _checked(site)


async def _checked(site: Site) -> dict[str, Sequence[float]]:
    people = site.use_cases.people
    pia = await site.person("pia", "requester")
    token, _ = await pia.token("transfer:read")
    return {
        "a session": await _timed(lambda: people.of_session(pia.secret)),
        "an API token": await _timed(lambda: people.of_token(token)),
    }


async def _timed(check: Callable[[], Awaitable[object]]) -> Sequence[float]:
    found = []
    for _ in range(CHECKS + CHECKS // 10):
        began = perf_counter()
        await check()
        found.append((perf_counter() - began) * 1000)
    return found[CHECKS // 10 :]


async def _of_a_provider(documents: Documents) -> tuple[Sequence[float], float, int]:
    """Time access tokens that count, and then tokens whose keys nobody has."""
    store, roles = MemoryPeopleStore(), frozenset({Role.REQUESTER})
    pia = PersonRecord(id="pn_pia", name="pia", roles=roles, granted_roles=roles, state="active", created=NOW)
    await store.add_person(pia)
    await store.link(pia.id, documents.url, "pia", NOW)
    issuer = replace(issuer_at(documents.url), access_tokens=True)
    door = Authenticator(store, store, store, OwnClock(), Pepper(b"p" * 32), issuers=[issuer], public_url=_HERE)
    body = claims(documents, aud=_HERE, client_id="notebook", scope="transfer:read", nonce=None)
    good = signed(body, typ="at+jwt")
    found = await _timed(lambda: door.oidc_tokens.principal(good))
    asked, flood = documents.asked, [signed(body, KEY, kid=f"unknown-{n}", typ="at+jwt") for n in range(FLOOD)]
    began = perf_counter()
    for token in flood:
        try:
            await door.oidc_tokens.principal(token)
        except AuthError:
            continue
    took = perf_counter() - began
    await door.close()
    return found, took, documents.asked - asked


async def _at_once(domain: Domain, come_from: str, addresses: Mapping[str, str]) -> Crowd:
    """Let people of a directory sign in at the same moment, with the limits that a site has unless it says others.

    Too many who wait are told when to come again; they do.
    """
    store, clock = MemoryPeopleStore(), OwnClock()
    directory = LdapDirectory(config_of(domain.url, ca=str(domain.ca)))
    door = Authenticator(store, store, store, clock, Pepper(b"p" * 32), directories=[directory])
    group = domain.sid("xfer-users")
    await bind(store, GroupBinding(issuer="ad:corp.test", group=group, roles=frozenset({Role.REQUESTER})))
    again, began = 0, perf_counter()

    async def come(name: str, address: str) -> float:
        nonlocal again
        while True:
            try:
                await door.sign_in(f"{name}@corp.test", PASSWORD, address)
            except TooManyAttempts as error:
                again += 1
                await asyncio.sleep(error.retry_after_s)
            else:
                return perf_counter() - began

    found = await asyncio.gather(*(come(name, address) for name, address in addresses.items()))
    await door.close()
    return Crowd(come_from, found, again)


def main() -> None:
    """Measure, print, and keep the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.identity", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=REPOSITORY / "docs/benchmarks", help="where the figures are kept")
    arguments = parser.parse_args()
    home = REPOSITORY / ".demo"
    home.mkdir(exist_ok=True)
    found = {"machine": machine(), **measure_identity(home).data()}
    say(f"who calls: {found}")
    (arguments.out / "identity.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
