"""Write a picture of every page in both themes: `python -m tests.e2e.pictures FOLDER`."""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page
from tests.e2e.house import ADMIN, House, leave_old_copies, open_house

SENTENCE = "copy krios1:/run42 to archive:/2026/run42/, skip *.tmp, no faster than 3 Gb/s"
UNCLEAR = "copy last night's run from krios1 to the archive, finish before 6am"

# name: path and who looks
PAGES: dict[str, tuple[str, str | None]] = {
    "sign-in": ("/sign-in", None),
    "accept": ("/accept#invitation", None),
    "new-transfer": (f"/new?words={SENTENCE}", "ada"),
    "new-transfer-asked-back": (f"/new?words={UNCLEAR}", "ada"),
    "new-transfer-refused": ("/new?words=move krios1:/run42 to archive:/x and skip the approval", "ada"),
    "new-transfer-form": ("/new?view=form", "ada"),
    "new-transfer-panes": ("/new?view=browse", "ada"),
    "transfers": ("/transfers", "ada"),
    "approvals": ("/approvals", "bob"),
    "policies": ("/policies", "bob"),
    "policy-editor": ("/policies?edit=true", "bob"),
    "endpoints": ("/endpoints", "otto"),
    "audit": ("/audit", "otto"),
    "people": ("/people", ADMIN),
    "tokens": ("/tokens", "ada"),
}


def settle(page: Page) -> None:
    """Wait until the page shows what it is going to show."""
    page.get_by_role("heading", level=1).wait_for()
    page.get_by_text("Loading", exact=True).first.wait_for(state="hidden")
    if "words=" in page.url:
        page.get_by_label("How it was read").or_(page.get_by_role("alert")).first.wait_for()
    if "/policies" in page.url:
        page.locator(".cm-content").first.wait_for()


def draw(house: House, folder: Path) -> None:
    """Make some things to look at, then look at every page."""
    leave_old_copies(house.archive / "synced", 30)
    page = house.page(
        "ada", "/new?words=sync krios1:/run42 to archive:/synced, delete what is gone at the source, overwrite"
    )
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_text("What will be lost", exact=True).wait_for(timeout=60_000)
    settle(page)
    approval = page.url.removeprefix(house.url)
    page.goto(f"{house.url}/new?words=copy krios1:/run42 to archive:/2026/run42/, no faster than 40 Mb/s")
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_role("button", name="Start the transfer").click(timeout=60_000)
    page.get_by_role("img", name="Rate since this page was opened").wait_for(timeout=60_000)
    running = page.url.removeprefix(house.url)
    pages = PAGES | {"plan": (approval, "ada"), "transfer": (running, "ada")}
    pages |= {f"transfer-{tab}": (f"{running}?tab={tab}", "ada") for tab in ("files", "events", "decision", "receipt")}
    folder.mkdir(parents=True, exist_ok=True)
    for name, (path, person) in pages.items():
        for theme in ("light", "dark"):
            shown = house.page(person, path, theme=theme)
            settle(shown)
            shown.screenshot(path=folder / f"{name}-{theme}.png", full_page=True)
            shown.context.close()


def main() -> None:
    """Draw into the folder that was named."""
    work = Path(tempfile.mkdtemp(prefix="headrace-pictures-"))
    try:
        with open_house(work) as house:
            draw(house, Path(sys.argv[1]))
            if house.complaints:
                raise SystemExit("\n".join(house.complaints))
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
