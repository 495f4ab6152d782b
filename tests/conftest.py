"""For all tests: the same examples every time, patience with a busy machine, commands that hear Ctrl-C, and workers."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.servers.cheap import hash_cheaply
from tests.servers.directory import Domain, domain_running
from tests.servers.provider import OpenIdProvider, open_provider

BROWSER_LIMIT_S = 180
"""For a test in a browser: its module's first one waits for a service, two nodes and five people, too."""
TESTS = Path(__file__).parent
LONGEST_FIRST = ("browser", "interfaces", "service")
"""The parts that take longest begin first, so that no worker is left alone with one of them at the end."""

settings.register_profile(
    "headrace", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("headrace")

# Started in the background by a shell, this process ignores Ctrl-C, and so would every command it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--store", choices=("sqlite", "postgresql"), default="sqlite", help="where the sites of tests keep their data"
    )


@pytest.fixture(autouse=True)
def cheap_passwords(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash at the least cost, except where the cost itself is looked at."""
    if "pure" not in request.path.relative_to(TESTS).parts:
        hash_cheaply(monkeypatch)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def provider() -> Iterator[OpenIdProvider]:
    """One OpenID provider for a worker; a test makes clients and people of its own there."""
    with open_provider() as opened:
        yield opened


@pytest.fixture(scope="session")
def domain() -> Iterator[Domain]:
    """An Active Directory domain, made when the first test that needs it runs."""
    with domain_running() as running:
        yield running


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests that share a server on one worker, and give tests in a browser more time."""

    def layer(item: pytest.Item) -> int:
        name = item.path.relative_to(TESTS).parts[0]
        return LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST)

    items.sort(key=layer)
    for item in items:
        if isinstance(item, pytest.Function) and "domain" in item.fixturenames:
            # One domain controller a run: making one takes twenty seconds.
            item.add_marker(pytest.mark.xdist_group("directory"))
        elif isinstance(item, pytest.Function) and shares_a_server(item):
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(TESTS).as_posix()))
        if layer(item) == 0 and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(BROWSER_LIMIT_S))


def shares_a_server(item: pytest.Function) -> bool:
    """Whether a fixture of the test, or one of theirs, is made once for its module."""
    definitions = item._fixtureinfo.name2fixturedefs.values()  # noqa: SLF001 - pytest has no public way to ask
    return any(definition.scope == "module" for found in definitions for definition in found)
