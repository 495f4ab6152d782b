"""Operators: no, yes, a question mark, and words that take something back. Each acts on its clause, once.

They are handled here and nowhere else. An operator that finds nothing to act on becomes a question, so
that none can be lost: "delete the source: no", "Overwrite? No.", "cancel b2d810?", "... scratch that".
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Fact
from headrace.guardrails.language.grammar import words_of
from headrace.guardrails.language.scope import CARRIED, FILTERS, OPTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.intents.draft import Value
    from headrace.guardrails.language.lattice import Chosen

# What a "no" after an option makes of it; any other option that is denied is asked about.
_DENIED: dict[tuple[str, Value], Value] = {
    ("delete_source", True): False,
    ("delete_extraneous", True): False,
    ("on_conflict", "overwrite"): "skip",
}
_ANSWERED = "answered"
_THAT_IS = "that is"
# What exact words fill on their own, and what they fill behind a vague word: "without logs (*.log)".
_NARROWED = {"include": "exclude", "start": "deadline"}
_ENDS = frozenset({".", "!", "?", ";"})
_SAYS_NOTHING = frozenset({"marker", "retract", "it", "turn"})
_LINKS = frozenset({":", "?", "=", "-"})
_CONJUNCTIONS = frozenset(words_of("conjunction"))
# Adverbs that may end a sentence: "verify it afterwards".
_AFTERWARDS = frozenset({"afterwards", "finally", "lastly", "subsequently", "thereafter"})
# What may follow a conjunction and still say nothing.
_SOFTENERS = frozenset({",", "-", ":", "please", "now", "so", "just", "also", "and", "then"})
_TAKEN_BACK = "takes something back: say the whole request again, without what you don't want"
_ASKED = "reads as a question: say it as a request, or leave it out"
# Orders that are questions by nature.
# "copy A to B?" asks for a plan, and a plan moves nothing.
_HARMLESS = ("copy", "sync", "stream")
_QUESTIONS = frozenset({"status", "list"})


def operated(chosen: Sequence[Chosen]) -> list[Chosen]:
    """Apply every operator to the facts in its scope."""
    settled = _polarities(_explained(_trailing_onlys(list(chosen))))
    return _retractions(_open_ends(_open_buts(_question_marks(settled))))


def _slots(span: Chosen) -> frozenset[str]:
    return frozenset(fact.slot for fact in span.facts)


def _trailing_onlys(chosen: list[Chosen]) -> list[Chosen]:
    """Let the "only" of "files changed today only" close the filter before it."""
    result: list[Chosen] = []
    for before, span in zip([None, *chosen], chosen, strict=False):
        cue = any(fact.slot == "cue" and fact.value == "include" for fact in span.facts)
        takes = before is not None and before.facts and _slots(before) <= FILTERS - {"exclude"}
        closes = takes and before is not None and before.name != CARRIED and span.name == "only"
        result.append(replace(span, facts=()) if cue and closes else span)
    return result


def _explained(chosen: list[Chosen]) -> list[Chosen]:
    """Let the exact words behind a vague one say what it means: "at night (22:00-05:00)"."""
    result = list(chosen)
    for at, span in enumerate(chosen):
        if span.name.startswith(_THAT_IS):
            vague = next((n for n in range(at - 1, -1, -1) if chosen[n].words not in (",", "-", ":")), None)
            meant = at if span.facts else at + 1
            told = None if vague is None or meant == len(chosen) else _meaning(result[vague], result[meant])
            if told is not None and vague is not None:
                result[vague], result[meant] = (
                    replace(result[vague], facts=told[0]),
                    replace(chosen[meant], facts=told[1]),
                )
            elif span.facts:
                doubt = Doubt(f"`{span.words}`: say which files are meant, with only or skip")
                result[at] = replace(span, facts=tuple(replace(fact, value=doubt) for fact in span.facts))
    return result


def _meaning(vague: Chosen, exact: Chosen) -> tuple[tuple[Fact, ...], tuple[Fact, ...]] | None:
    """Give what is left of a vague span, and the facts of the exact one in its slot; none if they do not fit."""
    left = tuple(fact for fact in vague.facts if not isinstance(fact.value, Doubt))
    slots = _slots(vague) - {fact.slot for fact in left}
    denied = exact.words.lower().split()[:1] in (["not"], ["no"], ["except"], ["outside"], ["without"])
    if not vague.name.startswith("vague") and not vague.name.endswith("left open"):
        return None
    facts = tuple(
        replace(fact, slot=slot) if (slot := _NARROWED.get(fact.slot)) in slots else fact for fact in exact.facts
    )
    fits = bool(facts) and {fact.slot for fact in facts} == slots and not denied
    return (left, facts) if fits and not any(isinstance(fact.value, Doubt) for fact in facts) else None


def _is_mark(span: Chosen, marks: frozenset[str]) -> bool:
    return not span.facts and span.words in marks and span.name != _ANSWERED


def _says(span: Chosen, answer: str) -> bool:
    return any(fact.slot in ("polarity", "confirm") and fact.value == answer for fact in span.facts)


def _polarities(chosen: list[Chosen]) -> list[Chosen]:
    """Let "no" and "yes" answer the option before them, over a colon or a question mark."""
    result: list[Chosen] = []
    at = 0
    while at < len(chosen):
        span = chosen[at]
        link = at + 1
        while link < len(chosen) and _is_mark(chosen[link], _LINKS):
            link += 1
        answer = chosen[link] if link < len(chosen) else None
        option = bool(_slots(span) & OPTIONS) or "delete_place" in _slots(span)
        if option and answer is not None and (_says(answer, "no") or (_says(answer, "yes") and link > at + 1)):
            result.append(_denied(span) if _says(answer, "no") else span)
            result.extend(replace(one, facts=(), name=_ANSWERED) for one in chosen[at + 1 : link + 1])
            at = link + 1
        else:
            result.append(span)
            at += 1
    return [_alone(span) for span in result]


def _denied(span: Chosen) -> Chosen:
    def deny(fact: Fact) -> Fact:
        key = (fact.slot, fact.value)
        if not isinstance(fact.value, str | bool) or key not in _DENIED:
            return replace(fact, value=Doubt(f"`{span.words}`: say whether the `no` belongs to it"))
        return replace(fact, value=_DENIED[key])

    return replace(span, facts=tuple(deny(fact) for fact in span.facts))


def _alone(span: Chosen) -> Chosen:
    """Read a no that answers no option as taking back."""
    facts = tuple(replace(fact, slot="retract") if fact.slot == "polarity" else fact for fact in span.facts)
    return replace(span, facts=facts)


def _question_marks(chosen: list[Chosen]) -> list[Chosen]:
    """Doubt every fact of a sentence that ends in a question mark, unless it asks politely or for a status."""
    result = list(chosen)
    start = 0
    for at, span in enumerate(chosen):
        if not _is_mark(span, _ENDS):
            continue
        if span.words == "?" and not _may_ask(chosen[start:at]):
            result[start:at] = [_asked(one) for one in chosen[start:at]]
        start = at + 1
    return result


def _may_ask(sentence: Sequence[Chosen]) -> bool:
    polite = any(span.name.startswith("asking") for span in sentence)
    status = any(fact.slot == "action" and fact.value in _QUESTIONS for span in sentence for fact in span.facts)
    return polite or status


def _asked(span: Chosen) -> Chosen:
    if not _slots(span) & (OPTIONS | {"action", "delete_place", "clear"}):
        return span
    if any(isinstance(fact.value, Doubt) for fact in span.facts) or all(fact.value in _HARMLESS for fact in span.facts):
        return span
    doubt = Doubt(f"`{span.words}` {_ASKED}")
    return replace(span, facts=tuple(replace(fact, value=doubt) for fact in span.facts if fact.slot != "flag"))


def _open_buts(chosen: list[Chosen]) -> list[Chosen]:
    """Ask about a "but" after which nothing comes that was understood as a wish."""
    result: list[Chosen] = []
    for at, span in enumerate(chosen):
        facts = span.facts
        if any(fact.slot == "turn" and fact.value == "but" for fact in facts):
            rest = next((n for n in range(at + 1, len(chosen)) if _is_mark(chosen[n], _ENDS)), len(chosen))
            if not any(one.facts for one in chosen[at + 1 : rest]):
                doubt = Doubt(f"`{span.words}`: say what is left out, or what is different")
                facts = tuple(replace(fact, slot="exclude", value=doubt) for fact in facts)
        result.append(replace(span, facts=facts))
    return result


def _open_ends(chosen: list[Chosen]) -> list[Chosen]:
    """Ask about a conjunction after which the sentence ends: "copy A to B and then"."""
    result = list(chosen)
    for at, span in enumerate(chosen):
        # "alright then" says yes.
        answers = span.words.lower() == "then" and not any(
            _slots(one) - _SAYS_NOTHING - {"confirm"} for one in result[:at]
        )
        if _joins(span) and _ends_after(chosen, at) and not answers:
            doubt = Doubt(f"`{span.words}`: say what comes after it, or leave it out")
            fact = Fact("action", doubt, span.words, span.first, span.last)
            result[at] = replace(span, facts=(fact,))
    return result


def _joins(span: Chosen) -> bool:
    words = span.words.lower().strip(" ,.;")
    steps = bool(span.facts) and all(fact.slot == "step" and fact.value == "" for fact in span.facts)
    return (steps and span.words.lower() not in _AFTERWARDS) or (
        words in _CONJUNCTIONS and _slots(span) <= _SAYS_NOTHING
    )


def _ends_after(chosen: Sequence[Chosen], at: int) -> bool:
    for before, span in pairwise(chosen[at:]):
        if before.last != span.first:
            return False
        if _is_end(span):
            return True
        silent = span.words.lower() in _SOFTENERS or span.name == "articles"
        if not silent or not _slots(span) <= _SAYS_NOTHING:
            return False
    return False


def _is_end(span: Chosen) -> bool:
    return not span.words or _is_mark(span, _ENDS) or span.name in ("thanks", "greeting")


def _retractions(chosen: list[Chosen]) -> list[Chosen]:
    """Let a retraction open a correction of the last plan; after anything that was said, ask what is left."""
    said = False
    result: list[Chosen] = []
    for at, span in enumerate(chosen):
        facts = span.facts
        corrected = _corrected(chosen, at)
        if "retract" in _slots(span) and said and corrected:
            facts = tuple(replace(fact, slot=corrected, value=Doubt(f"`{span.words}`: say only one")) for fact in facts)
        elif "retract" in _slots(span):
            doubt = Doubt(f"`{span.words}` {_TAKEN_BACK}")
            facts = tuple(
                replace(fact, slot="action", value=doubt) if said else replace(fact, slot="marker", value="opening")
                for fact in facts
            )
        elif not said and any(fact.slot == "turn" and fact.value == "corrects" for fact in facts):
            facts = tuple(replace(fact, slot="marker", value="opening") for fact in facts)
        said = said or any(fact.slot not in _SAYS_NOTHING and fact.value != "heard" for fact in span.facts)
        result.append(replace(span, facts=facts))
    return result


def _corrected(chosen: Sequence[Chosen], at: int) -> str | None:
    """Name the slot that stands on both sides: "to A, no wait, to B" takes back a destination and nothing else."""
    before = next((one for one in reversed(chosen[:at]) if one.facts), None)
    after = next((one for one in chosen[at + 1 :] if one.facts), None)
    if before is None or after is None or len(before.facts) != 1 or len(after.facts) != 1:
        return None
    return before.facts[0].slot if before.facts[0].slot == after.facts[0].slot else None
