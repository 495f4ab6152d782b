"""The guide's page about the console names every page of its menu."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_the_guide_says_what_each_page_of_the_menu_is_for_in_its_order() -> None:
    web = REPOSITORY / "web/src"
    keys = re.findall(r'\{ to: "[^"]+", label: "([^"]+)"', (web / "shell/navigation.ts").read_text(encoding="utf-8"))
    words = "".join(one.read_text(encoding="utf-8") for one in sorted((web / "i18n/en").glob("*.ts")))
    labels = dict(re.findall(r'"([a-z.]+)": "([^"]+)"', words))
    guide = (REPOSITORY / "docs/guide/console.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", guide, re.MULTILINE)
    menu = [labels[key] for key in keys]
    assert [one for one in named if one in menu] == menu
