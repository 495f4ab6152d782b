"""What holds for every page: no axe violations in either theme, no overflow on a phone, a small first page."""

import gzip
from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Response
from tests.e2e.house import ADMIN, NARROW, WIDE, House
from tests.e2e.looks import LOOKS, furnish, visit

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
RUN = """async () => {
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const { violations } = await axe.run(document, { runOnly: tags, resultTypes: ['violations'] });
    const where = ({ target, any }) => `${target.join(' ')} ${any[0]?.message ?? ''}`;
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(where).join('; ')}`);
}"""
WIDER = """() => document.documentElement.scrollWidth <= window.innerWidth ? []
    : [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > window.innerWidth)
    .map((one) => `${one.tagName} ${one.className} ${one.textContent.slice(0, 40)}`)"""
FIRST_PAGE_LIMIT_BYTES = 250_000


@pytest.fixture(scope="module")
def made(house: House) -> dict[str, str]:
    return furnish(house)


@pytest.mark.parametrize("name", sorted(LOOKS))
def test_axe_finds_nothing_and_a_phone_needs_no_sideways_scrolling(
    house: House, made: Mapping[str, str], name: str
) -> None:
    for theme in ("light", "dark"):
        page = house.page(LOOKS[name].person, theme=theme)
        visit(house, page, LOOKS[name], made)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        for width, height in (WIDE, NARROW):
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate(RUN) == [], f"{name}, {theme}, {width} wide"
            assert page.evaluate(WIDER) == [], f"{name}, {theme}, {width} wide"
        page.context.close()


def test_the_first_page_is_at_most_250_kb(house: House) -> None:
    sizes: dict[str, int] = {}

    def count(response: Response) -> None:
        if "/api/" not in response.url:
            sizes[response.url] = len(gzip.compress(response.body(), 9))

    page = house.page(ADMIN, "/sign-in")
    page.on("response", count)
    page.goto(house.url + "/transfers", wait_until="networkidle")
    page.get_by_role("heading", name="Transfers").wait_for()
    total = sum(sizes.values())
    assert any(url.endswith(".js") for url in sizes)
    assert total <= FIRST_PAGE_LIMIT_BYTES, sizes
