"""Invariant 7, seen from the bindings: Python decides and observes, Rust moves."""

import ast
import re
import sys
from pathlib import Path

import pytest
from tests.service.engine.conftest import Site
from tests.service.engine.trees import plant, shape

ENGINE = Path(__file__).parents[3] / "engine"
STUB = ENGINE / "python" / "headrace" / "engine" / "_native.pyi"
CONTENT_TYPES = {"bytes", "bytearray", "memoryview", "Buffer", "BinaryIO", "IO", "RawIOBase", "BufferedIOBase"}
RAW_TYPES = re.compile(r"PyBytes|PyByteArray|PyMemoryView|PyBuffer|Cow<\[u8\]>|Vec<u8>|&\[u8\]|\[u8; ?\w+\]|\bBytes\b")


def annotations(tree: ast.AST) -> set[str]:
    found: list[ast.expr | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node.returns)
    names = (name for annotation in found if annotation for name in ast.walk(annotation))
    return {name.id for name in names if isinstance(name, ast.Name)}


def test_invariant_7_no_binding_takes_or_gives_content() -> None:
    """Stubtest holds the stub to the compiled module."""
    used = annotations(ast.parse(STUB.read_text(encoding="utf-8")))
    assert "str" in used
    assert used.isdisjoint(CONTENT_TYPES)


def test_invariant_7_no_binding_can_hold_content() -> None:
    """Neither bytes nor lists of them cross: the binding crate knows no type that could carry a block of a file."""
    sources = sorted((ENGINE / "crates" / "headrace-py" / "src").glob("*.rs"))
    assert len(sources) > 1
    for source in sources:
        assert RAW_TYPES.findall(source.read_text(encoding="utf-8")) == [], source.name


@pytest.mark.anyio
async def test_invariant_7_python_opens_no_file_of_a_root_while_it_is_copied(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    plant(source.root)
    opened: list[str] = []
    roots = (str(source.root), str(destination.root))

    def notice(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and str(arguments[0]).startswith(roots):
            opened.append(str(arguments[0]))

    sys.addaudithook(notice)
    surveyed, _ = await site.plan("tr_1", source, destination)
    await site.start("tr_1", site.ticket("tr_1", surveyed))
    assert (await site.ended("tr_1")).outcome == "complete"
    assert opened == []
    assert shape(destination.root) == shape(source.root)
    assert opened != [], "the hook notices what Python opens"
