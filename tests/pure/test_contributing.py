"""What CONTRIBUTING.md and ARCHITECTURE.md say of places is so."""

import re
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (
    (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Where to add what")[2].partition("\n## ")[0]
)


def test_every_place_to_add_something_and_its_test_exist() -> None:
    said = re.findall(r"`([\w.*…-]+/[\w./*…-]*)`", TABLE)
    assert len(said) > 30
    assert [path for path in said if not list(ROOT.glob(whole(path)))] == []


def whole(path: str) -> str:
    """Return a path with the folders that `…` stands for."""
    member, _, rest = path.partition("/…/")
    return f"{member}/src/headrace/{member.replace('-', '_')}/{rest}" if rest else path


def test_every_class_to_add_something_to_exists() -> None:
    declared = re.findall(r"`(\w+)` in `([^`]+)`", TABLE)
    assert len(declared) > 2
    for name, path in declared:
        assert re.search(rf"^(class )?{name}\b", (ROOT / whole(path)).read_text(encoding="utf-8"), re.MULTILINE), name


def test_the_map_has_the_layers_that_the_linter_holds() -> None:
    pages = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for package in ("headrace.api", "headrace.guardrails"):
        [contract] = [one for one in project["tool"]["importlinter"]["contracts"] if one.get("containers") == [package]]
        rows = pages.partition(f"| `{package}` | |\n| --- | --- |\n")[2].partition("\n\n")[0].splitlines()
        drawn = [row.split(" | ")[0].removeprefix("| ").split(", ") for row in rows]
        assert drawn == [re.split(r" [|:] ", layer) for layer in contract["layers"]]


def test_no_two_classes_of_a_package_share_a_name() -> None:
    for package in ("api", "auth", "cli", "client", "guardrails", "mcp-server"):
        named = Counter(
            name
            for module in (ROOT / package / "src").rglob("*.py")
            for name in re.findall(r"^class ([A-Z]\w*)", module.read_text(encoding="utf-8"), re.MULTILINE)
        )
        assert [name for name, times in named.items() if times > 1] == [], package


def test_every_class_that_the_glossary_names_exists() -> None:
    glossary = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("that lie close together:")[2]
    named = re.findall(r"`([A-Z]\w+)`", glossary.partition("\n## ")[0])
    sources = "\n".join(
        module.read_text(encoding="utf-8")
        for package in ("api", "client", "guardrails")
        for module in (ROOT / package / "src").rglob("*.py")
    )
    assert len(named) > 4
    assert [name for name in named if not re.search(rf"^(class )?{name}\b", sources, re.MULTILINE)] == []
