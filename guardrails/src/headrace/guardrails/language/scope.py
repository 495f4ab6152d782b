"""How far "skip" and "don't" reach: "skip *.tmp and files over 50 GiB" skips both."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Fact
from headrace.guardrails.language.grammar import heads_of, words_of

if TYPE_CHECKING:
    from headrace.guardrails.language.lattice import Chosen

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


def _heads(*groups: str) -> frozenset[str]:
    """Give the first words of the choices of some groups."""
    return frozenset(word for group in groups for word in heads_of(group))


_SKIPS = _heads("skip", "not") - {"everything", "anything", "all", "any", "every", "but"}
_ONLYS = _heads("only") - {"i", "we", "everything"}
_NEGATIONS = _heads("not") | {"no", "without", "not", "never"}
_COMPARING = _heads("bigger", "smaller", "changed") | {"newer", "older", "younger", "in", "from", "within", "during"}
_DENIALS = frozenset({"no", "not", "never", "without", "don't", "dont", "nor", "neither", "cannot", "can't"})
OPTIONS = frozenset(
    {*FILTERS, *_REACHED, "rate_limit_bps", "priority", "preserve", "start", "deadline", "window", "repeat"}
)
# An order of its own: "overwrite, skip *.tmp".
_OWN_ORDER = frozenset({"skip", "exclude", "ignore", "omit", "leave", "include", "--exclude", "--include", "drop"})
# "overwrite only *.log" chooses what is overwritten, not what is copied; "verify it at 18:00" says when it is verified.
_OWNING = frozenset({*_REACHED, "preserve", "delete_nothing", "keep_place"})
_TIMES = frozenset({"start", "window", "repeat"})
_OWN_A_TIME = _heads("doing_option")
_MAY_REACH_BACK = tuple(words_of("excepting"))
# A size or an age, said of the files before it or of all.
LIMITS = frozenset({"min_size", "max_size", "modified_after", "modified_before"})
_LEFT_OUT = frozenset(words_of("left_out"))
_MEANT_AS_LIMIT = frozenset({"max", "maximum", "min", "minimum", "most", "least", "limit", "up", "larger", "maximal"})
_ADDING = frozenset({"too", "as well", "plus", "and also", "also", "additionally", "in addition"})
_JOINERS = frozenset({"and", "or", "as well as", "plus", "and also", ", and", ", or"})


def scoped(chosen: list[Chosen]) -> list[Chosen]:
    """Carry a "skip" over "and" to what has no word of its own; doubt where the reach is not clear."""
    result: list[Chosen] = []
    before: Chosen | None = None
    joiner = ""
    owner: Chosen | None = None
    owner_at = 0
    apart = listed = False
    for span in (_guarded(*pair) for pair in zip([None, *chosen], chosen, strict=False)):
        if _is_joiner(span):
            apart = apart or span.words != "but"
            joiner = f"{joiner} {span.words.lower()}".strip()
            result.append(span)
            continue
        joined = span.words.lower().startswith(("and ", "also "))
        owner = None if span.name.startswith(FIELD) else owner
        reached = span if owner is None else _owned(owner, span, apart=apart or joined)
        if owner is not None and not apart and (reached is not span or _limits(span)):
            # "encrypt only the metadata": the option itself holds for a part at most.
            result[owner_at] = _doubted(
                owner, f"say whether it holds for the whole transfer, and leave out `{span.words}`"
            )
        if reached is span and before is not None and (joiner or span.words.lower().startswith("and ")):
            reached = _reached(before, joiner or "and", span)
        if reached is span and before is not None:
            reached = _left_out(before, joiner, span)
        result.append(reached)
        # The head of a list reaches over all of it: "skip a, b and c".
        if result[-1] is reached and before is not None and _names_alone(before, joiner, listed, reached):
            at = result.index(before)
            result[at] = _doubted(before, f"say whether `{reached.words}` is said of these files alone")
        listed = bool(joiner)
        before = _head_of(before, reached, carried=reached is not span)
        joiner = ""
        if _slots(span) & {"turn", "cue"} or span.name == "only":
            continue
        owner, apart = (span, False) if _slots(span) & _OWNING and not span.name.startswith(FIELD) else (None, False)
        owner_at = len(result) - 1
    return _united(result)


def _limits(span: Chosen) -> bool:
    """Say whether a span opens what an option is limited to: the "only" of "encrypt only the metadata"."""
    return span.name == "only" or any(fact.slot == "cue" and fact.value == "include" for fact in span.facts)


def _is_joiner(span: Chosen) -> bool:
    words = span.words.lower()
    return words in ("and", "or", ",", "as well as", "plus", "and also", "also") and all(
        fact.slot == "marker" for fact in span.facts
    )


def _head_of(before: Chosen | None, span: Chosen, *, carried: bool) -> Chosen:
    return before if carried and before is not None else span


def _first_word(span: Chosen) -> str:
    words = [word for word in span.words.lower().split() if word not in ("and", "but", "please", "also")]
    return words[0].replace("\u2019", "'") if words else ""


def _slots(span: Chosen) -> set[str]:
    return {fact.slot for fact in span.facts}


def _guarded(before: Chosen | None, span: Chosen) -> Chosen:
    """Doubt an option right after a "no" or "not" that belongs to something else, or to nothing."""
    if before is None or before.last != span.first or not _slots(span) & OPTIONS:
        return span
    if _slots(before) == {"turn"} and _slots(span) == {"include"} and _first_word(span) not in _ONLYS:
        # "all files but *.bak": what follows is left out, not taken.
        return _doubted(span, "say whether these are the only ones that are taken, or are left out")
    if f"{before.words} {_first_word(span)}".lower() in ("instead of", "rather than"):
        return _doubted(span, f"say whether it holds, after `{before.words}`")
    last = before.words.lower().replace("\u2019", "'").split()[-1:]
    if last and last[0] in _DENIALS and not _slots(before) & {*OPTIONS, "polarity"}:
        return _doubted(span, f"say whether `{last[0]}` belongs to it")
    return span


def _reached(before: Chosen, joiner: str, span: Chosen) -> Chosen:
    head, own = _first_word(before), _first_word(span)
    if own in _SKIPS | _ONLYS | _NEGATIONS or ":" in own:
        return span
    both_filters = _slots(before) <= FILTERS and _slots(span) <= FILTERS and before.facts and span.facts
    if both_filters and head in _SKIPS and "exclude" not in _slots(span):
        # "files over 1 GB and older than a week" may mean either or both; "and *.tmp" is one more.
        clear = own not in _COMPARING and not span.words.lower().endswith(" only")
        if joiner in _JOINERS and len(span.facts) == 1 and clear:
            return _inverted(span)
        return _doubted(span, "say whether these are skipped, too, or the only ones that are taken")
    if both_filters and head in _ONLYS and joiner != "," and own not in _COMPARING:
        return _doubted(span, "say whether files must be both, or either")
    negated = head in _NEGATIONS and _slots(before) <= (_REACHED | {"delete_nothing"}) and before.facts
    weakens = any(fact.value in (False, "none") for fact in span.facts)
    if negated and _slots(span) & _REACHED and joiner != "," and not weakens:
        return _doubted(span, "say whether `not` reaches this, too")
    return span


def _left_out(before: Chosen, joiner: str, span: Chosen) -> Chosen:
    """Doubt what may say more of what is left out: an exception from it, or an age of it alone."""
    slots = _slots(span)
    if opens_exclusion(before) and before.last == span.first and slots == {"exclude"}:
        # "exclude everything but *.mrc": the exception of an exclusion is what is taken.
        return _doubted(span, f"say whether it is left out, or is all that is taken, after `{before.words}`")
    if _excepts(before, joiner, span):
        return _doubted(span, f"say whether it is left out, too, or taken in spite of `{before.words}`")
    own = _first_word(span)
    left = not _LEFT_OUT.isdisjoint(before.words.lower().split()) and bool(_slots(before) & LIMITS)
    if left and joiner and before.facts and slots and slots <= FILTERS and own not in _SKIPS | _ONLYS | _NEGATIONS:
        return _doubted(span, "say whether these are left out, too, or the only ones that are taken")
    apart = joiner or own in _SKIPS | _ONLYS | _NEGATIONS or span.words.lower().endswith(" only")
    if _slots(before) == {"exclude"} and slots and slots <= LIMITS and not apart:
        # "skip *.tmp older than 2 days" leaves out old *.tmp, not every *.tmp.
        return _doubted(span, f"say whether it is said of `{before.words}` alone")
    return span


def _names_alone(before: Chosen, joiner: str, listed: bool, span: Chosen) -> bool:  # noqa: FBT001
    """Say whether an option right after bare names may be said of them alone: "..., *.mrc encrypted"."""
    bare = _slots(before) == {"include"} and before.words[:1] in "*?" and " " not in before.words
    options = bool(span.facts) and _slots(span) <= OPTIONS - FILTERS - _TIMES - {"deadline"}
    return bare and options and listed and not joiner and before.last == span.first


def opens_exclusion(span: Chosen) -> bool:
    """Say whether a span is a "skip" or "except" without what is left out."""
    return any(fact.slot == "cue" and fact.value == "exclude" for fact in span.facts)


def _excepts(before: Chosen, joiner: str, span: Chosen) -> bool:
    """Say whether an exception follows what is left out, or a limit: "no files over 1 GB except *.h5"."""
    if not before.facts or not _slots(before) <= FILTERS or _slots(span) != {"exclude"}:
        return False
    excepts = span.words.lower().startswith(_MAY_REACH_BACK)
    if excepts and not _LEFT_OUT.isdisjoint(before.words.lower().split()):
        return True
    if _first_word(before) in _SKIPS:
        other = _first_word(span) == "not" and _first_word(before) != "not" and joiner in ("", ",")
        return excepts or other
    return excepts and not _MEANT_AS_LIMIT.isdisjoint(before.words.lower().split())


def _united(chosen: list[Chosen]) -> list[Chosen]:
    """Doubt names beside a size or an age that may be meant in addition: "files over 1 GB, all *.log too"."""
    result: list[Chosen] = []
    first: Chosen | None = None
    last, joiner = -1, ""
    for span in chosen:
        words = span.words.lower()
        if _is_joiner(span) or (words in _ADDING and _slots(span) <= {"marker"}):
            joiner = f"{joiner} {words}".strip()
            if words in ("too", "as well", "also") and first is not None and last >= 0:
                result[last] = _doubted(result[last], "say whether files must be both, or either")
            result.append(span)
            continue
        chooses = bool(span.facts) and _slots(span) <= FILTERS - {"exclude", "weak_action"}
        chooses = chooses and _first_word(span) not in _SKIPS | _NEGATIONS
        last = -1
        if chooses and first is not None and ("include" in _slots(span)) != ("include" in _slots(first)):
            joins = joiner not in ("", ",") or words.startswith(("and ", "plus ", "or "))
            plain = _first_word(span) not in _ONLYS | _COMPARING
            last = len(result)
            result.append(_doubted(span, "say whether files must be both, or either") if joins and plain else span)
        else:
            result.append(span)
        first, joiner = (span if chooses else None), ""
    return result


def _owned(owner: Chosen, span: Chosen, *, apart: bool) -> Chosen:
    """Doubt a filter or a time that may be said of the option before it alone."""
    slots, first = _slots(span), _first_word(span)
    filters = bool(slots) and slots <= FILTERS and first not in _OWN_ORDER
    if filters and (not apart or span.words.lower().startswith(_MAY_REACH_BACK)):
        return _doubted(span, f"say whether it holds for the whole transfer, or only for `{owner.words}`")
    if slots and slots <= _TIMES and not apart and _first_word(owner) in _OWN_A_TIME:
        return _doubted(span, f"say whether it is the time of the transfer, or only of `{owner.words}`")
    return span


def _inverted(span: Chosen) -> Chosen:
    fact = span.facts[0]
    return replace(span, name=CARRIED, facts=(replace(fact, slot=_INVERSE.get(fact.slot, fact.slot)),))


def _doubted(span: Chosen, message: str) -> Chosen:
    def doubt(fact: Fact) -> Fact:
        reading = fact.value if isinstance(fact.value, str | bool) else None
        return replace(fact, value=Doubt(f"`{span.words}`: {message}", reading=reading))

    return replace(span, facts=tuple(doubt(fact) for fact in span.facts))
