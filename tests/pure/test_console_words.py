"""The console says every message of its catalogue; those that are found by data are about data that there is."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "web/src"
CATALOGUE: Final = SOURCE / "i18n/en"
KEYS: Final = [
    key
    for page in sorted(CATALOGUE.glob("*.ts"))
    for key in re.findall(r'^ +"([^"]+)":', page.read_text(encoding="utf-8"), re.MULTILINE)
]
CODE: Final = "\n".join(
    page.read_text(encoding="utf-8")
    for page in SOURCE.rglob("*.ts*")
    if ".test." not in page.name and page.parent != CATALOGUE
)
WRITTEN: Final = frozenset(re.findall(r'["`]([\w.:-]+)["`]', CODE))
"""Texts that stand whole in the code."""
BUILT: Final = [
    re.compile(re.sub(r"\\\$\\\{[^}]*\\\}", r"([\\w:-]+)", re.escape(written)))
    for written in re.findall(r"\bt\(\s*`([a-z][\w.]*\.\$\{[^`]*)`", CODE)
]
"""Keys with a value in them: `transfer.state.${state}`."""
BY_DATA: Final = frozenset(re.findall(r'\btData\("([\w.]+)"', CODE))


def is_said(key: str) -> bool:
    stem, _, form = key.rpartition(".")
    counted = form in {"one", "other"} and stem in WRITTEN
    by_data = any(key.startswith(f"{prefix}.") for prefix in BY_DATA)
    built = (found for pattern in BUILT if (found := pattern.fullmatch(key)))
    return key in WRITTEN or counted or by_data or any(set(found.groups()) <= WRITTEN for found in built)


def test_each_message_of_the_catalogue_is_said_somewhere() -> None:
    assert [key for key in KEYS if not is_said(key)] == []


def test_the_title_of_a_problem_is_that_of_a_documented_code() -> None:
    documented = "".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/errors*.md"))
    titled = [key.removeprefix("problem.") for key in KEYS if key.startswith("problem.")]
    assert [code for code in titled if f"`{code}`" not in documented] == []
