"""Imports of the engine's sessions run one way, in the order that `mod.rs` of their folder draws."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from tests.pure.rust_text import code

CRATE: Final = Path(__file__).parents[2] / "engine" / "crates" / "headrace-node" / "src"
FOLDERS: Final = ("session", "session/landing")
"""Each has a `mod.rs` with an order in it."""
HEADING: Final = "//! # Who imports from whom\n"


class Import(NamedTuple):
    """A path that a file of the crate uses, from the crate's root."""

    line: int
    path: tuple[str, ...]


def drawn(text: str) -> list[list[str]]:
    """Return the modules in the order that the picture in a `mod.rs` draws, line by line; notes follow two blanks."""
    picture = text.split(HEADING, 1)[1].split("//! ```text\n", 1)[1].split("//! ```\n", 1)[0]
    return [line.removeprefix("//! ").split("  ")[0].split(", ") for line in picture.splitlines()]


def declared(text: str) -> list[str]:
    """Return the modules that a file declares, sorted."""
    return sorted(re.findall(r"^(?:pub(?:\([\w: ]+\))? )?mod (\w+);", code(text), re.MULTILINE))


def place(path: Path, root: Path) -> tuple[str, ...]:
    """Return the path of the module that a file is."""
    parts = path.relative_to(root).with_suffix("").parts
    return parts[:-1] if parts[-1] == "mod" else parts


def branches(tree: str) -> Iterator[str]:
    """Return the paths in the tree of a `use`, each whole."""
    begin, brace, rest = tree.partition("{")
    if not brace:
        yield tree.partition(" as ")[0]
        return
    depth, one = 0, ""
    for sign in rest.rsplit("}", 1)[0] + ",":
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            if one.strip():
                yield from (begin + branch for branch in branches(one.strip()))
            one = ""
        else:
            one += sign


def imports(text: str, module: tuple[str, ...]) -> Iterator[Import]:
    """Return what a file uses of its own crate: by `use`, and by paths that begin with `crate`, `super` or `self`."""
    at = module
    depth, inner = 0, [(0, module)]
    words = re.compile(
        r"\bmod\s+(?P<mod>\w+)\s*\{|(?P<open>\{)|(?P<close>\})"
        r"|(?P<visibility>\bpub\s*\([^)]*\))"
        r"|\buse\s+(?P<use>(?:crate|super|self)\b[^;]*);|\b(?P<path>(?:crate|super|self)\s*::\s*[\w:\s]*\w)"
    )
    for found in words.finditer(code(text)):
        if found["mod"] is not None:
            depth += 1
            at = (*at, found["mod"])
            inner.append((depth, at))
        elif found["open"] is not None:
            depth += 1
        elif found["close"] is not None:
            if inner[-1][0] == depth and depth > 0:
                inner.pop()
                at = inner[-1][1]
            depth -= 1
        elif found["visibility"] is None:
            line = text.count("\n", 0, found.start()) + 1
            for path in branches(found["use"] or found["path"]):
                yield Import(line, absolute(re.sub(r"\s", "", path).split("::"), at))


def absolute(path: list[str], module: tuple[str, ...]) -> tuple[str, ...]:
    """Return a path from the crate's root."""
    at = () if path[0] == "crate" else module
    for part in path:
        if part == "super":
            at = at[:-1]
        elif part not in {"crate", "self"}:
            at = (*at, part)
    return at


def upward(folder: Path, root: Path) -> list[str]:
    """Name each import of a folder's modules that does not run down its order, with file and line."""
    order = drawn((folder / "mod.rs").read_text(encoding="utf-8"))
    rank = {name: level for level, names in enumerate(order) for name in names}
    top = folder.relative_to(root).parts
    found = []
    for path in sorted(folder.rglob("*.rs")):
        module = place(path, root)
        if module == top:
            continue
        own = module[len(top)]
        for line, used in imports(path.read_text(encoding="utf-8"), module):
            if used[: len(top)] != top:
                continue
            from_ = used[len(top)] if len(used) > len(top) else "*"
            if from_ != own and (from_ not in rank or rank[from_] <= rank[own]):
                what = f"`{from_}`, which is not below it" if from_ in rank else f"`{from_}` of mod.rs itself"
                found.append(f"{path.relative_to(root)}:{line}: `{own}` imports from {what}")
    return found


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_run_down_the_order_that_is_drawn(folder: str) -> None:
    assert upward(CRATE / folder, CRATE) == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_module_has_one_place_in_the_order(folder: str) -> None:
    text = (CRATE / folder / "mod.rs").read_text(encoding="utf-8")
    assert sorted(name for line in drawn(text) for name in line) == declared(text)


CASES: Final = {
    "down": ("use super::low::Low;", []),
    "up": ("\nuse super::{low, high::{self, High}};", ["a/middle.rs:2", "a/middle.rs:2"]),
    "from its own line": ("use super::beside;", ["a/middle.rs:1"]),
    "from mod.rs": ("use super::Everything;", ["a/middle.rs:1"]),
    "of all that mod.rs has": ("use super::*;", ["a/middle.rs:1"]),
    "by the crate's path": ("use crate::a::high::High;", ["a/middle.rs:1"]),
    "by a path in the text": ("fn f() {\n    crate::a::high::go();\n    super::low::go();\n}", ["a/middle.rs:2"]),
    "by a renamed module": ("use super::high as low;", ["a/middle.rs:1"]),
    "from within": ("mod tests {\n    use super::*;\n    use super::super::high;\n}", ["a/middle.rs:3"]),
    "after a module within": ("mod tests { fn f() {} }\nuse super::high;", ["a/middle.rs:2"]),
    "in comments and texts": ('// use super::high;\nconst S: &str = "use super::high;"; /* super::high */', []),
    "from elsewhere": ("use crate::b::high;\nuse std::high;\npub(super) fn f() {}\npub(in crate::a) fn g() {}", []),
}


@pytest.mark.parametrize(("text", "places"), CASES.values(), ids=CASES.keys())
def test_an_import_that_runs_upward_is_named_with_file_and_line(tmp_path: Path, text: str, places: list[str]) -> None:
    (tmp_path / "a").mkdir()
    picture = "//! ```text\n//! high      not low\n//! middle, beside\n//! low\n//! ```\n"
    (tmp_path / "a" / "mod.rs").write_text(f"{HEADING}//!\n{picture}mod high;\n", encoding="utf-8")
    (tmp_path / "a" / "middle.rs").write_text(text, encoding="utf-8")
    found = upward(tmp_path / "a", tmp_path)
    assert [one.split(": ")[0] for one in found] == places
