"""How long a transfer takes, by its bytes and files: T = bytes * a + files * b + c, fitted to those before it.

This is T(N) = S/cc*a_trs + N/cc*b_trs + S/N*a_ck + b of the engine's design: an attempt finds its concurrency cc by
itself, so that it is a part of `a` and `b`; hashing is done while data moves, so that S/N*a_ck is a part of `a`.
Deletes come after all else, in a thread of their own. Nodes measure their time, so it is no term of the fit: what the
transfers took is fitted without it, and it is added for those that a plan has.

None of the three is ever negative. Nonsense among the transfers is outvoted: what counts is how far off, in parts of
its time, most of them are. A range comes from how far off the model is for the transfers it was fitted to.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

REACH: Final = 10
"""How much larger than the largest known a transfer may be for the model to hold."""
_ROUNDS: Final = 25
_LEAST_S: Final = 1e-3
_MOST_S: Final = 10.0 * 366 * 86_400
"""No transfer takes longer."""
_LEAST_OFF: Final = 0.01
"""Off by less than this part counts as on the line."""
_SINGULAR: Final = 1e-9
_FILE_S: Final = 1e-3
"""What a file costs on usual storage: what is likely while no transfer of many files says more."""
_TAIL: Final = 0.025
"""What lies below the range, and above it, of the transfers."""
_BITS: Final = 8
_AT_CEILING: Final = 1.1
"""Nothing runs at its ceiling all the time: so much more it may take."""

Terms = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Moved:
    """A transfer that has ended: what it moved, and how long its attempts took."""

    bytes: int
    files: int
    seconds: float
    """Without its deletes."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """Names that a transfer deleted, and how long that took."""

    names: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Seconds:
    """A range that holds in about 9 of 10 cases, and the likeliest."""

    low: float
    likely: float
    high: float
    bytes: float = 0
    """Of the likeliest, what its bytes take, and what its files do; the rest is what a transfer costs."""
    files: float = 0
    deletes: float = 0


@dataclass(frozen=True, slots=True)
class TimeModel:
    """What a byte, a file and a transfer cost in seconds, and how far off that was."""

    byte_s: float
    file_s: float
    fixed_s: float
    low: float
    """The likely time is to be taken times this for the lower end of the range."""
    high: float
    transfers: int
    most_bytes: int
    most_files: int
    slowest_s: float
    """The longest time that a byte took with all that belongs to it, of the fastest transfer."""
    slowest_file_s: float
    delete_s: float | None = None
    """What a name costs that is deleted; nothing while none was measured."""

    def reaches(self, bytes_: int, files: int) -> bool:
        """Whether transfers of about this size are known."""
        return bytes_ <= REACH * self.most_bytes and files <= REACH * self.most_files

    def seconds(self, bytes_: int, files: int, rate_bps: int | None = None, deletes: int = 0) -> Seconds:
        """Estimate; a ceiling is kept, and deletes come after what it holds back.

        Far beyond what is known small transfers say little of a large one's speed. The upper end is then that of the
        fastest byte and the fastest file so far, with all that belonged to them.
        """
        by_model = _time((self.byte_s, self.file_s, self.fixed_s), (bytes_, files, 1.0))
        low, likely, high = by_model * self.low, by_model, by_model * self.high
        of_bytes, of_files = bytes_ * self.byte_s, files * self.file_s
        if not self.reaches(bytes_, files):
            slowest, slowest_files = bytes_ * self.slowest_s, files * min(self.slowest_file_s, _FILE_S)
            likely = max(by_model, slowest, slowest_files)
            of_bytes, of_files = max(of_bytes, slowest), max(of_files, slowest_files)
            high = max(high, (bytes_ * self.slowest_s + files * self.slowest_file_s) * self.high)
        least = bytes_ * _BITS / rate_bps if rate_bps else 0.0
        after = deletes * (self.delete_s or 0.0)
        return Seconds(
            max(low, least) + after * self.low,
            max(likely, least) + after,
            max(high, least * _AT_CEILING) + after * self.high,
            bytes=max(of_bytes, least),
            files=of_files,
            deletes=after,
        )


def fit(transfers: Sequence[Moved], deleted: Sequence[Deleted] = ()) -> TimeModel | None:
    """Fit the model; nothing when no transfer moved anything in a time that can be."""
    known = [one for one in transfers if one.files > 0 and _LEAST_S <= one.seconds <= _MOST_S]
    if not known:
        return None
    rows = [(float(one.bytes), float(one.files), 1.0) for one in known]
    times = [one.seconds for one in known]
    weights = [1 / time**2 for time in times]
    terms = (0.0, 0.0, 0.0)
    for _ in range(_ROUNDS):
        terms = _least_squares(rows, times, weights)
        # The sum of the distances is made small, in parts of what the model says, and not that of their squares.
        weights = [_weight(time, _time(terms, row)) for time, row in zip(times, rows, strict=True)]
    off = sorted(math.log(time / _time(terms, row)) for time, row in zip(times, rows, strict=True))
    # The fewer are known, the less their spread says: three terms fit the first three whatever they are.
    count = len(known)
    least, wider = max(math.log(2) / math.sqrt(count), math.log(5) / count), 1 + 8 / count
    with_bytes = [one for one in known if one.bytes]
    return TimeModel(
        byte_s=terms[0],
        file_s=terms[1],
        fixed_s=terms[2],
        low=math.exp(min(-least, _quantile(off, _TAIL) * wider)),
        high=math.exp(max(least, _quantile(off, 1 - _TAIL) * wider)),
        transfers=len(known),
        most_bytes=max(one.bytes for one in known),
        most_files=max(one.files for one in known),
        slowest_s=min((one.seconds / one.bytes for one in with_bytes), default=0.0),
        slowest_file_s=min(one.seconds / one.files for one in known),
        delete_s=_a_name(deleted),
    )


def _a_name(deleted: Sequence[Deleted]) -> float | None:
    """Return what a name cost, of those that are like each other the one in the middle: nonsense is outvoted."""
    each = sorted(one.seconds / one.names for one in deleted if one.names > 0 and 0 < one.seconds <= _MOST_S)
    return each[len(each) // 2] if each else None


def _time(terms: Terms, row: Terms) -> float:
    return max(_LEAST_S, sum(term * part for term, part in zip(terms, row, strict=True)))


def _weight(time: float, by_model: float) -> float:
    return 1 / (by_model**2 * max(_LEAST_OFF, abs(time / by_model - 1)))


def _quantile(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def _least_squares(rows: Sequence[Terms], wanted: Sequence[float], weights: Sequence[float]) -> Terms:
    """Return the terms, none below 0, whose weighted squares of errors are the least: of each choice, the best."""
    scale = [max((row[of] for row in rows), default=0.0) or 1.0 for of in range(3)]
    scaled = [tuple(part / unit for part, unit in zip(row, scale, strict=True)) for row in rows]
    best, terms = math.inf, (0.0, 0.0, 0.0)
    for chosen in _choices():
        found = _solve(scaled, wanted, weights, chosen)
        if found is None or min(found) < 0:
            continue
        error = sum(
            weight * (sum(a * b for a, b in zip(found, row, strict=True)) - want) ** 2
            for row, want, weight in zip(scaled, wanted, weights, strict=True)
        )
        if error < best:
            best = error
            terms = (found[0] / scale[0], found[1] / scale[1], found[2] / scale[2])
    return terms


def _choices() -> Iterator[tuple[int, ...]]:
    """Choose terms: where what a file and a transfer cost can't be told apart, it is the transfer."""
    for count in (1, 2, 3):
        yield from combinations((0, 2, 1), count)


def _solve(
    rows: Sequence[Sequence[float]], wanted: Sequence[float], weights: Sequence[float], chosen: tuple[int, ...]
) -> list[float] | None:
    """Solve the normal equations of the chosen terms; nothing when these can't be told apart."""
    weight_of_all = sum(weights)
    table = [
        [sum(w * row[a] * row[b] for w, row in zip(weights, rows, strict=True)) / weight_of_all for b in chosen]
        + [sum(w * row[a] * want for w, row, want in zip(weights, rows, wanted, strict=True)) / weight_of_all]
        for a in chosen
    ]
    size = len(chosen)
    for column in range(size):
        pivot = max(range(column, size), key=lambda line: abs(table[line][column]))
        if abs(table[pivot][column]) < _SINGULAR:
            return None
        table[column], table[pivot] = table[pivot], table[column]
        for line in range(size):
            if line != column:
                factor = table[line][column] / table[column][column]
                table[line] = [a - factor * b for a, b in zip(table[line], table[column], strict=True)]
    found = [0.0, 0.0, 0.0]
    for line, of in enumerate(chosen):
        found[of] = table[line][size] / table[line][line]
    return found
