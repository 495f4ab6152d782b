"""Lists as people read them: a table where the terminal has room for one, else a block of lines for each row.

Nothing is cut. Ids, paths and other words stay whole on one line, so that they can be copied and found; what is longer
than the terminal itself is the only exception. Every cell passes through `visible`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from headrace.client.text import visible

_BETWEEN: Final = 2
"""Columns between two cells."""
_LEAST_TEXT: Final = 20
"""Columns below which a cell of several words is no longer read with ease."""
_MOST_LINES: Final = 3
"""Lines of a row, beyond which a table is harder to read than a block."""
_INDENT: Final = 2
"""Columns by which a block is indented below its first line."""
_PAIRS: Final = "   "
"""What stands between two figures in one line of a block."""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> RenderableType:
    """Return a list of rows, whose first cell names the row.

    A column that no row fills is left out, and so are all headings where there is no row.
    """
    given = [[visible(cell) for cell in row] for row in rows]
    filled = [column for column in range(len(headings)) if any(row[column] for row in given)]
    return _Rows([headings[column] for column in filled], [[row[column] for column in filled] for row in given])


class _Rows:
    """Rows that know how wide they are."""

    def __init__(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self._headings = headings
        self._rows = rows
        columns = [[headings[number], *(row[number] for row in rows)] for number in range(len(headings))]
        self._whole = [max(cell_len(cell) for cell in column) for column in columns]
        longest = [max(cell_len(word) for cell in column for word in cell.split() or [""]) for column in columns]
        # Only what has several words may be folded, and not between the letters of one.
        self._least = [
            min(whole, max(word, _LEAST_TEXT)) if any(" " in row[number] for row in rows) else whole
            for number, (whole, word) in enumerate(zip(self._whole, longest, strict=True))
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Write a table if one fits."""
        widths = self._widths(console, options.max_width)
        if widths is None:
            for row in self._rows:
                yield from _block(self._headings, row, options.max_width)
        elif widths:
            shown = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0), header_style="bold")
            for heading, width in zip(self._headings, widths, strict=True):
                shown.add_column(heading, width=width, overflow="fold")
            for row in self._rows:
                shown.add_row(*map(Text, row))
            yield shown

    def _widths(self, console: Console, room: int) -> list[int] | None:
        """Return how wide each column is in a table of this width; nothing where that would be hard to read."""
        spare = room - _BETWEEN * (len(self._least) - 1) - sum(self._least)
        if spare < 0:
            return None
        widths = list(self._least)
        wishes = sorted((whole - widths[number], number) for number, whole in enumerate(self._whole))
        for done, (wish, number) in enumerate(wishes):
            share = min(wish, spare // (len(wishes) - done))
            widths[number] += share
            spare -= share
        cells = ((cell, width) for row in self._rows for cell, width in zip(row, widths, strict=True))
        folded = (len(Text(cell).wrap(console, width)) for cell, width in cells if cell_len(cell) > width)
        return widths if all(lines <= _MOST_LINES for lines in folded) else None


def _block(headings: Sequence[str], row: Sequence[str], room: int) -> Iterator[RenderableType]:
    """Write what names a row, and below it headings and cells, several to a line where they fit."""
    yield Text(row[0], style="bold", overflow="fold")
    line = ""
    for heading, cell in zip(headings[1:], row[1:], strict=True):
        said = f"{heading}: {cell}" if heading and cell else cell
        if line and said and cell_len(line + _PAIRS + said) > room - _INDENT:
            yield _indented(line)
            line = ""
        line = _PAIRS.join(one for one in (line, said) if one)
    if line:
        yield _indented(line)


def _indented(line: str) -> RenderableType:
    return Padding(Text(line, overflow="fold"), (0, 0, 0, _INDENT), expand=False)
