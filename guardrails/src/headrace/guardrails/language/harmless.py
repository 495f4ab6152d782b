"""Stretches of a request that may be left out, if a language model calls them background: asides without harm.

Nothing in one could reach the order, whatever the model says: it stands from mark to mark, is a statement or a heading,
and holds no value, no operator, no word of `{reaches}` and none that may stand for the data. What a phrase of a request
owns is no aside. The shape is looser than that of background, which needs no model.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.guardrails.language.asides import MARKS
from headrace.guardrails.language.lattice import read
from headrace.guardrails.language.phrases import UNKNOWN_MARK, ends, listed, plain_word
from headrace.guardrails.language.spans import owners
from headrace.guardrails.language.tokens import scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headrace.guardrails.intents.context import Context
    from headrace.guardrails.language.phrases import Item
    from headrace.guardrails.language.spans import Chosen

_OPENING = frozenset({".", "!", ";"})
_LEAST, _MOST = 2, 24
# What could change an order, stand for its data, or act on what stands beside it.
_NEVER = listed(
    "reaches", "of_the_request", "of_the_words", "numbered", "stands_for_data", "denies", "turns_round", "restricting",
    "replaces", "excepting", "opens_a_part", "filler", "hesitation",
)  # fmt: skip
_DETERMINERS = listed("determiner.any", "determiner.near")
_PEOPLE, _NOUNS = listed("person"), listed("plain.noun", "occasion")
_PLAIN = listed("plain", "occasion") | _PEOPLE | _DETERMINERS
_ARTICLES = listed("article")
_SUBJECTS = _DETERMINERS | _PEOPLE | listed("speaker")
_SPOILS, _BE = listed("spoils"), listed("verb_of.being")
_VERBS = _BE | listed("verb_of.having", "verb_of.past", "verb_of.present")
_WORD = re.compile(r"[a-z][a-z'-]*")
_PLURAL = re.compile(r"[^']*[^siu']s")
# A clause that the grammar heard as a statement asks one question, and fills nothing.
_STATEMENT = "statement"
_SILENT = frozenset({"noun"})


def harmless_in(text: str, context: Context) -> list[tuple[int, int, int, int]]:
    """Give each stretch that may be left out: where it stands, and where it does with the mark that goes with it.

    Places are code points of the text.
    """
    tokens = scan(text)

    def words_of(first: int, last: int) -> str:
        owned = tokens[first : min(last, len(tokens))]
        return text[owned[0].start : owned[-1].end] if owned else ""

    chosen, line = read(tokens, context, words_of)
    owned = owners(chosen)
    items = line.items
    found = []
    for at, end in _clauses(items):
        if _is_aside(items, at, end, owned):
            first, last = tokens[items[at].first].start, tokens[items[end - 1].last - 1].end
            before, after = (items[beside] if beside >= 0 else None for beside in (at - 1, end))
            opens = before is None or before.symbol in _OPENING
            start, stop = first, last
            if before and not opens:
                start = tokens[before.first].start
            if after and after.symbol != "<end>" and (opens or after.symbol == "<close>"):
                stop = tokens[after.last - 1].end
            found.append((first, last, start, stop))
    return found


def _clauses(items: Sequence[Item]) -> Iterator[tuple[int, int]]:
    start = 0
    for at, item in enumerate(items):
        if item.symbol in MARKS:
            if start < at:
                yield start, at
            start = at + 1


def _is_aside(items: Sequence[Item], at: int, end: int, owned: Mapping[int, Chosen]) -> bool:
    """Say whether nothing of a clause could reach the order."""
    clause, before, after = items[at:end], items[at - 1].symbol if at else ".", items[end].symbol
    if not _LEAST <= len(clause) <= _MOST or after == "?" or before == ":":
        return False
    if (before == "<open>") != (after == "<close>"):
        return False
    spans = [owned.get(item.first) for item in clause]
    if any(span and (span.first < clause[0].first or span.last > clause[-1].last) for span in spans):
        return False
    if any(span and span.name != _STATEMENT and not span.slots <= _SILENT for span in spans):
        return False
    if not all(_says_nothing(item) for item in clause):
        return False
    return _tells(clause) if after != ":" else before in _OPENING and _heads(clause)


def _says_nothing(item: Item) -> bool:
    """Say whether a word is no value, no operator, no adverb of manner and nothing of a request."""
    word = plain_word(item)
    if item.value is not None or not _WORD.fullmatch(word) or word in _NEVER or "n't" in word:
        return False
    return not ends(word, "of_manner")


def _is_apart(item: Item) -> bool:
    """Say whether a word is unknown to every phrase of a request, or listed as saying nothing of one."""
    return item.symbol.startswith(UNKNOWN_MARK) or plain_word(item) in _PLAIN | _VERBS


def _tells(clause: Sequence[Item]) -> bool:
    """Say whether a clause has a subject, a verb of its own, and nothing that may be a part of the data or a wish."""
    words = [plain_word(item) for item in clause]
    verb = next((at for at, word in enumerate(words) if at and word in _VERBS and words[at - 1] not in _ARTICLES), None)
    if verb is None or not all(map(_is_apart, clause)) or _opens_order(words):
        return False
    # "say Anna is home" supposes something.
    subject = words[0] in _SUBJECTS or words[verb - 1] in _NOUNS
    several = any(_may_be_several(item) for item in clause)
    wishes = words[verb] in _BE and any(word in _SPOILS or _done(word) for word in words[verb + 1 :])
    return subject and not several and not wishes


def _heads(clause: Sequence[Item]) -> bool:
    """Say whether a clause is a heading: it ends in a noun; no verb, nobody, nothing done, not several of something."""
    words = [plain_word(item) for item in clause]
    acts = any(word in _VERBS | _PEOPLE or _done(word) for word in words)
    return words[-1] in _NOUNS and not acts and not any(map(_may_be_several, clause)) and not _opens_order(words)


def _may_be_several(item: Item) -> bool:
    """Say whether a word may be several of something that no list calls harmless: a part of the data."""
    return plain_word(item) not in _PLAIN | _VERBS and bool(_PLURAL.fullmatch(plain_word(item)))


def _done(word: str) -> bool:
    return word not in _PLAIN and ends(word, "past", "lasting", "of_a_state")


def _opens_order(words: Sequence[str]) -> bool:
    """Say whether a bare word stands before an article: "blur the faces" is an order."""
    return words[0] not in _PLAIN and words[1] in _DETERMINERS
