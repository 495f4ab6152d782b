"""Operators: no, yes, a question mark, and words that take something back. Each acts on its clause, once.

They are handled here and nowhere else. An operator that finds nothing to act on becomes a question, so
that none can be lost: "delete the source: no", "Overwrite? No.", "cancel b2d810?", "... scratch that".
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Fact, When
from headrace.guardrails.language.phrases import listed
from headrace.guardrails.language.scope import CARRIED, FILTERS, LIMITS, OPTIONS
from headrace.guardrails.language.spans import next_fact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.intents.draft import Value
    from headrace.guardrails.language.spans import Chosen

# What a "no" after an option makes of it; any other option that is denied is asked about.
_DENIED: dict[tuple[str, Value], Value] = {
    ("delete_source", True): False,
    ("delete_extraneous", True): False,
    ("on_conflict", "overwrite"): "skip",
}
_ANSWERABLE = OPTIONS | {"delete_place"}
_ANSWERED = "answered"
_TAKEN_BACK = "what was taken back"
# What exact words fill on their own, and what they fill behind a vague word: "without logs (*.log)".
_NARROWED = {"include": "exclude", "start": "deadline"}
_ENDS = frozenset({".", "!", "?", ";"})
# What a plan has one of: a value said anew takes the place of the first.
_REPLACED = frozenset(
    {"source", "destination", "rate_limit_bps", "priority", "verify", "start", "deadline", "window", "on_conflict"}
)
_ENDS_OF_A_WAY = frozenset({"source", "destination"})
_TIMES = frozenset({"start", "deadline", "window", "repeat"})
_PASSED = frozenset({"rate_limit_bps", "priority", "start", "deadline", "window", "repeat"})
_MAKES = tuple(f"{words} " for words in listed("corrects"))
_CORRECTS = frozenset({"marker", "retract", "turn"})
_SAYS_NOTHING = frozenset({"marker", "retract", "it", "turn"})
_LINKS = frozenset({":", "?", "=", "-"})
# "copy A to B?" asks for a plan, and a plan moves nothing.
_HARMLESS = ("copy", "sync", "stream")
# Orders that are questions by nature.
_QUESTIONS = frozenset({"status", "list"})


def operated(chosen: Sequence[Chosen]) -> list[Chosen]:
    """Apply every operator to the facts in its scope."""
    settled = _polarities(_explained(_trailing_onlys(chosen)))
    return _retractions(_open_ends(_open_buts(_question_marks(settled))))


def _trailing_onlys(chosen: Sequence[Chosen]) -> list[Chosen]:
    """Let the "only" of "files changed today only" close the filter before it."""
    result = list(chosen)
    for at, (before, span) in enumerate(pairwise(chosen), 1):
        takes = before.facts and before.slots <= FILTERS - {"exclude"} and before.name != CARRIED
        if takes and span.name == "only" and span.says("cue", "include"):
            result[at] = replace(span, facts=())
    return result


def _explained(chosen: list[Chosen]) -> list[Chosen]:
    """Let the exact words behind a vague one say what it means: "at night (22:00-05:00)"."""
    result = list(chosen)
    for at, span in enumerate(chosen):
        if not span.name.startswith("that is"):
            continue
        vague = next((n for n in range(at - 1, -1, -1) if chosen[n].words not in (",", "-", ":")), -1)
        meant = at if span.facts else at + 1
        told = _meaning(result[vague], chosen[meant]) if vague >= 0 and meant < len(chosen) else None
        if told is not None:
            result[vague] = replace(result[vague], facts=told[0])
            result[meant] = replace(chosen[meant], facts=told[1])
        elif span.facts:
            result[at] = span.doubted("say which files are meant, with only or skip")
    return result


def _meaning(vague: Chosen, exact: Chosen) -> tuple[tuple[Fact, ...], tuple[Fact, ...]] | None:
    """Give what is left of a vague span, and the facts of the exact one in its slot; none if they do not fit."""
    left = tuple(fact for fact in vague.facts if not isinstance(fact.value, Doubt))
    slots = vague.slots - {fact.slot for fact in left}
    # "the best frames (*.tif)" are some of these files: a pattern says of what kind they are, not how good.
    by_kind = slots.isdisjoint({"include", "exclude"}) or listed("quality").isdisjoint(vague.spoken.split())
    named_vague = vague.name.startswith("vague") or vague.name.endswith("left open")
    denied = not listed("denies_before").isdisjoint(exact.spoken.split()[:1])
    facts = tuple(
        replace(fact, slot=slot) if (slot := _NARROWED.get(fact.slot)) in slots else fact for fact in exact.facts
    )
    fits = exact.is_certain and {fact.slot for fact in facts} == slots and not denied
    return (left, facts) if named_vague and by_kind and fits else None


def _is_mark(span: Chosen, marks: frozenset[str]) -> bool:
    return not span.facts and span.words in marks and span.name != _ANSWERED


def _answers(span: Chosen, answer: str) -> bool:
    return span.says("polarity", answer) or span.says("confirm", answer)


def _polarities(chosen: list[Chosen]) -> list[Chosen]:
    """Let "no" and "yes" answer the option before them, over a colon or a question mark."""
    result: list[Chosen] = []
    at = 0
    while at < len(chosen):
        span, link = chosen[at], at + 1
        no = yes = False
        if span.slots & _ANSWERABLE:
            while link < len(chosen) and _is_mark(chosen[link], _LINKS):
                link += 1
            no = link < len(chosen) and _answers(chosen[link], "no")
            yes = link < len(chosen) and _answers(chosen[link], "yes") and link > at + 1
        if no or yes:
            result.append(_denied(span) if no else span)
            result.extend(replace(one, facts=(), name=_ANSWERED) for one in chosen[at + 1 : link + 1])
            at = link
        else:
            # A no that answers no option takes something back.
            facts = (replace(fact, slot="retract") if fact.slot == "polarity" else fact for fact in span.facts)
            result.append(replace(span, facts=tuple(facts)))
        at += 1
    return result


def _denied(span: Chosen) -> Chosen:
    keys = [(fact.slot, fact.value) for fact in span.facts if isinstance(fact.value, str | bool)]
    if len(keys) < len(span.facts) or any(key not in _DENIED for key in keys):
        return span.doubted("say whether the `no` belongs to it")
    return replace(span, facts=tuple(replace(fact, value=_DENIED[fact.slot, fact.value]) for fact in span.facts))


def _question_marks(chosen: list[Chosen]) -> list[Chosen]:
    """Doubt every fact of a sentence that ends in a question mark, unless it asks politely or for a status."""
    result = list(chosen)
    start = 0
    for at, span in enumerate(chosen):
        if not _is_mark(span, _ENDS):
            continue
        sentence = chosen[start:at]
        asks = any(one.name.startswith("asking") or one.says("action", what) for one in sentence for what in _QUESTIONS)
        if span.words == "?" and not asks:
            result[start:at] = [_asked(one) for one in sentence]
        start = at + 1
    return result


def _asked(span: Chosen) -> Chosen:
    orders = span.slots & (OPTIONS | {"action", "delete_place", "clear"})
    if not orders or not span.is_certain or all(fact.value in _HARMLESS for fact in span.facts):
        return span
    facts = tuple(fact for fact in span.facts if fact.slot != "flag")
    return replace(span, facts=facts).doubted("reads as a question: say it as a request, or leave it out")


def _open_buts(chosen: list[Chosen]) -> list[Chosen]:
    """Ask about a "but" after which nothing comes that was understood as a wish: "copy it, but", "thanks but no"."""
    result, wish = list(chosen), None
    for at in range(len(chosen) - 1, -1, -1):
        span, following = chosen[at], wish
        wish = None if _is_mark(span, _ENDS) else span if span.facts else wish
        if span.says("turn", "but") and (following is None or "retract" in following.slots):
            facts = tuple(replace(fact, slot="exclude") for fact in span.facts)
            result[at] = replace(span, facts=facts).doubted("say what is left out, or what is different")
    return result


def _open_ends(chosen: list[Chosen]) -> list[Chosen]:
    """Ask about a conjunction or a wish after which the sentence ends: "copy A to B and then", "..., I wish"."""
    result, ends = list(chosen), _ends_behind(chosen)
    ordered = next((at for at, span in enumerate(chosen) if "action" in span.slots), len(chosen))
    for at, span in enumerate(chosen):
        # "alright then" says yes.
        if not ends[at] or not (_joins(span) or (at > ordered and _is_open_wish(span))):
            continue
        answers = span.spoken == "then" and all(one.slots <= _SAYS_NOTHING | {"confirm"} for one in result[:at])
        if not answers:
            doubt = Doubt(f"`{span.words}`: say what comes after it, or leave it out")
            result[at] = replace(span, facts=(Fact("action", doubt, span.words, span.first, span.last),))
    return result


def _is_open_wish(span: Chosen) -> bool:
    """Say whether a span says that something is wanted, and not what; "please" says it of what stands before it."""
    words = span.symbols.split()
    wishes = span.name == "wish" and not span.facts and bool(words)
    return wishes and listed("asks_politely").isdisjoint((words[0], words[-1]))


def _joins(span: Chosen) -> bool:
    steps = bool(span.facts) and all(fact.slot == "step" and fact.value == "" for fact in span.facts)
    conjunction = span.spoken.strip(" ,.;") in listed("conjunction") and span.slots <= _SAYS_NOTHING
    return conjunction or (steps and span.spoken not in listed("ends_afterwards"))


def _ends_behind(chosen: Sequence[Chosen]) -> list[bool]:
    """Say of each span whether its sentence ends behind it, or behind words beside the point."""
    ends = [False] * len(chosen)
    for at in range(len(chosen) - 2, -1, -1):
        span = chosen[at + 1]
        if chosen[at].last == span.first:
            silent = span.spoken in listed("softens") or span.name == "articles"
            ended = not span.words or _is_mark(span, _ENDS) or span.name in ("thanks", "greeting")
            ends[at] = ended or (silent and span.slots <= _SAYS_NOTHING and ends[at + 1])
    return ends


def _retimed(chosen: list[Chosen]) -> list[Chosen]:
    """Let a moment behind a correction be of the kind that was said last: "by 5pm, no wait, 6pm"; ask if it may not be.

    A moment on its own right behind another time corrects it, too, for all that is certain: "by 9pm, hmm, 6pm".
    """
    result = list(chosen)
    for at, span in enumerate(chosen):
        value = span.facts[0].value if len(span.facts) == 1 and span.slots <= _TIMES else None
        if value is None:
            continue
        bare = isinstance(value, When) and value.words == span.words and span.slots == {"start"}
        before = next((n for n in range(at - 1, -1, -1) if result[n].slots & (_TIMES | LIMITS)), at)
        run = list(takewhile(lambda one: one.slots <= _CORRECTS, reversed(chosen[before + 1 : at])))
        corrects = any(map(_takes_back, run)) or (bare and any(map(_takes_back, chosen[at + 1 : at + 2])))
        alone = bare and before + len(run) + 1 == at and result[before].is_certain
        alone = alone and result[before].slots <= {"deadline", "window"}
        if result[before].slots == span.slots or not (corrects or alone):
            continue
        if corrects and bare and result[before].slots == {"deadline"} and len(result[before].facts) == 1:
            result[at] = replace(span, facts=(replace(span.facts[0], slot="deadline"),))
        else:
            for n in (before, at):
                result[n] = result[n].doubted("say which of these times holds, and whether it starts or ends then")
    return result


def _takes_back(span: Chosen) -> bool:
    """Say whether a span takes back the value before it; a bare "no" may be about the first value alone."""
    return ("retract" in span.slots and span.name != "no") or span.spoken in listed("corrects")


def _rebound(chosen: list[Chosen]) -> list[Chosen]:
    """Let a value behind a retraction take the place of the one before it: "at 2 Gb/s, no wait, make it 1 Gb/s"."""
    result = _retimed(chosen)
    for at in range(len(result)):
        span = result[at]
        makes = span.name == "no" and at + 1 < len(result) and result[at + 1].spoken.startswith(_MAKES)
        if not (makes or _takes_back(span)) or span.name == _TAKEN_BACK:
            continue
        after = next((n for n in range(at + 1, len(result)) if not result[n].slots <= _CORRECTS), -1)
        # "to A every night, I mean to B" takes back where to, and no more.
        passed = _PASSED if result[after].slots <= _ENDS_OF_A_WAY else frozenset[str]()
        before = next((n for n in range(at - 1, -1, -1) if not result[n].slots <= passed), -1)
        if min(before, after) >= 0 and _replaces(result, before, after):
            for n in (before, *range(at, after)):
                result[n] = replace(result[n], facts=(), name=_TAKEN_BACK)
    return result


def _replaces(chosen: Sequence[Chosen], before: int, after: int) -> bool:
    """Say whether one value of a plan stands on each side, of the same slot, and nothing says that both hold."""
    slots = chosen[before].slots
    once = len(chosen[before].facts) == len(chosen[after].facts) == 1 and slots == chosen[after].slots
    twice = sum(not slots.isdisjoint(one.slots) for one in chosen) == len((before, after))
    behind = [one.spoken for one in chosen[before + 1 : after]] + [one.spoken for one in chosen[after + 1 :][:1]]
    adds = any(word in listed("adds", "either") for words in behind for word in (words, *words.split()))
    return once and twice and slots <= _REPLACED and chosen[after].is_certain and not adds


def _retractions(chosen: list[Chosen]) -> list[Chosen]:
    """Let a retraction open a correction of the last plan; after anything that was said, ask what is left."""
    said = False
    result: list[Chosen] = []
    chosen = _rebound(chosen)
    for at, span in enumerate(chosen):
        taken_back = "retract" in span.slots
        if taken_back and said:
            slot = _corrected(chosen, at)
            message = "takes something back: say the whole request again, without what you don't want"
            doubt = Doubt(f"`{span.words}`: say only one" if slot else f"`{span.words}` {message}")
            result.append(
                replace(span, facts=tuple(replace(one, slot=slot or "action", value=doubt) for one in span.facts))
            )
        elif span.says("turn", "corrects") and said and _another_order(chosen, at):
            doubt = Doubt(f"`{span.words}` takes something back: say only what is to be done")
            result.append(replace(span, facts=tuple(replace(one, slot="action", value=doubt) for one in span.facts)))
        elif taken_back and (_denies_the_next(chosen, at) or _is_confirmed(chosen, at)):
            doubt = Doubt(f"`{span.words}` before an order: say only what is to be done")
            result.append(replace(span, facts=tuple(replace(one, slot="action", value=doubt) for one in span.facts)))
        elif taken_back or (span.says("turn", "corrects") and not said):
            opening = (replace(fact, slot="marker", value="opening") for fact in span.facts)
            result.append(replace(span, facts=tuple(opening)))
        else:
            result.append(span)
        said = said or any(fact.slot not in _SAYS_NOTHING and fact.value != "heard" for fact in span.facts)
    return result


def _denies_the_next(chosen: Sequence[Chosen], at: int) -> bool:
    """Say whether what takes something back may deny what follows without a mark: "better not move A to B"."""
    said = chosen[at].spoken
    denies = said.split()[-1] in listed("denies") or said.endswith("not that")
    clause = takewhile(lambda one: any(map(str.isalnum, one.words)), chosen[at + 1 :])
    return denies and any(one.slots - _SAYS_NOTHING for one in clause)


def _is_confirmed(chosen: Sequence[Chosen], at: int) -> bool:
    """Say whether a yes follows on a no: "no, go ahead" may mean either."""
    following = next_fact(chosen[at + 1 :])
    return following is not None and "confirm" in following.slots


def _another_order(chosen: Sequence[Chosen], at: int) -> bool:
    """Say whether an order about another transfer follows: "cancel this. Actually, resume that" may mean that alone."""
    following = next_fact(chosen[at + 1 :])
    ids = {fact.value for span in chosen for fact in span.facts if fact.slot == "id"}
    return following is not None and "action" in following.slots and len(ids) > 1


def _corrected(chosen: Sequence[Chosen], at: int) -> str | None:
    """Name the slot that stands on both sides: "to A, no wait, to B" takes back a destination and nothing else."""
    before, after = next_fact(chosen[:at][::-1]), next_fact(chosen[at + 1 :])
    if before is None or after is None or len(before.facts) != 1 or len(after.facts) != 1:
        return None
    return before.facts[0].slot if before.facts[0].slot == after.facts[0].slot else None
