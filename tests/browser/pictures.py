"""Write a picture of every page in both themes: `python -m tests.browser.pictures FOLDER`."""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page
from tests.browser.house import SESSIONS_SUFFICE, House, open_house
from tests.browser.looks import LOOKS, furnish, visit

TALL = 1300
WIDTH = 1280
RUN_BYTES = 256 * 1_000_000
READINGS = 25


def draw(house: House, folder: Path) -> None:
    """Make things to look at, then look at every page."""
    # No holes: they would take no time to send.
    (house.source / "run42" / "movie.tiff").write_bytes(bytes(range(256)) * (RUN_BYTES // 256))
    made = furnish(house, slow="no faster than 20 Mb/s")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    for name, look in LOOKS.items():
        page = house.page(look.person)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            visit(house, page, look, made)
            if name == "transfer-running":
                let_it_run(page)
            take(page, folder / f"{name}-{theme}.png")
        page.context.close()


def let_it_run(page: Page) -> None:
    """Wait until the graph has something to show."""
    page.get_by_text("The same as a table").click()
    page.get_by_role("region", name="The same as a table").get_by_role("row").nth(READINGS).wait_for(timeout=60_000)
    page.get_by_text("The same as a table").click()


def take(page: Page, file: Path) -> None:
    """Photograph the page as a window that is tall enough for it shows it."""
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": WIDTH, "height": max(640, min(height, TALL))})
    page.mouse.move(0, 0)
    page.screenshot(path=file, animations="disabled")
    page.set_viewport_size({"width": WIDTH, "height": 800})


def main() -> None:
    """Draw into the folder that was named."""
    work = Path(tempfile.mkdtemp(prefix="headrace-pictures-"))
    try:
        with open_house(work, settings=SESSIONS_SUFFICE) as house:
            draw(house, Path(sys.argv[1]))
            if house.complaints:
                raise SystemExit("\n".join(house.complaints))
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
