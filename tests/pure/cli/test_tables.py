"""Lists at terminals of any width: the headings of every list of the command line, with the longest that they hold."""

import ast
import io
from pathlib import Path

import pytest
from rich.console import Console

from headrace.cli import tables
from headrace.cli.tables import table

CLI = Path(tables.__file__).parent
HEXES = "0123456789abcdef" * 2
PATH = "krios1-scratch:/raw/2026/session-0042/EMPIAR-10028"
TIME = "2026-11-28 03:15:59 CEST"
SENTENCE = "copy only the *.mrc files of the last 30 days from krios1-scratch to the archive, at most 5 Gb/s, by Friday"
ID = f"tr_{HEXES}"
LONGEST = {
    **dict.fromkeys(("transfer", "plan", "id", "halt", "version", "need", "class", "calendar"), ID),
    **dict.fromkeys(("from", "to", "name", "did not arrive", "example"), PATH),
    **dict.fromkeys(("at", "made", "since", "until", "added", "changed", "last changed", "next day", "begun by"), TIME),
    **dict.fromkeys(("what", "why", "note", "next", "request", "because", "what to do", "reason", "labels"), SENTENCE),
    **dict.fromkeys(("what it says", "values, for example", "given by rules", "on links", "hours", ""), SENTENCE),
    **dict.fromkeys(("used", "what limits it", "evidence", "was", "fact", "rule", "code"), "of a few words, 12 GB"),
    **dict.fromkeys(("person", "requester", "asked by", "by", "author", "published by"), "Wolfeschlegelsteinhausen"),
    **dict.fromkeys(("state", "kind", "decision", "outcome", "access", "how", "now", "leg"), "draining"),
    **dict.fromkeys(("safe", "moved", "rate", "capacity", "guaranteed", "entitled", "takes"), "981.55 GB of 999.99 TB"),
    **dict.fromkeys(("size", "free", "running", "weight", "priority"), "981.55 GB, 21 days ago"),
    **dict.fromkeys(
        ("node", "nodes", "link", "endpoint", "also", "roots", "quota of"), "dtn3, krios1-scratch, archive"
    ),
    **dict.fromkeys(("groups", "roles", "scopes", "agent", "its group", "zone", "runs in"), "requester, approver"),
    **dict.fromkeys(("seen", "key", "pin", "issuer", "added", "its issuer"), "ed25519:0123456789abcdef"),
}
"""What stands below each heading at worst; a new heading needs one."""


def lists() -> list[tuple[str, tuple[str, ...]]]:
    """Find the headings of every list in the source of the command line, and where they are."""
    return [
        (f"{path.name}:{node.lineno}", ast.literal_eval(node.args[0]))
        for path in sorted(CLI.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "table"
    ]


LISTS = lists()


def shown(headings: tuple[str, ...], rows: list[list[str]], width: int) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system=None, markup=False)
    console.print(table(headings, rows))
    return file.getvalue().splitlines()


def test_every_list_is_found_and_none_is_made_another_way() -> None:
    assert len(LISTS) > 30
    makers = {p.name for p in CLI.rglob("*.py") if "rich.table" in p.read_text(encoding="utf-8")}
    assert makers == {"card.py", "tables.py"}, "a list is a `table`, which knows how wide a terminal is"


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize(("where", "headings"), LISTS)
def test_no_line_of_a_list_is_longer_than_the_terminal_and_no_word_of_it_is_cut(
    where: str, headings: tuple[str, ...], width: int
) -> None:
    lacking = [heading for heading in headings if heading not in LONGEST]
    assert not lacking, f"say in LONGEST what stands below {lacking} at worst"
    cells = [LONGEST[heading] for heading in headings]
    lines = shown(headings, [cells, ["" for _ in cells[:-1]] + [cells[-1]]], width)
    assert max(map(len, lines)) <= width, where
    words = {word for cell in cells for word in cell.split() if len(word) <= width - 2}
    assert words <= {word for line in lines for word in line.split()}, where


@pytest.mark.parametrize(("where", "headings"), LISTS)
def test_a_list_that_has_room_is_a_table_of_one_line_a_row(where: str, headings: tuple[str, ...]) -> None:
    lines = shown(headings, [["x"] * len(headings)] * 3, 80)
    assert len(lines) == 4, where


def test_a_list_without_room_names_what_each_figure_is() -> None:
    row = [ID, "running", "1 GB of 5 GB", PATH, PATH, "5 min ago"]
    assert shown(("transfer", "state", "safe", "from", "to", "made"), [row], 80) == [
        ID,
        "  state: running   safe: 1 GB of 5 GB",
        f"  from: {PATH}",
        f"  to: {PATH}   made: 5 min ago",
    ]


def test_a_sentence_is_folded_between_words_where_a_table_has_room_for_some_of_it() -> None:
    lines = shown(("node", "state", "what"), [["dtn3", "attached", SENTENCE]], 80)
    assert lines[0].split() == ["node", "state", "what"]
    assert 2 < len(lines) <= 4
    assert max(map(len, lines)) <= 80


def test_a_list_without_rows_is_nothing() -> None:
    assert shown(("transfer", "from", "to"), [], 80) == []


def test_what_came_from_outside_is_made_visible_and_moves_no_column() -> None:
    lines = shown(("name", "kind"), [["a\x1b[2J\nb", "file"], ["c", "dir"]], 80)
    assert "\x1b" not in "".join(lines)
    assert len(lines) == 3


def test_two_columns_that_need_more_than_there_is_cut_no_word() -> None:
    ids = [f"tr_{number:032x}" for number in (1, 2)]
    lines = shown(("first", "second"), [[f"waits for {ids[0]}", f"waits for {ids[1]}"]], 2 * len(ids[0]) + 1)
    assert [sum(one in line for line in lines) for one in ids] == [1, 1]
