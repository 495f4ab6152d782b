"""What holds for every page: no axe violations in either theme, no overflow on a phone, a small first page."""

import re
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from tests.browser.house import ADMIN, NARROW, STEP_LIMIT_S, WIDE, House
from tests.browser.looks import LOOKS, furnish, visit

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
ROUTER = Path(__file__).parents[2] / "web/src/router.tsx"
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
RUN = """async (runOnly) => {
    // Another theme's colours come by a transition.
    document.getAnimations().filter((one) => one instanceof CSSTransition).forEach((one) => one.finish());
    const { violations } = await axe.run(document, { runOnly, resultTypes: ['violations'] });
    const where = ({ target, any }) => `${target.join(' ')} ${any[0]?.message ?? ''}`;
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(where).join('; ')}`);
}"""
WIDER = """() => document.documentElement.scrollWidth <= window.innerWidth ? []
    : [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > window.innerWidth)
    .map((one) => `${one.tagName} ${one.className} ${one.textContent.slice(0, 40)}`)"""
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
FIRST_PAGE_LIMIT_BYTES = 250_000
REDRAWN_MS = 10_000


@pytest.fixture(scope="module")
def made(house: House) -> dict[str, str]:
    return furnish(house)


def test_every_page_of_the_console_is_looked_at() -> None:
    paths = set(re.findall(r'^  path: "([^"]+)",$', ROUTER.read_text(encoding="utf-8"), re.MULTILINE)) - {"/"}
    looked_at = [re.escape(path).replace(r"\$", "$") for path in paths]
    patterns = {path: re.compile(re.sub(r"\$\w+", "[^/?#]+", path)) for path in looked_at}
    seen = {re.split(r"[?#]", look.path)[0] for look in LOOKS.values()}
    assert [path for path, pattern in patterns.items() if not any(map(pattern.fullmatch, seen))] == []


@pytest.mark.parametrize("name", sorted(LOOKS))
def test_axe_finds_nothing_and_a_phone_needs_no_sideways_scrolling(
    house: House, made: Mapping[str, str], name: str
) -> None:
    page = house.page(LOOKS[name].person)
    visit(house, page, LOOKS[name], made)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for width, height in (WIDE, NARROW):
        page.set_viewport_size({"width": width, "height": height})
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            page.locator(f"html[data-mantine-color-scheme={theme}]").wait_for(state="attached")
            assert page.evaluate(RUN, TAGS) == [], f"{name}, {theme}, {width} wide"
        assert too_wide(page) == [], f"{name}, {width} wide"


def test_the_first_page_is_at_most_250_kb(house: House) -> None:
    page = house.page(ADMIN, "/transfers")
    # Not until nothing is loaded any more: the stream of changes stays open.
    expect(page.get_by_role("heading", level=1, name="Transfers")).to_be_visible()
    loaded = page.evaluate("[location.href, ...performance.getEntriesByType('resource').map(({ name }) => name)]")
    sizes = {url: compressed_bytes(url) for url in loaded if "/api/" not in url}
    assert any(url.endswith(".js") for url in sizes)
    assert sum(sizes.values()) <= FIRST_PAGE_LIMIT_BYTES, sizes


def too_wide(page: Page) -> list[str]:
    """What is wider than the window, once charts have been drawn again for its width."""
    with suppress(PlaywrightTimeoutError):
        page.wait_for_function(f"() => ({WIDER})().length === 0", timeout=REDRAWN_MS)
    found: list[str] = page.evaluate(WIDER)
    return found


def compressed_bytes(url: str) -> int:
    """What the service sends for a file to a browser that takes gzip."""
    request = urllib.request.Request(url, headers={"accept-encoding": "gzip"})  # noqa: S310 - the service under test
    with urllib.request.urlopen(request, timeout=STEP_LIMIT_S) as answer:  # noqa: S310
        return len(answer.read())
