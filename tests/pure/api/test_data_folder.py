"""The names of what lies in a service's data folder stand in one module, which says of each if a backup holds it."""

import ast
from pathlib import Path

from tests.faults.run import REPOSITORY

from headrace.api import data_folder

PACKAGE = REPOSITORY / "api" / "src" / "headrace" / "api"
MODULE = Path(data_folder.__file__)
NAMES = {
    name: value
    for name, value in vars(data_folder).items()
    if isinstance(value, str) and name.isupper() and name[0] != "_"
}
IN_THEIR_OWN_WAY = {data_folder.STORE, data_folder.HEADS}


def test_of_each_name_it_is_said_once_whether_a_backup_holds_it() -> None:
    classes = (data_folder.COPIED, data_folder.LEFT_OUT, IN_THEIR_OWN_WAY)
    for value in NAMES.values():
        assert sum(value in one for one in classes) == 1, value
        assert data_folder.is_known(value)
    assert not data_folder.is_known("yesterday.backup")


def test_no_other_module_names_what_lies_in_the_folder() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path == MODULE:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_the_folder(node.left):
                assert _names(node.right) <= NAMES.keys(), (
                    f"{path}:{node.lineno}: name it in `data_folder.py`, and say there whether a backup holds it"
                )


def _is_the_folder(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "data") or (
        isinstance(node, ast.Attribute) and node.attr == "data"
    )


def _names(node: ast.expr) -> set[str]:
    """The constants and texts by which a part of a path is named; variables take their names from them."""
    if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.FormattedValue):
        return _names(node.values[0].value)
    if isinstance(node, ast.Constant | ast.JoinedStr):
        return {ast.unparse(node)}
    return {node.id} if isinstance(node, ast.Name) and node.id.isupper() else set()


def test_the_page_of_settings_says_what_each_is() -> None:
    page = (REPOSITORY / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("|")]
    for value in NAMES.values():
        assert any(f"`{value}`" in row or f"`{value}/`" in row for row in rows), value
