"""Items: tokens as words and values, with what stands together joined: amounts, times, locations, lists of names."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Hours, Place, Repeat
from headrace.guardrails.language.atoms import read_atoms
from headrace.guardrails.language.clock import when_at
from headrace.guardrails.language.fields import labelled
from headrace.guardrails.language.grammar import ACTION_OF, KNOWN, OPENS_A_VALUE, phrase_of
from headrace.guardrails.language.lengths import length_at
from headrace.guardrails.language.numbers import number_at
from headrace.guardrails.language.phrases import (
    CAPITAL_MARK,
    UNKNOWN_MARK,
    Item,
    listed,
    opening_of,
    phrase_at,
    plain_word,
    table,
    text_of,
)
from headrace.guardrails.language.spelling import corrected, is_real_word
from headrace.guardrails.language.units import amount_at, is_rate_unit
from headrace.guardrails.resolve.dot_names import is_ending
from headrace.guardrails.resolve.recurrence import RRULE_DAYS, days_between

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from headrace.guardrails.intents.context import Context
    from headrace.guardrails.intents.draft import Amount, Value
    from headrace.guardrails.language.phrases import Opening
    from headrace.guardrails.language.tokens import Token

    Joined = tuple[int, str, Value | None]

_LONGEST_ID = 40
_FROM_TO = 2
_IN_A_NAME = 2
_LONGEST_PHRASE = 7
_BETWEEN_NAMES = 4
_RRULE = re.compile(r"(?:rrule:)?freq=[a-z]+(?:;[a-z]+=[a-z0-9,+-]+)*", re.IGNORECASE)
_LISTED = frozenset({"<glob>", "<file>", "<quoted>", "<rel>"})
_PLACES = frozenset({"<ep>", "<path>", "<rel>"})
_OBJECTS = frozenset({"<loc>", "<path>", "<rel>", "<quoted>", "<ref>", "<glob>", "<ep>"})


def build_items(tokens: Sequence[Token], context: Context) -> list[Item]:
    """Turn tokens into words and values: locations, globs, amounts, times, lists of globs."""
    items = labelled(_without_fillers([_spelled(item) for item in read_atoms(tokens, context)]))
    items = [_verb_or_name(items, at) for at in range(len(items))]
    for join in (
        partial(_last_of, "{named_by_id} <id>"),
        _spoken_mark,
        _days_at,
        partial(_spoken_id, ids={known.id.lower() for known in context.transfers}),
        _value_at,
        _place_at,
        _types_at,
        _globs_at,
    ):
        items = _joined(items, join)
    return _joined([_marked(_unglued(item)) for item in items], partial(_last_of, "{description} (<loc>|<path>)"))


def _joined(items: list[Item], join: Callable[[list[Item], int], Joined | None]) -> list[Item]:
    """Replace stretches of items by the values that they are recognised as."""
    result: list[Item] = []
    at = 0
    while at < len(items):
        if found := join(items, at):
            width, symbol, value = found
            words = text_of(items, at, at + width)
            result.append(Item(symbol, items[at].first, items[at + width - 1].last, words, value))
            at += width
        else:
            result.append(items[at])
            at += 1
    return result


def _without_fillers(items: Sequence[Item]) -> list[Item]:
    """Let the word before it own a "um", so that phrases and operators reach over it."""
    result: list[Item] = []
    for item in items:
        aside = item.symbol == "," and result and result[-1].symbol == "," and result[-1].last > result[-1].first + 1
        if (result and item.value is None and item.symbol in listed("filler")) or aside:
            result[-1] = replace(result[-1], last=item.last)
        else:
            result.append(item)
    return result


def _spelled(item: Item) -> Item:
    if item.value is not None or item.symbol in KNOWN:
        return item
    word = corrected(item.symbol)
    return item if word == item.symbol else replace(item, symbol=word, text=word)


def _verb_or_name(items: Sequence[Item], at: int) -> Item:
    """Read a word that is both an endpoint's name and a verb ("archive") by where it stands."""
    item, word = items[at], items[at].text.lower()
    if word != "/" and item.symbol != "<ep>":
        return item
    before, after = (items[beside] if 0 <= beside < len(items) else None for beside in (at - 1, at + 1))
    if word == "/" and before and after:
        # "copy / move" says two things to do, and no place.
        words = all(one.value is None and one.symbol not in listed("before_no_verb") for one in (before, after))
        return Item("or", item.first, item.last, item.text) if words else item
    verb = item.symbol == "<ep>" and (word in ACTION_OF or word in listed("verb.unsure", "shell_verb"))
    acts = after is not None and (after.symbol in _OBJECTS or after.symbol in listed("object_of_a_verb"))
    named = before is not None and before.symbol in listed("before_no_verb")
    return Item(word, item.first, item.last, item.text) if verb and acts and not named else item


@cache
def _pattern(source: str) -> tuple[Opening, re.Pattern[str]]:
    phrase = phrase_of(source)
    return phrase.opening, re.compile(phrase.text)


def _piece(phrase: str, items: Sequence[Item], at: int) -> Sequence[Item]:
    """Give the items of a phrase that stands here, if it does."""
    opening, pattern = _pattern(phrase)
    if at >= len(items) or not opening.begins(opening_of(items[at].symbol)):
        return ()
    match = pattern.match("".join(f"{item.symbol} " for item in items[at : at + _LONGEST_PHRASE]))
    return items[at : at + match[0].count(" ")] if match else ()


def _last_of(phrase: str, items: Sequence[Item], at: int) -> Joined | None:
    """Let the value at the end of a phrase own its words: "the series krios1:/ct/9", "the job with the ID 7f3a"."""
    piece = _piece(phrase, items, at)
    return (len(piece), piece[-1].symbol, piece[-1].value) if piece else None


def _spoken_mark(items: Sequence[Item], at: int) -> Joined | None:
    """Read "full stop" and "comma" as the marks that they are, when they stand between words."""
    width, mark = phrase_at(items, at, "spoken_mark")
    return (width, mark, None) if width else None


@cache
def _digits() -> Mapping[str, str]:
    return table("number") | table("digit")


def _spoken_id(items: Sequence[Item], at: int, ids: Collection[str]) -> Joined | None:
    """Read "seven f three a two one" as the id of a transfer that exists."""
    said = ""
    longest = min(max(map(len, ids), default=0), _LONGEST_ID)
    for width, item in enumerate(items[at : at + longest], 1):
        letter = _digits().get(item.symbol, item.symbol)
        if len(letter) != 1 or not letter.isalnum():
            return None
        said += letter
        if width > 1 and item.value is None and said in ids:
            return width, "<id>", said
    return None


def _unglued(item: Item) -> Item:
    """Take no path that ends in a comma and an ordinary word ("archive:/a,encrypted"): it may be a wish."""
    path = item.value.path if isinstance(item.value, Place) and not item.value.literal else None
    word = (path or "").rpartition(",")[2].lower() if "," in (path or "") else ""
    return replace(item, symbol=item.text, value=None) if len(word) > _IN_A_NAME and corrected(word) in KNOWN else item


def _marked(item: Item) -> Item:
    """Mark a word that no phrase knows, so that only `<any>` matches it."""
    if item.value is not None or item.symbol in KNOWN:
        return item
    if is_rate_unit(item.text):
        return replace(item, symbol="<rateunit>")
    if _RRULE.fullmatch(item.text):
        return replace(item, symbol="<rrule>", value=item.text)
    visible = item.symbol.replace(" ", "_").replace("<", "(").replace(">", ")")
    return replace(item, symbol=f"{UNKNOWN_MARK}{CAPITAL_MARK if item.text[:1].isupper() else ''}{visible}")


def _value_at(items: Sequence[Item], at: int) -> Joined | None:
    """Find the longest amount, length or point in time that starts here."""
    if items[at].value is not None:
        return None
    found: list[Joined] = [one for one in (_hours(items, at), _whose(items, at)) if one]
    if plain_word(items[at]) in OPENS_A_VALUE or any(map(str.isdigit, items[at].text)):
        found += _amounts_and_times(items, at)
    return max(found, key=lambda reading: reading[0]) if found else None


def _amounts_and_times(items: Sequence[Item], at: int) -> Iterator[Joined]:
    when, amount, length = when_at(items, at), amount_at(items, at), length_at(items, at)
    if when:
        yield when[0], "<when>", when[1]
    if amount and text_of(items, at, at + amount[0]).lower() not in listed("a_little"):
        yield amount[0], _amount_symbol(items[at : at + amount[0]], amount[1]), amount[1]
    if length:
        yield length[0], "<dur>", length[1]
    number = None if when or amount or length else number_at(items, at)
    if number and not number.rest and number.in_digits:
        yield number.width, "<num>", items[at].text


def _amount_symbol(piece: Sequence[Item], amount: Amount) -> str:
    """Tell an amount that is clearly a rate ("1,5 Gb/s") from one that may be a size, too ("500 megs")."""
    if amount.kind != "unsure":
        return f"<{amount.kind}>"
    per = any(item.symbol in listed("per") for item in piece[1:])
    return "<qrate>" if per or any(is_rate_unit(item.text.lstrip("0123456789.,")) for item in piece) else "<qty>"


def _hours(items: Sequence[Item], at: int) -> Joined | None:
    """Read "22:00-05:00" written as one word."""
    opens, found, closes = items[at].text.replace("\u2013", "-").replace("\u2014", "-").partition("-")
    if not (found and opens and closes) or (":" not in opens + closes and not (opens + closes).endswith("m")):
        return None
    whens = [when_at((replace(items[at], text=part, symbol=part.lower()),), 0) for part in (opens, closes)]
    if whens[0] and whens[1] and whens[0][1].clock and whens[1][1].clock:
        return 1, "<hours>", Hours(items[at].text, whens[0][1], whens[1][1])
    return None


def _days_at(items: Sequence[Item], at: int) -> Joined | None:
    """Read "Mon-Fri", "Mon/Wed/Fri": days of the week written as one word."""
    text = items[at].text.lower().replace("\u2013", "-")
    mark = "/" if "/" in text else "-"
    names = text.split(mark)
    days = [number for name in names for group in ("weekday", "weekdays") if (number := table(group).get(name))]
    if len(names) == 1 or len({*days}) != len(names):
        return None
    spans = mark == "-" and len(days) == _FROM_TO
    codes = days_between(*map(int, days)) if spans else tuple(RRULE_DAYS[day] for day in sorted({*map(int, days)}))
    return 1, "<days>", Repeat(items[at].text, "WEEKLY", days=codes)


def _whose(items: Sequence[Item], at: int) -> Joined | None:
    """Read "last night's", "yesterday's": a time that owns what follows."""
    for width in (1, 2):
        *piece, last = items[at : at + width]
        if last.value is None and last.symbol.endswith("'s"):
            when = when_at([*piece, replace(last, symbol=last.symbol[:-2], text=last.text[:-2])], 0)
            if when and when[0] == width:
                return width, "<whens>", when[1]
    return None


def _place_at(items: Sequence[Item], at: int) -> Joined | None:
    """Join a path and the endpoint that the words say it is on."""
    if whole := _below(items, at) or _here(items, at):
        return whole
    if items[at].symbol not in _PLACES:
        return None
    before = items[at - 1].symbol if at else ""
    if items[at].text.endswith(("'s", "\u2019s")) and [one.symbol for one in items[at : at + 2]] == ["<ep>", "<path>"]:
        return 2, "<loc>", _on(items[at], items[at + 1])
    if piece := _piece("{endpoint_and_path}", items, at):
        apart = piece[1].symbol == "," and len(piece) == 3 and before not in listed("goes_to_an_endpoint")  # noqa: PLR2004
        return None if apart else _location(piece)
    if before in listed("puts") or (items[at].symbol == "<rel>" and before in listed("before_names")):
        return None
    cue = table("cues_a_path").get(before)
    wanted = cue != "at_once" and _is_wanted(items, at, *(("puts",) if cue != "put" else ()))
    return _location(_piece("{path_from}", items, at) or (() if wanted else _piece("{path_at}", items, at)))


def _location(piece: Sequence[Item]) -> Joined | None:
    places = sorted((item for item in piece if item.symbol in _PLACES), key=lambda item: item.symbol)
    return (len(piece), "<loc>", _on(*places)) if places else None


def _is_wanted(items: Sequence[Item], at: int, *groups: str) -> bool:
    """Say whether the words want the path to be there ("I need /raw/x at NCSA"): then it is not there yet."""
    return any(item.symbol in listed("wants_it_there", *groups) for item in items[max(0, at - 6) : at])


def _here(items: Sequence[Item], at: int) -> Joined | None:
    """Read "/data/x on this machine": a path alone is there already."""
    piece = _piece("{path_here}", items, at)
    return (len(piece), piece[0].symbol, piece[0].value) if piece else None


def _below(items: Sequence[Item], at: int) -> Joined | None:
    """Join "run42 under /raw on krios1": a name, the folder that it is in, and the endpoint."""
    named = items[at]
    if named.symbol not in ("<ref>", "<rel>", "<file>") and (named.value is not None or named.symbol in KNOWN):
        return None
    piece = _piece("{folder_of_a_name}", items, at + 1)
    if not piece or _is_wanted(items, at, "puts"):
        return None
    cue, folder, _, endpoint = piece
    so_named = named.value is not None or any(letter.isdigit() for letter in named.text)
    place = folder.value
    if not isinstance(place, Place) or place.path is None or (cue.symbol == "from" and not so_named):
        return None
    path = f"{place.path.rstrip('/')}/{named.text}"
    return 5, "<loc>", _on(endpoint, replace(folder, text=path, value=replace(place, path=path)))


def _on(endpoint: Item, path: Item) -> Place:
    if not isinstance(endpoint.value, Place) or not isinstance(path.value, Place):
        message = "a location is made of two places"
        raise TypeError(message)
    # "raw/run42 from krios1" starts at the top of the endpoint.
    below = path.value.path or ""
    below = below if below.startswith(("/", "~", "$", "\\", ".")) else f"/{below}"
    return replace(path.value, words=f"{endpoint.text}:{path.text}", name=endpoint.value.name, path=below)


def _types_at(items: Sequence[Item], at: int) -> Joined | None:
    """Read kinds of files by their endings: "json and csv files", "all PDFs"."""
    found: list[str] = []
    end = at
    while end < len(items) and (ending := _ending(items[end])):
        found.append(f"*.{ending}")
        end += 1
        if end + 1 < len(items) and items[end].symbol in listed("joins_names") and _ending(items[end + 1]):
            end += 1
    plural = found and items[end - 1].text[:-1].isupper() and items[end - 1].text.endswith("s")
    kind = plural or phrase_at(items, end, "of_a_kind")[0]
    return (end - at, "<globs>", tuple(found)) if found and kind else None


def _ending(item: Item) -> str:
    """Give the one ending of a kind of files; "tiff files" may end in two ways, "log files" in any."""
    word = item.text[:-1] if item.text[:-1].isupper() and item.text.endswith("s") else item.text
    word = word.lower() if item.value is None else ""
    plain = word.isalnum() and word not in KNOWN and not is_real_word(word) and word not in listed("several_endings")
    return word if plain and is_ending(word) else ""


def _globs_at(items: Sequence[Item], at: int) -> Joined | None:
    """Read a list of globs, file names and quoted names."""
    if items[at].symbol not in _LISTED or items[at].symbol == "<rel>":
        return None
    found = [items[at]]
    end = at + 1
    while True:
        step, joins = end, listed("joins_names")
        while (
            step < len(items) and step - end < _BETWEEN_NAMES and items[step].symbol in joins | listed("goes_on_a_list")
        ):
            step += 1
        if step >= len(items) or items[step].symbol not in _LISTED:
            break
        beside = step == end and {items[end - 1].symbol, items[step].symbol} == {"<glob>"}
        if not beside and not any(item.symbol in joins or item.symbol == "well" for item in items[end:step]):
            break
        found.append(items[step])
        end = step + 1
    globs = all(item.symbol == "<glob>" and not str(item.value).endswith("/") for item in found)
    names = tuple(item.value.path or "" if isinstance(item.value, Place) else str(item.value) for item in found)
    return end - at, "<globs>" if globs else "<names>", names
