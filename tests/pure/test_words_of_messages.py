"""Messages and pages are in plain English: subject, verb, object, in the order of today's English."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.pure.rust_text import texts, without_tests

TREE: Final = Path(__file__).parents[2]
PACKAGES: Final = ("api", "auth", "cli", "client", "guardrails", "mcp-server")
NOT_SO: Final = {
    # "`x` is no place": "`x` is not a place". "There is no place `x`" is as it should be.
    "is not a": re.compile(r"(?<!there )(?<!There )\b(?:is|are|was|were) no (?!longer\b|more than\b)(?=[a-zA-Z`])"),
    # "it counts no more": "it no longer counts".
    "no longer": re.compile(r"\b[a-z]+s no more(?=[.,:;]|$)"),
    # "the plan says not what": "the plan does not say what".
    "does not": re.compile(r"\b(?:says|knows|holds|tells) (?:not|of no)\b"),
    # "one of both places": "one of the two places".
    "of the two": re.compile(r"\b(?:one|none|either) of both\b"),
    "give": re.compile(r"\b[Ss]ay --[a-z]"),
}
"""What is right instead of it, and how it is found."""
NO_MESSAGES: Final = {"model_endpoint.py"}
"""Modules whose texts are for language models."""


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """Return the texts of a module with their lines, with `{}` for what is filled in; without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            inside.update(id(part) for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.lineno, node.value


@pytest.mark.parametrize("package", PACKAGES)
def test_no_message_turns_its_sentence_round(package: str) -> None:
    found = [
        f"{path.relative_to(TREE)}:{line}: {wrong.group()!r} ({right}): {text}"
        for path in sorted((TREE / package / "src").rglob("*.py"))
        if path.name not in NO_MESSAGES
        for line, text in messages(path)
        for right, pattern in NOT_SO.items()
        if (wrong := pattern.search(text))
    ]
    assert found == []


def test_no_message_of_the_engine_turns_its_sentence_round() -> None:
    found = [
        f"{path.relative_to(TREE)}:{line}: {wrong.group()!r} ({right}): {text}"
        for path in sorted((TREE / "engine" / "crates").glob("*/src/**/*.rs"))
        for line, text in texts(without_tests(path.read_text(encoding="utf-8")))
        for right, pattern in NOT_SO.items()
        if (wrong := pattern.search(text))
    ]
    assert found == []


def test_no_page_for_those_who_use_it_turns_its_sentence_round() -> None:
    pages = [TREE / "README.md", *sorted((TREE / "docs").glob("*.md"))]
    pages += [
        page for part in ("guide", "operations", "security") for page in sorted((TREE / "docs" / part).glob("*.md"))
    ]
    found = [
        f"{page.relative_to(TREE)}:{number}: {wrong.group()!r} ({right}): {line}"
        for page in pages
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        for right, pattern in NOT_SO.items()
        if (wrong := pattern.search(line))
    ]
    assert found == []
