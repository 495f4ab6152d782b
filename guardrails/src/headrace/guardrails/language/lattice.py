"""The span lattice: every reading of every stretch of words, and the choice of the longest.

The rule that makes a reading safe is coverage: each token belongs to exactly one chosen span.
What belongs to none comes out as `leftover` and is asked about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Fact, Hours, Place
from headrace.guardrails.language.atoms import read_atoms
from headrace.guardrails.language.background import with_background
from headrace.guardrails.language.clauses import heard_out
from headrace.guardrails.language.clock import when_at
from headrace.guardrails.language.denials import denied
from headrace.guardrails.language.fields import apart, labelled
from headrace.guardrails.language.grammar import ACTION_OF, UNSURE_VERBS, pattern_of, words_of
from headrace.guardrails.language.lengths import length_at
from headrace.guardrails.language.numbers import WORDS, number_at
from headrace.guardrails.language.operators import operated
from headrace.guardrails.language.phrases import CAPITAL_MARK, UNKNOWN_MARK, Hit, Item, Line, Reading
from headrace.guardrails.language.recognisers import KNOWN, RULES
from headrace.guardrails.language.scope import FILTERS, scoped
from headrace.guardrails.language.spelling import corrected, is_real_word
from headrace.guardrails.language.units import amount_at, is_rate_unit
from headrace.guardrails.resolve.dot_names import is_ending

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.guardrails.intents.context import Context
    from headrace.guardrails.intents.draft import Amount, Value
    from headrace.guardrails.language.tokens import Token

_PUTTING = frozenset({"put", "stash", "store", "drop", "place", "ingest", "deposit", "save", "load", "have"})
_WANTING = frozenset({"need", "needs", "want", "wants", "like", "love", "require", "requires"})
# What may stand between a path and the "on" of its endpoint.
_STANDING = frozenset({"that", "which", "is", "are", "located", "stored", "residing", "living", "sitting", "lying"})
# A relative path after one of these is a name to keep or skip, not a place.
_BEFORE_NAMES = frozenset({"only", "just", "skip", "exclude", "except", "without", "ignore", "omit", "include", "but"})
# What may stand between an endpoint and the path on it.
_BETWEEN = [["there", "is"], ["we", "have"], ["i", "have"], ["under"], ["in"], ["at"], ["below"], ["has"], [","]]
_OF_A_VERB = frozenset({"it", "the", "my", "our", "this", "that", "everything", "all", "these", "those"})
_NOT_BEFORE_A_VERB = frozenset({"to", "from", "at", "on", "in", "the", "->", "not", "of", "for", "into", "onto"})
_VERBS = frozenset(ACTION_OF) | UNSURE_VERBS | {"cp", "mv", "scp"}
_FILLERS = frozenset(words_of("filler"))
_SPOKEN_MARKS = {("full", "stop"): ".", ("new", "line"): ".", ("next", "line"): ".", ("period",): ".", ("comma",): ","}
_SPOKEN_DIGITS = {**{word: str(value) for word, value in WORDS.items() if value < 10}, "zero": "0", "oh": "0"}  # noqa: PLR2004
_LONGEST_ID = 40
_IN_A_NAME = 2
_NAMED_BY_ID = re.compile(pattern_of("{named_by_id} <id>"))
_DESCRIBED = re.compile(pattern_of("{description} (<loc>|<path>)"))
_LONGEST_NAME = 7
RRULE = re.compile(r"(?:rrule:)?freq=[a-z]+(?:;[a-z]+=[a-z0-9,+-]+)*", re.IGNORECASE)
_AND = frozenset({",", "and", "or", "&", "plus"})
_IN_A_LIST = frozenset({"the", "all", "any", "as", "well", "also"})
_OF_A_KIND = frozenset({"files", "file", "ones", "only"})
_SEVERAL_ENDINGS = frozenset(words_of("several_endings"))
_LISTED = frozenset({"<glob>", "<file>", "<quoted>", "<rel>"})


@dataclass(frozen=True, slots=True)
class Chosen:
    """A span that won, and what it fills; courtesy fills nothing."""

    name: str
    facts: tuple[Fact, ...]
    words: str
    first: int
    last: int


def read(tokens: Sequence[Token], context: Context, text: str) -> tuple[list[Chosen], list[Item]]:
    """Give the chosen spans in the order of the text, and the items that no span owns."""
    items = [*build_items(tokens, context), Item("<end>", len(tokens), len(tokens) + 1, "")]

    def words_of(first: int, last: int) -> str:
        owned = tokens[first : min(last, len(tokens))]
        return text[owned[0].start : owned[-1].end] if owned else ""

    spans = with_background(_choose(Line(items, words_of)), items, words_of, Chosen)
    heard = heard_out(spans, items, words_of, Chosen)
    chosen = apart(operated(scoped(denied(heard, items, words_of, Chosen))))
    owned = {number for span in chosen for number in range(span.first, span.last)}
    leftover = [item for item in items if item.first not in owned and item.symbol != "<end>"]
    return chosen, leftover


def build_items(tokens: Sequence[Token], context: Context) -> list[Item]:
    """Turn tokens into words and values: locations, globs, amounts, times, lists of globs."""
    items = labelled(_without_fillers([_spelled(item) for item in read_atoms(tokens, context)]))
    items = _merged([_verb_or_name(items, at) for at in range(len(items))], _named_by_id)
    items = _merged(items, _spoken_mark)
    items = _merged(items, partial(_spoken_id, context=context))
    items = _merged(items, _value_at)
    items = _merged(items, _composite_at)
    items = _merged(_merged(items, _types_at), _globs_at)
    return _merged([_marked(_unglued(item)) for item in items], _described)


def _without_fillers(items: Sequence[Item]) -> list[Item]:
    """Let the word before it own a "um", so that phrases and operators reach over it."""
    result: list[Item] = []
    for item in items:
        if result and item.value is None and item.symbol in _FILLERS:
            result[-1] = replace(result[-1], last=item.last)
        else:
            result.append(item)
    return result


def _spoken_mark(items: list[Item], at: int) -> tuple[int, str, Value | None] | None:
    """Read "full stop" and "comma" as the marks that they are, when they stand between words."""
    for words, mark in _SPOKEN_MARKS.items():
        if tuple(item.symbol for item in items[at : at + len(words)]) == words:
            return len(words), mark, None
    return None


def _spoken_id(items: list[Item], at: int, context: Context) -> tuple[int, str, Value | None] | None:
    """Read "seven f three a two one" as the id of a transfer that exists."""
    said = ""
    for width, item in enumerate(items[at : at + _LONGEST_ID], 1):
        said += _SPOKEN_DIGITS.get(item.symbol, item.symbol if len(item.symbol) == 1 and item.symbol.isalnum() else "-")
        if said[-1] == "-":
            break
        if width > 1 and item.value is None and any(known.id.lower() == said for known in context.transfers):
            return width, "<id>", said
    return None


def _named_by_id(items: list[Item], at: int) -> tuple[int, str, Value | None] | None:
    """Read "the transfer with the ID 7f3a21" as the id that it is."""
    return _last_of(_NAMED_BY_ID, items, at)


def _described(items: list[Item], at: int) -> tuple[int, str, Value | None] | None:
    """Read "the anonymised series krios1:/ct/9" as the place that it is: what is spelled out needs no description."""
    return _last_of(_DESCRIBED, items, at)


def _last_of(pattern: re.Pattern[str], items: list[Item], at: int) -> tuple[int, str, Value | None] | None:
    """Let the value at the end of a phrase that stands here own the words before it."""
    match = pattern.match("".join(f"{item.symbol} " for item in items[at : at + _LONGEST_NAME]))
    last = items[at + match[0].count(" ") - 1] if match else None
    return (match[0].count(" "), last.symbol, last.value) if match and last else None


def _spelled(item: Item) -> Item:
    if item.value is not None or item.symbol in KNOWN:
        return item
    word = corrected(item.symbol)
    return item if word == item.symbol else replace(item, symbol=word, text=word)


def _unglued(item: Item) -> Item:
    """Take no path that ends in a comma and an ordinary word ("archive:/a,encrypted"): it may be a wish."""
    path = item.value.path if isinstance(item.value, Place) and not item.value.literal else None
    word = (path or "").rpartition(",")[2].lower() if "," in (path or "") else ""
    return replace(item, symbol=item.text, value=None) if len(word) > _IN_A_NAME and corrected(word) in KNOWN else item


def _marked(item: Item) -> Item:
    """Mark a word that no phrase knows, so that only `<any>` matches it."""
    if item.value is not None or item.symbol in KNOWN:
        return item
    if RRULE.fullmatch(item.text):
        return replace(item, symbol="<rrule>", value=item.text)
    visible = item.symbol.replace(" ", "_").replace("<", "(").replace(">", ")")
    capital = CAPITAL_MARK if item.text[:1].isupper() else ""
    return replace(item, symbol=f"{UNKNOWN_MARK}{capital}{visible}")


def _verb_or_name(items: Sequence[Item], at: int) -> Item:
    """Read a word that is both an endpoint's name and a verb ("archive") by where it stands."""
    item = items[at]
    word = item.text.lower()
    if word == "/" and 0 < at < len(items) - 1:
        # "copy / move" says two things to do, and no place.
        beside = (items[at - 1], items[at + 1])
        words = all(one.value is None and one.symbol not in _NOT_BEFORE_A_VERB for one in beside)
        return Item("or", item.first, item.last, item.text) if words else item
    if item.symbol != "<ep>" or word not in _VERBS or at + 1 >= len(items):
        return item
    before = items[at - 1].symbol if at else ""
    after = items[at + 1].symbol
    acts = after in ("<loc>", "<path>", "<rel>", "<quoted>", "<ref>", "<glob>", "<ep>") or after in _OF_A_VERB
    if acts and before not in _NOT_BEFORE_A_VERB:
        return Item(word, item.first, item.last, item.text)
    return item


def _merged(
    items: list[Item], recognise: Callable[[list[Item], int], tuple[int, str, Value | None] | None]
) -> list[Item]:
    """Replace stretches of items by the values that they are recognised as."""
    merged: list[Item] = []
    at = 0
    while at < len(items):
        found = recognise(items, at)
        if found is None:
            merged.append(items[at])
            at += 1
            continue
        width, symbol, value = found
        piece = items[at : at + width]
        words = " ".join(item.text for item in piece)
        merged.append(Item(symbol, piece[0].first, piece[-1].last, words, value))
        at += width
    return merged


def _value_at(items: list[Item], at: int) -> tuple[int, str, Value] | None:
    """Find the longest amount, length or point in time that starts here."""
    if items[at].value is not None:
        return None
    found: list[tuple[int, str, Value]] = []
    if hours := _hours(items, at):
        found.append(hours)
    if when := when_at(items, at):
        found.append((when[0], "<when>", when[1]))
    if amount := amount_at(items, at):
        found.append((amount[0], _amount_symbol(items[at : at + amount[0]], amount[1]), amount[1]))
    if length := length_at(items, at):
        found.append((length[0], "<dur>", length[1]))
    if whose := _whose(items, at):
        found.append(whose)
    if not found and (number := number_at(items, at)) and not number.rest and number.in_digits:
        found.append((number.width, "<num>", items[at].text))
    return max(found, key=lambda reading: reading[0]) if found else None


def _amount_symbol(piece: Sequence[Item], amount: Amount) -> str:
    """Tell an amount that is clearly a rate ("1,5 Gb/s") from one that may be a size, too ("500 megs")."""
    if amount.kind != "unsure":
        return f"<{amount.kind}>"
    words = [item.text.lstrip("0123456789.,") for item in piece]
    per = any(item.symbol in ("per", "a", "each", "every") for item in piece[1:])
    return "<qrate>" if per or any(is_rate_unit(word) for word in words) else "<qty>"


def _hours(items: list[Item], at: int) -> tuple[int, str, Value] | None:
    """Read "22:00-05:00" written as one word."""
    for dash in ("-", "\u2013", "\u2014"):
        opens, found, closes = items[at].text.partition(dash)
        if not found or (":" not in opens + closes and not (opens + closes).endswith("m")):
            continue
        pieces = [replace(items[at], text=part, symbol=part.lower()) for part in (opens, closes)]
        if not all(piece.text for piece in pieces):
            continue
        whens = [when_at((piece,), 0) for piece in pieces]
        if whens[0] and whens[1] and whens[0][1].clock and whens[1][1].clock:
            return 1, "<hours>", Hours(items[at].text, whens[0][1], whens[1][1])
    return None


def _whose(items: list[Item], at: int) -> tuple[int, str, Value] | None:
    """Read "last night's", "yesterday's": a time that owns what follows."""
    for width in (1, 2):
        piece = items[at : at + width]
        if len(piece) < width or piece[-1].value is not None or not piece[-1].symbol.endswith("'s"):
            continue
        last = replace(piece[-1], symbol=piece[-1].symbol[:-2], text=piece[-1].text[:-2])
        when = when_at([*piece[:-1], last], 0)
        if when and when[0] == width:
            return width, "<whens>", when[1]
    return None


def _composite_at(items: list[Item], at: int) -> tuple[int, str, Value] | None:
    """Join a path and the endpoint that the words say it is on."""
    if joined := _below(items, at) or _in_parts(items, at):
        return joined
    symbols = [item.symbol for item in items[at : at + 6]]
    if symbols[:1] in (["<path>"], ["<rel>"]):
        skip = 1
        while symbols[skip : skip + 1] and symbols[skip] in _STANDING:
            skip += 1
        cue = symbols[skip : skip + 1]
        skip += 2 if symbols[skip + 1 : skip + 2] == ["the"] else 1
        on_it = cue in (["from"], ["on"]) or (cue in (["at"], ["in"]) and not _is_wanted(items, at))
        before = items[at - 1].symbol if at else ""
        listed = symbols[0] == "<rel>" and before in _BEFORE_NAMES
        if on_it and symbols[skip : skip + 1] == ["<ep>"] and before not in _PUTTING and not listed:
            return skip + 1, "<loc>", _on(items[at + skip], items[at])
    owner = symbols[:1] == ["<ep>"] and items[at].text.endswith(("'s", "\u2019s"))
    if owner and symbols[1:2] == ["<path>"]:
        return 2, "<loc>", _on(items[at], items[at + 1])
    if symbols[:1] != ["<ep>"]:
        return None
    width = next((len(words) for words in _BETWEEN if symbols[1 : len(words) + 1] == words), 0)
    apart = symbols[1:2] == [","] and (items[at - 1].symbol if at else "") not in ("from", "to", "on", "at")
    if symbols[width + 1 : width + 2] != ["<path>"] or apart:
        return None
    return width + 2, "<loc>", _on(items[at], items[at + width + 1])


def _in_parts(items: list[Item], at: int) -> tuple[int, str, Value] | None:
    """Join "krios1 (/raw)", "krios1, path /raw" and "/raw directory of krios1"."""
    symbols = [item.symbol for item in items[at : at + 6]]
    if symbols[:1] == ["<ep>"]:
        width = 2 if symbols[1:2] in (["<open>"], [","]) else 1
        named = symbols[width : width + 1] in (["path"], ["folder"], ["directory"])
        width += named + (named and symbols[width + 1 : width + 2] == [":"])
        if symbols[width : width + 1] != ["<path>"] or (not named and symbols[1:2] != ["<open>"]):
            return None
        closed = symbols[1:2] != ["<open>"] or symbols[width + 1 : width + 2] == ["<close>"]
        last = width + (2 if symbols[1:2] == ["<open>"] else 1)
        return (last, "<loc>", _on(items[at], items[at + width])) if closed else None
    if symbols[:1] == ["<path>"] and symbols[1:2] == ["<open>"] and symbols[3:5] == ["<ep>", "<close>"]:
        return 5, "<loc>", _on(items[at + 3], items[at])
    if symbols[:1] == ["<path>"]:
        width = 2 if symbols[1:2] in (["folder"], ["directory"]) else 1
        if symbols[width : width + 2] == ["of", "<ep>"]:
            return width + 2, "<loc>", _on(items[at + width + 1], items[at])
    return None


def _is_wanted(items: list[Item], at: int) -> bool:
    """Say whether the words want the path to be there ("I need /raw/x at NCSA"): then it is not there yet."""
    return any(item.symbol in _WANTING | _PUTTING for item in items[max(0, at - 6) : at])


def _below(items: list[Item], at: int) -> tuple[int, str, Value] | None:
    """Join "run42 under /raw on krios1": a name, the folder that it is in, and the endpoint."""
    named = items[at]
    if named.symbol not in ("<ref>", "<rel>", "<file>") and (named.value is not None or named.symbol in KNOWN):
        return None
    symbols = [item.symbol for item in items[at + 1 : at + 5]]
    named_so = named.value is not None or any(letter.isdigit() for letter in named.text)
    cues = ("under", "in", "below", "inside", "within", "from" if named_so else "in")
    if symbols[:2] not in [[cue, "<path>"] for cue in cues]:
        return None
    if symbols[2:3] not in (["on"], ["from"], ["at"]) or symbols[3:4] != ["<ep>"] or _is_wanted(items, at):
        return None
    folder = items[at + 2]
    if not isinstance(folder.value, Place) or folder.value.path is None:
        return None
    path = f"{folder.value.path.rstrip('/')}/{named.text}"
    return 5, "<loc>", _on(items[at + 4], replace(folder, text=path, value=replace(folder.value, path=path)))


def _on(endpoint: Item, path: Item) -> Place:
    if not isinstance(endpoint.value, Place) or not isinstance(path.value, Place):
        message = "a location is made of two places"
        raise TypeError(message)
    words = f"{endpoint.text}:{path.text}"
    # "raw/run42 from krios1" starts at the top of the endpoint.
    below = path.value.path or ""
    below = below if below.startswith(("/", "~", "$", "\\", ".")) else f"/{below}"
    return replace(path.value, words=words, name=endpoint.value.name, path=below)


def _types_at(items: list[Item], at: int) -> tuple[int, str, Value | None] | None:
    """Read kinds of files by their endings: "json and csv files", "all PDFs"."""
    found: list[str] = []
    end = at
    while end < len(items) and (ending := _ending(items[end])):
        found.append(f"*.{ending}")
        end += 1
        if end + 1 < len(items) and items[end].symbol in _AND and _ending(items[end + 1]):
            end += 1
    after = items[end].symbol if end < len(items) else ""
    plural = found and items[end - 1].text[:-1].isupper() and items[end - 1].text.endswith("s")
    return (end - at, "<globs>", tuple(found)) if found and (plural or after in _OF_A_KIND) else None


def _ending(item: Item) -> str:
    """Give the one ending of a kind of files; "tiff files" may end in two ways, "log files" in any."""
    word = item.text[:-1] if item.text[:-1].isupper() and item.text.endswith("s") else item.text
    word = word.lower() if item.value is None else ""
    plain = word.isalnum() and word not in KNOWN and not is_real_word(word) and word not in _SEVERAL_ENDINGS
    return word if plain and is_ending(word) else ""


def _globs_at(items: list[Item], at: int) -> tuple[int, str, Value] | None:
    """Read a list of globs, file names and quoted names."""
    if items[at].symbol not in _LISTED or (items[at].symbol == "<rel>"):
        return None
    found = [items[at]]
    end = at + 1
    while True:
        step = end
        while step < len(items) and step - end < 4 and items[step].symbol in (_AND | _IN_A_LIST):  # noqa: PLR2004
            step += 1
        if step >= len(items) or items[step].symbol not in _LISTED:
            break
        beside = step == end and {items[end - 1].symbol, items[step].symbol} == {"<glob>"}
        if not beside and not any(items[between].symbol in (_AND | {"well"}) for between in range(end, step)):
            break
        found.append(items[step])
        end = step + 1
    symbol = (
        "<globs>" if all(item.symbol == "<glob>" and not str(item.value).endswith("/") for item in found) else "<names>"
    )
    names = tuple(item.value.path or "" if isinstance(item.value, Place) else str(item.value) for item in found)
    return end - at, symbol, names


_Found = tuple[str, Hit, tuple[Reading, ...]]


def _choose(line: Line) -> list[Chosen]:
    """Choose spans, longest first; where that leaves words unowned, the spans that own the most."""
    found = [(rule.name, hit, tuple(rule.make(hit))) for rule in RULES for hit in line.hits(rule)]
    order = sorted(range(len(found)), key=lambda number: (-_length(found[number][1]), number))
    spans: dict[tuple[int, int], _Found] = {}
    for number in order:
        name, hit, readings = found[number]
        before = spans.get((hit.first, hit.last))
        if before is not None:
            # Equal spans that disagree become a doubt about their slots.
            name, hit, readings = before[0], before[1], _both(before[2], readings, hit.words)
        spans[hit.first, hit.last] = (name, hit, readings)
    longest = _longest_first(spans)
    for first, last in line.sentences():
        inside = [span for span in longest if first <= span[0] and span[1] <= last]
        straddles = any(span[0] < first < span[1] or span[0] < last < span[1] for span in longest)
        better = [] if straddles else _best_cover(spans, first, last)
        if _owned(better) > _owned(inside):
            longest = [span for span in longest if span not in inside] + better
    return sorted((_facts(*spans[span]) for span in longest), key=lambda span: span.first)


def _owned(spans: Sequence[tuple[int, int]]) -> int:
    return sum(last - first for first, last in spans)


def _longest_first(spans: dict[tuple[int, int], _Found]) -> list[tuple[int, int]]:
    taken: set[int] = set()
    chosen: list[tuple[int, int]] = []
    for first, last in spans:
        if taken.isdisjoint(range(first, last)):
            taken.update(range(first, last))
            chosen.append((first, last))
    return chosen


def _best_cover(spans: dict[tuple[int, int], _Found], first: int, last: int) -> list[tuple[int, int]]:
    """Choose the spans of a sentence that own the most words: few long ones, if several choices do."""
    starting: dict[int, list[int]] = {}
    for opens, closes in spans:
        if first <= opens and closes <= last:
            starting.setdefault(opens, []).append(closes)
    # From the end: the cost of what is left, and the spans that cover it.
    best: dict[int, tuple[tuple[int, int, int], tuple[tuple[int, int], ...]]] = {last: ((0, 0, 0), ())}
    for at in range(last - 1, first - 1, -1):
        (unowned, count, squares), rest = best[at + 1]
        best[at] = ((unowned + 1, count, squares), rest)
        for closes in starting.get(at, ()):
            (unowned, count, squares), rest = best[closes]
            cost = (unowned, count + 1, squares - (closes - at) ** 2)
            best[at] = min(best[at], (cost, ((at, closes), *rest)), key=lambda one: one[0])
    return list(best[first][1])


def _length(hit: Hit) -> int:
    return hit.last - hit.first


def _both(first: tuple[Reading, ...], second: tuple[Reading, ...], words: str) -> tuple[Reading, ...]:
    """Join two readings of one span: the same, or a doubt about every slot of either."""
    if first == second or not second:
        return first
    if not first:
        return first
    slots = dict.fromkeys(slot for slot, _ in (*first, *second))
    meanings = " or ".join(f"{slot} {_shown(value)}" for slot, value in (*first, *second))
    return tuple((slot, Doubt(f"`{words}` can mean {meanings}")) for slot in slots)


def _shown(value: Value) -> str:
    return str(value) if isinstance(value, str | int) else getattr(value, "words", "")


def _facts(name: str, hit: Hit, readings: tuple[Reading, ...]) -> Chosen:
    named = [str(item.value) for item in hit.items if item.symbol == "<id>"]
    if named and readings and not any(slot in ("id", "same") for slot, _ in readings):
        # "limit 7f3a to 1 Gb/s": an option that names its transfer.
        readings = (*readings, ("id", named[0]))
    verbs = [ACTION_OF[item.symbol] for item in hit.items if item.symbol in ACTION_OF]
    if verbs and readings and all(slot in FILTERS for slot, _ in readings):
        # "only fetch *.mrc from A to B": a filter that names the verb.
        readings = (*readings, ("weak_action", verbs[0]))
    facts = tuple(Fact(slot, value, hit.words, hit.first, hit.last) for slot, value in readings)
    return Chosen(name, facts, hit.words, hit.first, hit.last)
