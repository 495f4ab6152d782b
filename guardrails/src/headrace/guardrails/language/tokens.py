"""Cuts text into tokens: quoted strings, words with what clings to them, punctuation."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from headrace.guardrails.language.fields import label_of
from headrace.guardrails.language.phrases import listed

# An opening quote and what may close it.
QUOTES = {
    '"': '"',
    "'": "'",
    "`": "`",
    "\u201c": "\u201d",
    "\u201e": "\u201d\u201c",
    "\u00ab": "\u00bb",
    "\u2018": "\u2019",
    "\u2039": "\u203a",
    "\u300c": "\u300d",
}
_OPENERS = "([{"
_CLOSERS = {")": "(", "]": "[", "}": "{"}
_TRAILERS = ",.;:!?\u2026\u3002\uff0c\u3001\uff1b\uff01\uff1f"
# A quote closes before a blank, a mark or the end.
_CLOSED = {
    opening: re.compile(rf"[{closers}](?=[\s{re.escape(_TRAILERS)}{re.escape(''.join(_CLOSERS))}]|\Z)")
    for opening, closers in QUOTES.items()
}
# Arrows, dashes, and what separates the fields of a form ("from krios1:/a | to archive:/a"); a bullet opens a line.
_MARKS = {
    **dict.fromkeys(("->", "-->", "=>", "==>", "\u2192", "\u27f6", "\u21d2", "\u27a1", ">>", "\u2794", "~>"), "->"),
    **dict.fromkeys(("-", "--", "\u2013", "\u2014"), "-"),
    **dict.fromkeys(("|", "\u00b7"), ";"),
}
_BULLETS = {"*", "\u2022", "+"}
# A line drawn below a title.
_RULED = re.compile(r"-{3,}|={3,}|_{3,}|~{3,}")
_SMILEY = re.compile(
    r"(?:[:;]-?[)D(]+|"
    r"[\U0001f600-\U0001f644\U0001f389\U0001f680\U0001f64f\U0001f44b-\U0001f44d\U0001f440\U0001f91e\u2728\u2615]+)(?!\S)"
)
# "1." and "2)" open an item of a list: the first says nothing, one after it says "then".
_NUMBERED = re.compile(r"(?P<number>\d{1,2}|[a-h])(?P<mark>[.)])(?=\s)")
_PREFIXED_QUOTE = re.compile(r"[^\s\"'`]{1,200}?[:=](?=[\"'\u201c\u201e\u00ab])")
# "--exclude=*.tmp" and "rate:2Gb/s" are a label, a mark and a value; "confirmed=true" is one odd word.
_ASSIGNED = re.compile(r"(--[A-Za-z][A-Za-z-]*(?==)|[A-Za-z][A-Za-z_-]*(?==|:[^/]))[=:](?=\S)")
# "<5GB" and "~3 TB" compare; "~1000/data" is a path of somebody.
_COMPARED = re.compile(r"[<>]=?(?=\d)|~(?=\d[\d.,:]*[A-Za-z]{0,4}(?:/s)?$)")
# After a question mark: a line end, or a word that opens a sentence and no location.
_NEW_SENTENCE = re.compile(r"[ \t]*\n|\s+[A-Z][A-Za-z]*(?:'[a-z]+)?(?=[\s,.!](?!\S*[:/]))")
_SENTENCES = re.compile(r".*[.!?]\s", re.DOTALL)
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u00b4": "'"})

_BEFORE_A_LIST = {".", ";", ":", ","}

Kind = Literal["word", "quoted", "mark"]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text. `value` is without quotes; `word` is lower case for matching."""

    start: int
    end: int
    text: str
    value: str
    kind: Kind

    @property
    def word(self) -> str:
        """The word as phrases spell it."""
        return self.value.translate(_APOSTROPHES).lower()


def scan(text: str) -> tuple[Token, ...]:
    """Cut the text. Every character that is not white space is in exactly one token."""
    tokens: list[Token] = []
    numbers: list[str] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            end = position + 1
            while end < len(text) and text[end].isspace():
                end += 1
            if "\n" in text[position:end] and tokens:
                tokens.append(Token(position, position, "", ".", "mark"))
            position = end
            continue
        position = _take(text, position, tokens, numbers)
    return tuple(tokens)


def _take(text: str, start: int, tokens: list[Token], numbers: list[str]) -> int:
    """Add the tokens that begin at `start`; give where the next one may begin. `numbers` are those of a list so far."""
    if whole := _mark(text, start, start + 1) if text[start] in _OPENERS else _list_mark(text, start, tokens, numbers):
        tokens.append(whole)
        return whole.end
    if text[start] in QUOTES:
        if end := _closing(text, start):
            value = text[start + 1 : end - 1]
            tokens.append(Token(start, end, text[start:end], value, "quoted"))
            return end
        # A quote that never closes: owned by nothing, so it is asked about.
        tokens.append(_mark(text, start, start + 1))
        return start + 1
    if (assigned := _ASSIGNED.match(text, start)) and (assigned[1][0] == "-" or label_of(assigned[1].lower())):
        tokens.append(Token(start, assigned.end(1), assigned[1], assigned[1], "word"))
        tokens.append(_mark(text, assigned.end(1), assigned.end()))
        return assigned.end()
    prefix = _PREFIXED_QUOTE.match(text, start)
    if prefix and (end := _closing(text, prefix.end())):
        value = prefix[0] + text[prefix.end() + 1 : end - 1]
        tokens.append(Token(start, end, text[start:end], value, "quoted"))
        return end
    end = start
    while end < len(text) and not text[end].isspace():
        end += 1
    _split_chunk(text, start, end, tokens)
    return end


def _list_mark(text: str, start: int, tokens: list[Token], numbers: list[str]) -> Token | None:
    """Take the number of an item of a list, or a smiley, which ends a sentence at most."""
    if smiley := _SMILEY.match(text, start):
        return Token(start, smiley.end(), smiley[0], ".", "mark")
    number = _NUMBERED.match(text, start)
    if number is None:
        return None
    said = number["number"]
    goes_on = numbers[-1:] == [f"{int(said) - 1 if said.isdigit() else chr(ord(said) - 1)}{number['mark']}"]
    opens = said in ("1", "a") and (not tokens or tokens[-1].value in _BEFORE_A_LIST)
    if not goes_on and not opens:
        return None
    numbers.append(number[0])
    if goes_on:
        return Token(start, number.end(), number[0], "then", "word")
    return Token(start, number.end(), number[0], ".", "mark")


def _closing(text: str, opening: int) -> int | None:
    """Give the end of the quoted string that opens here, after its closing quote."""
    closed = _CLOSED[text[opening]].search(text, opening + 1)
    return closed.end() if closed else None


def _split_chunk(text: str, start: int, end: int, tokens: list[Token]) -> None:
    """Peel punctuation off the end of a run without white space."""
    while end - start > 1 and text[start] in ",;":
        # ",skip" is a comma and a word.
        tokens.append(_mark(text, start, start + 1))
        start += 1
    tail: list[Token] = []
    while end - start > 1 and _peels(text, start, end):
        tail.append(_mark(text, end - 1, end))
        end -= 1
    chunk = text[start:end]
    if (sign := _COMPARED.match(chunk)) and sign.end() < len(chunk):
        tokens.append(Token(start, start + sign.end(), sign[0], sign[0], "word"))
        start, chunk = start + sign.end(), chunk[sign.end() :]
    if (
        chunk in _MARKS
        or _RULED.fullmatch(chunk)
        or chunk in _CLOSERS
        or (chunk in _BULLETS and not (tokens and tokens[-1].text))
        or (len(chunk) == 1 and chunk in _TRAILERS)
    ):
        tokens.append(_mark(text, start, end))
    else:
        tokens.append(Token(start, end, chunk, chunk, "word"))
    tokens.extend(reversed(tail))


def _peels(text: str, start: int, end: int) -> bool:
    """Say whether the last character is punctuation of the sentence, not part of the word."""
    last = text[end - 1]
    chunk = text[start:end]
    if last in _CLOSERS:
        return chunk.count(_CLOSERS[last]) < chunk.count(last)
    if last not in _TRAILERS:
        return False
    before = text[end - 2]
    if last == ".":
        # `..` at the end of a path must stay visible to the rail that refuses it.
        return before != "." or "/" not in chunk
    if last == "?" and ("*" in chunk or "?" in chunk[:-1] or end < len(text.rstrip())):
        return bool(_NEW_SENTENCE.match(text, end)) or _ends_question(text, start, end)
    return True


def _ends_question(text: str, start: int, end: int) -> bool:
    """Say whether the last character, a question mark, ends a question and is no part of a pattern."""
    chunk = text[start:end]
    if "*" in chunk:
        # A question ends with a mark of its own: "will you skip *.lock?" leaves out `*.lock`.
        return end == len(text.rstrip()) and _asks(text, start)
    named = any(character in chunk for character in "/_.[")
    return chunk.count("?") == 1 and (not named or ("/" in _sentence(text, start) and _asks(text, start)))


def _asks(text: str, end: int) -> bool:
    """Say whether the words before a place open a question that asks for something."""
    said = f" {_sentence(text, end)}"
    return any(f" {opener} " in said for opener in listed("asked_for"))


def _sentence(text: str, end: int) -> str:
    """Give the words of a sentence before a place in it."""
    earlier = _SENTENCES.match(text, 0, end)
    return text[earlier.end() if earlier else 0 : end].lower()


def _mark(text: str, start: int, end: int) -> Token:
    piece = text[start:end]
    plain = unicodedata.normalize("NFKC", piece).replace("\u3002", ".").replace("\u3001", ",")
    dash = piece in _BULLETS or _RULED.fullmatch(piece)
    return Token(start, end, piece, "-" if dash else _MARKS.get(piece, plain), "mark")
