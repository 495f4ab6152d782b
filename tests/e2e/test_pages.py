"""What holds for every page: no axe violations in either theme, no overflow on a phone, a small first page."""

import gzip
from pathlib import Path

import pytest
from playwright.sync_api import Response
from tests.e2e.house import ADMIN, NARROW, WIDE, House
from tests.e2e.pictures import PAGES, settle

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
RUN = """async () => {
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const { violations } = await axe.run(document, { runOnly: tags });
    const where = ({ target, any }) => `${target.join(' ')} ${any[0]?.message ?? ''}`;
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(where).join('; ')}`);
}"""
FIRST_PAGE_LIMIT_BYTES = 250_000


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", sorted(PAGES))
def test_axe_finds_nothing_and_a_phone_needs_no_sideways_scrolling(house: House, name: str, theme: str) -> None:
    path, person = PAGES[name]
    for size in (WIDE, NARROW):
        page = house.page(person, path, theme=theme, size=size)
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{name} overflows at {size}"
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert page.evaluate(RUN) == []
        page.context.close()


def test_the_first_page_is_at_most_250_kb(house: House) -> None:
    sizes: dict[str, int] = {}

    def count(response: Response) -> None:
        if "/api/" not in response.url:
            sizes[response.url] = len(gzip.compress(response.body(), 9))

    house.page(ADMIN, "/sign-in").context.close()
    page = house.page(ADMIN, "/tokens")
    page.on("response", count)
    page.goto(house.url + "/transfers", wait_until="networkidle")
    settle(page)
    total = sum(sizes.values())
    assert any(url.endswith(".js") for url in sizes)
    assert total <= FIRST_PAGE_LIMIT_BYTES, sizes
