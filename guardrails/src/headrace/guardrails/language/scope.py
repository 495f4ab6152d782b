"""How far "skip" and "don't" reach: "skip *.tmp and files over 50 GiB" skips both."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from headrace.guardrails.language.grammar import ACTION_OF, heads_of, pattern_of
from headrace.guardrails.language.phrases import ends, listed, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.guardrails.language.spans import Chosen

_INVERSE = {
    "include": "exclude",
    "min_size": "max_size",
    "max_size": "min_size",
    "modified_after": "modified_before",
    "modified_before": "modified_after",
}
CARRIED = "carried"
"""The name of a span that a "skip" before "and" reaches."""
FIELD = "field: "
"""How the names of spans that are fields of a form begin: a field says nothing of another."""
FILTERS = frozenset({*_INVERSE, "exclude", "weak_action"})
# What a "don't" before "and" may or may not reach.
_REACHED = frozenset({"verify", "encryption", "on_conflict", "delete_source", "delete_extraneous"})
OPTIONS = frozenset(
    {*FILTERS, *_REACHED, "rate_limit_bps", "priority", "preserve", "start", "deadline", "window", "repeat"}
)
# "overwrite only *.log" chooses what is overwritten, not what is copied; "verify it at 18:00" says when it is verified.
_OWNING = frozenset({*_REACHED, "preserve", "delete_nothing", "keep_place", "clear"})
_WHOLE_ORDER = frozenset({"action", "source", "destination"})
_TIMES = frozenset({"start", "window", "repeat"})
# What may change while a transfer runs, and so may hold from some time on.
_FROM_THEN = frozenset({"rate_limit_bps", "priority"})
_MOMENTS_OF_WORK = frozenset({"start", "window", "deadline"})
# A size or an age, said of the files before it or of all.
_MOMENTS = frozenset({"modified_after", "modified_before"})
LIMITS = frozenset({"min_size", "max_size"}) | _MOMENTS
_HEADS = {kind: re.compile(pattern_of(f"{{{kind}}}")) for kind in ("only", "skip", "not")}
"""How a span may begin that says which files are taken or left out, or that something is not to be."""
_COMPARING = heads_of("bigger", "smaller", "changed") | listed("compares")
_OWN_A_TIME = heads_of("doing_option")
_OWN_ORDER = listed("own_order")
_ARTICLES = listed("determiner", "goes_on_a_list")
_DENIES_DOING = re.compile(pattern_of("{denies_doing}"))
_STATES = tuple(f" {words.split()[-1]}" for words in table("state"))
_SUBJECTS = frozenset({"what it is", "nouns"})
_WHOLE = frozenset({*_SUBJECTS, "all"})
# Who does it, right before a verb at the beginning of a clause: "they move A to B", "all jobs copy A to B".
_DOERS = _SUBJECTS | {"it", "all", "transfers", "one transfer"}
_ORDERS = frozenset(ACTION_OF) | listed("verb.unsure", "orders", "own_order", "doing_option")
_ORDERED = OPTIONS | {"action", "delete_nothing", "delete_place", "keep_place"}
_LONGEST_HEAD = 9
_CAPPED = re.compile(pattern_of("[with|at|by|use|using] {at_most}"))
_LOSES = frozenset({"delete_source", "delete_extraneous"})
_KEPT = _REACHED | {"delete_nothing", "keep_place"}
_ENDS_SO = tuple(f" {words}" for words in listed("only_behind"))
_EITHER_WAY = "say whether these are left out, too, or the only ones that are taken"


@lru_cache(maxsize=4096)
def _kind_of(symbols: str) -> str:
    """Give the kind of head that some words begin with, the longest one: "keep only" takes, "keep out" skips."""
    words = symbols.split(" ")[:-1]
    while words and words[0] in listed("opens_a_part"):
        words = words[1:]
    for end in range(min(len(words), _LONGEST_HEAD), 0, -1):
        said = "".join(f"{word} " for word in words[:end])
        if kind := next((kind for kind, heads in _HEADS.items() if heads.fullmatch(said)), ""):
            return kind
    return ""


def _skips(span: Chosen) -> bool:
    return _kind_of(span.symbols) in ("skip", "not")


def _takes(span: Chosen) -> bool:
    return _kind_of(span.symbols) == "only"


def _negates(span: Chosen) -> bool:
    return _kind_of(span.symbols) == "not" or span.first_word in listed("denies")


def _has_head(span: Chosen) -> bool:
    return bool(_kind_of(span.symbols)) or _negates(span)


@dataclass(slots=True)
class _Scope:
    """What came before a span: the head of a list, an option that may own what follows, and the words between."""

    before: Chosen | None = None
    joiner: str = ""
    in_list: bool = False
    owner: Chosen | None = None
    apart: bool = False
    many: bool = False
    denied: Chosen | None = None
    """What said last that an option is not to be."""
    left: Chosen | None = None
    """What said last that files are left out."""


def scoped(chosen: list[Chosen]) -> list[Chosen]:
    """Carry a "skip" over "and" to what has no word of its own; doubt where the reach is not clear."""
    result: list[Chosen] = []
    scope, acts = _Scope(), not any(span.says("action", "list") or span.says("action", "status") for span in chosen)
    for previous, given in zip([None, *chosen], map(_told, _unless_others_do(chosen)), strict=False):
        span = given if previous is None else _guarded(previous, given)
        if span.spoken in listed("joins") and span.slots <= {"marker"}:
            scope.apart = scope.apart or span.words != "but"
            scope.joiner = f"{scope.joiner} {span.spoken}".strip()
            result.append(span)
            continue
        scope.many = scope.many or bool(span.slots & {"all", "select", "state"})
        span = _of_many(previous, span) if acts and scope.many and previous else span
        field = span.name.startswith(FIELD)
        owner = None if field else scope.owner
        reached = _owned(owner, span, apart=scope.apart) if owner else span
        if owner and not scope.apart and (reached is not span or span.name == "only" or span.says("cue", "include")):
            # "encrypt only the metadata": the option itself holds for a part at most.
            doubt = f"say whether it holds for the whole transfer, and leave out `{span.words}`"
            result[_index(result, owner)] = owner.doubted(doubt)
        if reached is span and scope.before:
            reached = _carried(scope, span)
        result.append(reached)
        _look_back(result, scope)
        if scope.left and _goes_on(scope.left, reached):
            result[-1] = reached.doubted(_EITHER_WAY)
        scope.left = reached if _leaves_out(reached) else scope.left
        # The head of a list reaches over all of it: "skip a, b and c".
        if reached is span and scope.before and _names_alone(scope, span):
            doubt = f"say whether `{span.words}` is said of these files alone"
            result[_index(result, scope.before)] = scope.before.doubted(doubt)
        # What fills nothing, as "anything", does not end the reach of an exclusion.
        if (reached is span and (span.facts or not _excludes(scope.before))) or scope.before is None:
            scope.before = reached
        scope.in_list, scope.joiner = bool(scope.joiner), ""
        if not (span.slots & {"turn", "cue"} or span.name == "only" or span.words == "("):
            # "An encrypted copy of A on B" is a whole order: a time behind it is of the order, not of its encryption.
            owns = span.slots & _OWNING and not field and not span.slots >= _WHOLE_ORDER
            scope.owner, scope.apart = (reached if owns else None), False
    return _added(_united(result))


def _look_back(result: list[Chosen], scope: _Scope) -> None:
    """Doubt what the last span makes doubtful: what it says of the one before it, or that one of it."""
    span = result[-1]
    before = result[-2] if len(result) > 1 and result[-2].last == span.first else None
    if before and before.slots & {"max_size", "min_size"} and span.spoken in listed("all_together"):
        result[-2] = before.doubted("a plan limits the size of each file, and not of all together")
    if before and _goes_on_with_a_day(before, span):
        result[-1] = span.doubted(f"say whether it says when to do it, or goes on with `{before.words}`")
    if before and span.slots == {"start"} and _holds_from_then(before, span, result):
        result[-1] = span.doubted(f"say whether it starts then, or whether `{before.words}` holds from then on")
    if before and _holds_in_hours(before, span):
        result[-1] = span.doubted(f"say whether it holds for the whole transfer, or is said with `{before.words}`")
    if scope.denied and ends(span.first_word, "lasting") and span.slots & _LOSES and span.is_certain:
        result[-1] = span.doubted(f"say whether it is to be done, after `{scope.denied.words}`")
    if span.facts:
        scope.denied = span if _negates(span) and span.slots & _REACHED else None


def _goes_on_with_a_day(before: Chosen, span: Chosen) -> bool:
    """Say whether a time may be of the day that chooses files beside it: "what was recorded on Monday from 9:00"."""
    chooses = before.slots - {"weak_action"}
    times = bool(span.slots) and span.slots <= _TIMES | {"deadline"}
    return times and bool(chooses) and chooses <= _MOMENTS and span.first_word in listed("goes_on_with_a_day")


def _holds_from_then(before: Chosen, span: Chosen, chosen: Sequence[Chosen]) -> bool:
    """Say whether a time may be that of an option: "at most 2 Gb/s from 18:00", "set 7f3a21 to 2 Gb/s at 18:00"."""
    options = bool(before.slots & _FROM_THEN) and before.slots <= _FROM_THEN | {"id"}
    of_one = any("id" in one.slots for one in chosen)
    capped = bool(_CAPPED.match(before.symbols)) or before.first_word in listed("caps_it")
    then = span.first_word in listed("holds_from") or (capped and span.first_word in listed("begins_then"))
    return options and (of_one or then)


def _holds_in_hours(before: Chosen, span: Chosen) -> bool:
    """Say whether a limit or a priority may hold in the hours beside it alone: "from 8:00 to 18:00 at most 1 Gb/s"."""
    if before.slots == {"window"}:
        return span.slots == {"priority"} or (span.slots == {"rate_limit_bps"} and bool(_CAPPED.match(span.symbols)))
    return before.slots == {"priority"} and span.slots == {"window"}


def _leaves_out(span: Chosen) -> bool:
    limits = bool(span.slots) and span.slots <= LIMITS
    return "exclude" in span.slots or (limits and (_skips(span) or span.name == CARRIED))


def _added(chosen: list[Chosen]) -> list[Chosen]:
    """Doubt the first names of an order that may be taken in addition: "copy A to B, also *.mrc"."""
    if not any(span.says("action", action) for span in chosen for action in ("copy", "sync", "move")):
        return chosen
    result = list(chosen)
    for at, span in enumerate(chosen):
        if span.slots <= FILTERS and span.slots & {"include", *LIMITS}:
            before, after = _before_article(chosen, at), chosen[at + 1] if at + 1 < len(chosen) else None
            words = span.spoken.split()
            adds = words[0] in listed("adds") or (after is not None and after.spoken in listed("adds_behind"))
            adds = adds or (before is not None and before.spoken in listed("adds") | listed("joins_a_list"))
            adds = adds or (after is not None and after.spoken in listed("joins_a_list") and _is_whole(chosen, at + 2))
            named = span.slots == {"include"} and (_is_bare(span, articles=True) or span.first_word in _OWN_ORDER)
            if named and adds and span.is_certain:
                result[at] = span.doubted("say whether these are all that is taken, or are taken as well")
            break
    return result


def _before_article(chosen: Sequence[Chosen], at: int) -> Chosen | None:
    """Return what stands before a span, or before its article: "and its *.log"."""
    before = at - 1
    while before >= 0 and chosen[before].name == "articles":
        before -= 1
    return chosen[before] if before >= 0 else None


def _is_whole(chosen: Sequence[Chosen], at: int) -> bool:
    """Say whether a span names all that there is: "*.tmp and everything"."""
    return at < len(chosen) and chosen[at].name in _WHOLE and chosen[at - 1].last == chosen[at].first


def _is_bare(span: Chosen, *, articles: bool = False) -> bool:
    """Say whether a span is names alone, with or without `articles` before them: "all the *.log"."""
    words = span.words.split()
    while articles and words[1:] and words[0].lower() in _ARTICLES:
        words = words[1:]
    return not _has_head(span) and not span.spoken.endswith(_ENDS_SO) and words[0][:1] in "*?.'\"`["


def _goes_on(left: Chosen, span: Chosen) -> bool:
    """Say whether names or a limit without a word of their own may go on with what is left out: "skip *.a; *.b"."""
    if (
        span.name == CARRIED
        or not left.is_certain
        or not span.is_certain
        or _has_head(span)
        or span.spoken.endswith(_ENDS_SO)
    ):
        return False
    names = span.slots == {"include"} and _is_bare(span)
    return names or (span.slots <= LIMITS and left.slots <= LIMITS)


def _excludes(before: Chosen | None) -> bool:
    return before is not None and before.says("cue", "exclude")


def _index(spans: list[Chosen], span: Chosen) -> int:
    return next(at for at, one in enumerate(spans) if one.first == span.first)


def _guarded(before: Chosen, span: Chosen) -> Chosen:
    """Doubt an option right after a "no" or "not" that belongs to something else, or to nothing."""
    if before.last != span.first or not span.slots & OPTIONS:
        return span
    if before.slots == {"turn"} and span.slots == {"include"} and not _takes(span):
        # "all files but *.bak": what follows is left out, not taken.
        return span.doubted("say whether these are the only ones that are taken, or are left out")
    # "Anything but 2 Gb/s" denies what follows.
    denied = before.name in _WHOLE and span.opening in listed("open_turn") and not span.slots <= FILTERS
    if denied or f"{before.spoken} {span.first_word}" in listed("replaces"):
        return span.doubted(f"say whether it holds, after `{before.words}`")
    if (
        before.name in _SUBJECTS
        and span.first_word in listed("told_of_a_subject")
        and span.slots & {*_TIMES, "deadline"}
    ):
        # "the run starts at 22:00" tells of the run.
        return span.doubted(f"say whether it is the time of the transfer, or of `{before.words}`")
    last = before.spoken.split()[-1:]
    if last and last[0] in listed("denies") and not before.slots & {*OPTIONS, "polarity"}:
        return span.doubted(f"say whether `{last[0]}` belongs to it")
    return span


def _unless_others_do(chosen: Sequence[Chosen]) -> Iterator[Chosen]:
    """Doubt a verb that would be an order if nobody stood before it who does it: "they move A to B"."""
    for at, span in enumerate(chosen):
        orders = not span.slots.isdisjoint(_ORDERED) and span.first_word in _ORDERS
        doer = _doer(chosen, at) if orders else None
        said = "" if doer is None else f"this tells what `{doer.words}` do: say what is to be done, and not who does it"
        yield span.doubted(said) if said else span


def _doer(chosen: Sequence[Chosen], at: int) -> Chosen | None:
    """Return who stands right before a verb; what stands right behind another verb is its object."""
    doer = at - 1
    while doer >= 0 and _is_beside(chosen[doer]):
        doer -= 1
    if doer < 0 or any(one.last != after.first for one, after in pairwise(chosen[doer : at + 1])):
        return None
    who = chosen[doer]
    # "it copy": no one thing does it, or it would be "it copies"; "data transfer" is one name.
    one_thing = who.spoken in listed("one_thing") or (who.name in _SUBJECTS and " " not in who.spoken)
    if who.name not in _DOERS or one_thing:
        return None
    verb = chosen[doer - 1] if doer else None
    is_object = verb and verb.last == who.first and "action" in verb.slots and not _is_beside(verb)
    return None if is_object else who


def _is_beside(span: Chosen) -> bool:
    return span.spoken.isalpha() and span.spoken in listed("softens", "how_often_they_do")


def _of_many(before: Chosen, span: Chosen) -> Chosen:
    """Doubt a time that may say which transfers are meant: "cancel everything queued after noon"."""
    told = before.last == span.first and before.spoken.endswith(_STATES)
    if span.slots == {"start"} and (told or span.first_word in listed("chooses_by_time")):
        return span.doubted("say whether it is when to do it, or which transfers are meant")
    return span


def _told(span: Chosen) -> Chosen:
    """Doubt a filter that is a sentence of its own: "the data was taken on Tuesday" chooses nothing."""
    words = span.spoken.split()
    told = bool(span.slots) and span.slots <= LIMITS and words[0] in listed("determiner") and span.is_certain
    if told and not listed("tells").isdisjoint(words) and listed("chooses").isdisjoint(words):
        return span.doubted("say which files are taken, with only, if these are not all")
    return span


def _owned(owner: Chosen, span: Chosen, *, apart: bool) -> Chosen:
    """Doubt a filter or a time that may be said of the option before it alone."""
    apart = apart or span.opening in listed("opens_apart")
    chooses = span.slots - {"source"}
    filters = bool(chooses) and chooses <= FILTERS and span.first_word not in listed("own_order")
    if filters and (not apart or span.spoken.startswith(tuple(listed("excepting")))):
        return span.doubted(f"say whether it holds for the whole transfer, or only for `{owner.words}`")
    timed = bool(span.slots) and span.slots <= _TIMES and owner.first_word in _OWN_A_TIME
    if not apart and (timed or (span.slots and span.slots <= _MOMENTS_OF_WORK and _may_own_a_time(owner))):
        return span.doubted(f"say whether it is the time of the transfer, or only of `{owner.words}`")
    return span


def _may_own_a_time(owner: Chosen) -> bool:
    """Say whether a time may be of an option alone: "don't delete the source before Friday"."""
    doing = owner.slots & _KEPT and _DENIES_DOING.match(owner.symbols)
    told = not listed("verb_of_an_option").isdisjoint(owner.spoken.split())
    ordered = "delete_source" in owner.slots and owner.first_word in _ORDERS
    # "Delete what is gone at 18:00" is done by the transfer, whose time it is.
    return bool(doing) or (told and bool(owner.slots & _KEPT - {"delete_extraneous"})) or ordered


def _carried(scope: _Scope, span: Chosen) -> Chosen:  # noqa: PLR0911
    """Carry what the head of a list says to a span of it, or doubt whether it reaches so far."""
    before, joiner = scope.before, scope.joiner or (span.opening if span.opening in listed("opens_a_joined") else "")
    if before is None or not before.facts:
        return span
    own = span.first_word
    if not joiner or _has_head(span) or ":" in own:
        return _left_out(before, scope.joiner, span)
    filters = before.slots <= FILTERS | {"drop_exclude", "flag"} and bool(span.slots) and span.slots <= FILTERS
    if before.slots == {"drop_exclude"} and filters:
        return span.doubted(f"say whether it goes with `{before.words}`")
    if filters and _skips(before) and "exclude" not in span.slots:
        # "files over 1 GB and older than a week" may mean either or both; "and *.tmp" is one more.
        clear = own not in _COMPARING | _OWN_ORDER and span.closing not in listed("ends_apart")
        if joiner in listed("joins_a_list") and len(span.facts) == 1 and clear:
            fact = span.facts[0]
            return replace(span, name=CARRIED, facts=(replace(fact, slot=_INVERSE.get(fact.slot, fact.slot)),))
        return span.doubted(_EITHER_WAY)
    if filters and "exclude" in before.slots and "exclude" not in span.slots and joiner != ",":
        return span.doubted(_EITHER_WAY)
    if filters and _takes(before) and joiner != "," and own not in _COMPARING:
        return span.doubted("say whether files must be both, or either")
    weakens = any(fact.value in (False, "none") for fact in span.facts)
    negated = _negates(before) and before.slots <= _REACHED | {"delete_nothing"}
    # "without checksums and overwrite what is there": an order is nothing that one may be without.
    orders = before.first_word in listed("denies_a_thing") and own in listed("orders") and not span.slots & _LOSES
    if negated and span.slots & _REACHED and joiner != "," and not weakens and not orders:
        return span.doubted("say whether `not` reaches this, too")
    return _left_out(before, scope.joiner, span)


def _left_out(before: Chosen, joiner: str, span: Chosen) -> Chosen:
    """Doubt what may say more of what is left out: an exception from it, or an age of it alone."""
    if before.says("cue", "exclude") and span.slots == {"exclude"}:
        # "exclude, except for *.mrc": the exception of an exclusion may be what is taken.
        return span.doubted(f"say whether it is left out, or is all that is taken, after `{before.words}`")
    if _excepts(before, joiner, span):
        return span.doubted(f"say whether it is left out, too, or taken in spite of `{before.words}`")
    own_head = _has_head(span)
    left = bool(before.slots & LIMITS) and not listed("left_out").isdisjoint(before.spoken.split())
    if left and joiner and span.slots and span.slots <= FILTERS and not own_head:
        return span.doubted(_EITHER_WAY)
    apart = joiner or own_head or span.closing in listed("ends_apart")
    if before.slots == {"exclude"} and span.slots and span.slots <= LIMITS and not apart:
        # "skip *.tmp older than 2 days" leaves out old *.tmp, not every *.tmp.
        return span.doubted(f"say whether it is said of `{before.words}` alone")
    return span


def _names_alone(scope: _Scope, span: Chosen) -> bool:
    """Say whether an option right after the choice of files may be said of them alone: "..., only *.mrc encrypted"."""
    before = scope.before
    options = bool(span.facts) and span.slots <= OPTIONS - FILTERS - _TIMES - {"deadline"}
    if before is None or not options or not scope.in_list or scope.joiner or before.last != span.first:
        return False
    bare = before.slots == {"include"} and " " not in before.words and before.words[:1] in "*?"
    chooses = bool(before.slots) and before.slots <= {"include", *LIMITS} and not _skips(before)
    return bare or (chooses and ends(span.first_word, "past"))


def _excepts(before: Chosen, joiner: str, span: Chosen) -> bool:
    """Say whether an exception follows what is left out, or a limit: "no files over 1 GB except *.h5"."""
    if not before.facts or not before.slots <= FILTERS or span.slots != {"exclude"}:
        return False
    skips = _skips(before)
    said = listed("left_out") if skips else listed("left_out", "meant_as_limit")
    if span.spoken.startswith(tuple(listed("excepting"))):
        return skips or before.slots == {"exclude"} or not said.isdisjoint(before.spoken.split())
    return skips and before.first_word != "not" and span.first_word == "not" and joiner in ("", ",")


def _united(chosen: list[Chosen]) -> list[Chosen]:
    """Doubt names beside a size or an age that may be meant in addition: "files over 1 GB, all *.log too"."""
    result: list[Chosen] = []
    first: Chosen | None = None
    joiner, names, doubt = "", False, "say whether files must be both, or either"
    for span in chosen:
        if span.spoken in listed("joins", "adds") and span.slots <= {"marker"}:
            joiner = f"{joiner} {span.spoken}".strip()
            if span.spoken in listed("adds_behind") and names and result[-1] is first:
                result[-1] = result[-1].doubted(doubt)
            result.append(span)
            continue
        chooses = bool(span.facts) and span.slots <= FILTERS - {"exclude", "weak_action"}
        chooses = chooses and not _skips(span) and not _negates(span)
        names = chooses and first is not None and ("include" in span.slots) != ("include" in first.slots)
        joins = joiner not in ("", ",") or span.opening in listed("joins_in_front")
        doubtful = names and joins and not _takes(span) and span.first_word not in _COMPARING
        result.append(span.doubted(doubt) if doubtful else span)
        first, joiner = (span if chooses else None), ""
    return result
