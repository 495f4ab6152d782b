"""Recognises which files: globs, sizes, and times of change, kept or skipped."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Amount, Day, Doubt, Length, Place, Value, When
from headrace.guardrails.language.phrases import Hit, Reading, rule, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_GLOBS = """
    [{each}] (<globs>|<names>|<rel>) [folder|folders|directory|directories|dir|dirs|path|paths|subfolder
    |subdirectory|{file_nouns}]
    """
_NAMED = f"""
    {{things}} (matching|named|called|like|ending in|ending with|with names like|with the extension|with extension
    |of type|whose names match|that match|that end in|that end with|whose name matches|with the suffix|with suffix)
    [the pattern|pattern] {_GLOBS}
    """
_VAGUE_KINDS = frozenset(
    [
        "hidden",
        "temporary",
        "temp",
        "backup",
        "log",
        "cache",
        "junk",
        "intermediate",
        "scratch",
        "lock",
        "swap",
        "system",
        "empty",
        "old",
        "small",
        "big",
        "large",
        "huge",
        "tiny",
        "unneeded",
        "unnecessary",
        "useless",
        "dot",
        "new",
        "other",
        "first",
        "last",
        "second",
        "same",
        "top",
        "whole",
        "entire",
        "any",
        "some",
        "all",
        "the",
        "each",
        "this",
        "that",
        "these",
        "those",
        "such",
        "wrong",
        "right",
        "bad",
        "good",
        "source",
        "destination",
    ]
)
_AFTER = "since|after|on or after|later than|more recent than|newer than|younger than"
_BEFORE = "before|until|prior to|earlier than|older than|up to|up until"
_RECENT = "((in|within|during|over) [the] (last|past|previous|preceding)|in the space of the last)"
_QUANTITY = "(<size>|<qty>)"


def _names(hit: Hit) -> tuple[str, ...]:
    """Give the globs of a phrase; a relative path such as raw/old is one."""
    found: list[str] = []
    for value in hit.all(object):
        if isinstance(value, tuple):
            found.extend(value)
        elif isinstance(value, Place) and value.path is not None:
            found.append(value.path)
    return tuple(found)


def _globs(slot: str) -> Callable[[Hit], Sequence[Reading]]:
    return lambda hit: ((slot, _names(hit)),)


def _folder(hit: Hit) -> Sequence[Reading]:
    """Take the word beside "folder" as its name, unless it may only describe the folder."""
    kinds = ("folder", "directory", "dir", "subfolder", "subdirectory", "subdir")
    at = next(number for number, item in enumerate(hit.items) if item.symbol in kinds)
    named = hit.items[-1] if hit.has("called", "named") or at == len(hit.items) - 2 else hit.items[at - 1]
    if hit.items[at - 1].symbol in _VAGUE_KINDS:
        return (("exclude", Doubt(f"`{hit.words}`: write the name of the folder, such as old/")),)
    return (("exclude", (f"{named.text.rstrip('/')}/",)),)


def _size(slot: str) -> Callable[[Hit], Sequence[Reading]]:
    return lambda hit: ((slot, hit.one(Amount)),)


def _size_range(hit: Hit) -> Sequence[Reading]:
    amounts = hit.all(Amount)
    if len(amounts) == 1:
        # "between 1 and 10 GB": the unit of the second number is that of the first.
        number = next(item.text for item in hit.items if item.symbol == "<num>")
        amounts.insert(0, _in_unit_of(amounts[0], number))
    least, most = amounts
    return (("min_size", least), ("max_size", most))


def _in_unit_of(amount: Amount, number: str) -> Amount:
    words = f"{number} {amount.words}"
    last = re.match(r"[\d.]+", amount.words)
    if amount.value is None or last is None or not re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", number):
        return Amount(words, "unsure", None, f"`{words}`: write both sizes with their units")
    size = Fraction(amount.value) / Fraction(last[0]) * Fraction(number)
    if size.denominator != 1 or size <= 0:
        return Amount(words, "unsure", None, f"`{words}` is not a whole number")
    return Amount(words, "size", int(size))


def _moment(slot: str) -> Callable[[Hit], Sequence[Reading]]:
    """Take a time, or a length of time that ends now ("older than 30 days")."""

    def make(hit: Hit) -> Sequence[Reading]:
        lengths = hit.all(Length)
        value: Value = When(lengths[0].words, ago=lengths[0]) if lengths else hit.one(When)
        return ((slot, value),)

    return make


def _day(hit: Hit) -> Sequence[Reading]:
    when = hit.one(When)
    if when.day == Day(offset=0) and when.clock is None and when.part is None:
        # Today is not over: from its start, whatever comes.
        return (("modified_after", when),)
    return (("modified_after", when), ("modified_before", when))


def _between(hit: Hit) -> Sequence[Reading]:
    first, _ = hit.all(When)
    doubt = Doubt(f"`{hit.words}` does not say whether its last day belongs to it")
    return (("modified_after", first), ("modified_before", doubt))


def _vague(*slots: str) -> Callable[[Hit], Sequence[Reading]]:
    def make(hit: Hit) -> Sequence[Reading]:
        doubt = Doubt(f"`{hit.words}` does not say exactly which files")
        return tuple((slot, doubt) for slot in slots)

    return make


GLOB_RULES = (
    *rule(
        "only these names",
        _globs("include"),
        f"{{only}} {_GLOBS}",
        f"{{only}} {_NAMED}",
        f"{_NAMED} only",
        f"{_GLOBS} (only|and nothing else|exclusively)",
        f"(include|including|with) only {_GLOBS}",
        f"include {_GLOBS}",
        f"all {_GLOBS}",
        _NAMED,
        "[{det}] <names> files",
        "[{det}] <globs> [files|file]",
    ),
    *rule(
        "names of a size",
        lambda hit: (("include", _names(hit)), ("min_size", hit.one(Amount))),
        f"{{only}} {_GLOBS} [that are|which are] {{bigger}} {_QUANTITY}",
    ),
    *rule(
        "names below a size",
        lambda hit: (("include", _names(hit)), ("max_size", hit.one(Amount))),
        f"{{only}} {_GLOBS} [that are|which are] {{smaller}} {_QUANTITY}",
    ),
    *rule(
        "not these names",
        _globs("exclude"),
        f"{{skip}} {_GLOBS}",
        f"{{skip}} {_NAMED}",
        f"{{skip}} {{things}} (in|under|inside|below) {_GLOBS}",
        f"[with] {_GLOBS} [being] (excluded|left out|omitted|skipped|ignored|left behind|filtered out|not included)",
        f"""
            {_GLOBS} (can|may|should|must|is to|are to|will) (stay behind|stay where (it is|they are)|stay there|stay|be
            skipped|be left out|be left behind|be excluded|be ignored|be omitted)
            """,
        f"""
            {_GLOBS} (is|are) (not needed|not wanted|unwanted|not required|excluded|left out|skipped|not to be copied
            |not to be included)
            """,
    ),
    *rule(
        "not this folder",
        _folder,
        "{skip} [{each}|our|my] <word> (folder|directory|dir|subfolder|subdirectory|subdir)",
        "{skip} [the] (folder|directory|dir|subfolder|subdirectory|subdir) [called|named] (<any>|<ref>|<file>)",
        "[with] [the] <word> (folder|directory|dir|subfolder|subdirectory) (excluded|left out|omitted|skipped)",
    ),
    *rule(
        "names that no longer are skipped",
        _globs("drop_exclude"),
        f"(stop|no longer) (skip|skipping|exclude|excluding|ignore|ignoring) {_GLOBS}",
        f"{{not}} (skip|exclude|ignore|leave out|omit) {_GLOBS} [after all|any more|anymore]",
        f"(include|take|copy) {_GLOBS} after all",
    ),
    *rule(
        "vague names",
        _vague("exclude"),
        """
            {skip} [{each}] [hidden|temporary|temp|tmp|backup|log|cache|junk|intermediate|scratch|lock|swap|system
            |empty|raw|old|small|big|large|huge|tiny|unneeded|unnecessary|useless|dot] (files|folders|directories
            |logs|checkpoints|caches|subfolders|subdirectories|temporaries|duplicates|intermediates|dotfiles|links
            |symlinks)
            """,
    ),
    *rule("unknown kind of files", _vague("include"), "[{only}] [{each}|our|my] <any> (files|images|movies|frames)"),
    *rule("unknown kind of files to skip", _vague("exclude"), "{skip} [{each}|our|my] <any> (files|folder|folders)"),
    *rule(
        "vague pattern",
        _vague("include"),
        "[{only}] {things} (starting|beginning|that start|that begin) with (<any>|<ref>|<names>|<globs>)",
        "[{only}] {things} (containing|with|that contain|about) (<any>|<ref>) [in (the|their) (name|names)]",
    ),
    *rule(
        "vague selection",
        _vague("include"),
        """
            {only} [{each}] [important|raw|final|good|relevant|log|image|text|needed|necessary|missing|processed
            |compressed] (files|images|movies|logs|results|folders|directories|frames|pictures|data|documents|videos
            |checkpoints|configs|ones|stuff|subfolders)
            """,
        """
            (some|several|various|certain|a few|a couple of|a handful of|most|many|selected|random|other)
            [{file_nouns}|results|runs|datasets|folders|movies|micrographs|frames|logs]
            """,
        """
            (half|some|most|part|a part|a few|a subset|the rest|the other half) of [{det}] (files|data|it|them|stuff
            |images|results)
            """,
    ),
)

SIZE_RULES = (
    *rule(
        "files of at least a size",
        _size("min_size"),
        f"{{only}} [{{things}}] {{bigger}} {_QUANTITY} [in size|each|big|large]",
        f"{{things}} {{bigger}} {_QUANTITY} [in size|each] [only]",
        f"{{bigger}} {_QUANTITY} only",
        f"{{things}} of {_QUANTITY} (or|and) (more|larger|bigger|above|over|up|greater) [only]",
        f"{{only}} [{{things}}] [of] {_QUANTITY} (or|and) (more|larger|bigger|above|over|up|greater) [only]",
        f"{{skip}} [{{things}}] {{smaller}} {_QUANTITY} [in size|each]",
        f"{{skip}} [{{things}}] [of] {_QUANTITY} (or|and) (less|smaller|below|under) [only]",
        f"(minimum|min|minimal|smallest) [file] size [of|:|is|=] {_QUANTITY}",
        f"with a (minimum|min) [file] size of {_QUANTITY}",
    ),
    *rule(
        "files of at most a size",
        _size("max_size"),
        f"{{only}} [{{things}}] {{smaller}} {_QUANTITY} [in size|each|big|large]",
        f"{{things}} {{smaller}} {_QUANTITY} [in size|each] [only]",
        f"{{smaller}} {_QUANTITY} only",
        f"{{things}} of {_QUANTITY} (or|and) (less|smaller|below|under) [only]",
        f"{{only}} [{{things}}] [of] {_QUANTITY} (or|and) (less|smaller|below|under) [only]",
        f"{{skip}} [{{things}}] {{bigger}} {_QUANTITY} [in size|each]",
        f"{{skip}} [{{things}}] [of] {_QUANTITY} (or|and) (more|larger|bigger|above|over|up|greater) [only]",
        f"(maximum|max|maximal|largest) [file] size [of|:|is|=] {_QUANTITY}",
        f"with a (maximum|max) [file] size of {_QUANTITY}",
    ),
    *rule(
        "size range",
        _size_range,
        f"[{{only}}] {{things}} [of|sized] (between|from) (<num>|{_QUANTITY}) (and|to|-) {_QUANTITY} [in size] [only]",
        f"{{only}} (between|from) (<num>|{_QUANTITY}) (and|to) {_QUANTITY} [in size]",
        f"[{{only}}] {{things}} {{bigger}} {_QUANTITY} (and|but) {{smaller}} {_QUANTITY} [only]",
    ),
    *rule(
        "vague size", _vague("min_size"), "[{only}] [{det}] (big|large|huge|bigger|larger|biggest|largest) {file_nouns}"
    ),
    *rule(
        "vague small size",
        _vague("max_size"),
        "[{only}] [{det}] (small|tiny|little|smaller|smallest) {file_nouns}",
    ),
    *rule(
        "bare size",
        _vague("max_size"),
        f"{{smaller}} {_QUANTITY}",
        f"(exactly|precisely|about|around|roughly) {_QUANTITY} (big|large|in size)",
    ),
    *rule("bare least size", _vague("min_size"), f"{{bigger}} {_QUANTITY}"),
)

_SINCE_LENGTH = f"[{{changed}}] {_RECENT} <dur>"
AGE_RULES = (
    *rule(
        "changed lately",
        _moment("modified_after"),
        f"[{{only}}] [{{things}}] {_SINCE_LENGTH}",
        "[{only}] [{things}] from [the] (last|past|previous) <dur>",
        "[{only}] [{things}] (newer|younger|more recent) (than|then) <dur>",
        "[{only}] [{things}] less than <dur> old",
        f"[{{only}}] [{{things}}] {{changed}} ({_AFTER}) <when>",
        "[{only}] {things} since <when>",
        f"{{only}} {{things}} ({_AFTER}) <when>",
        "[{only}] [{things}] (newer|more recent|younger) (than|then) <when>",
        "{skip} [{things}] older (than|then) (<dur>|<when>) [old]",
        "{skip} [{things}] more than <dur> old",
        f"{{skip}} {{things}} [{{changed}}] ({_BEFORE}) <when>",
        f"{{skip}} [{{things}}] {{changed}} ({_BEFORE}) <when>",
    ),
    *rule(
        "changed long ago",
        _moment("modified_before"),
        "[{only}] [{things}] older (than|then) (<dur>|<when>)",
        "[{only}] [{things}] (more than|over|at least) <dur> old",
        f"[{{only}}] {{things}} {{changed}} ({_BEFORE}) <when>",
        f"[{{only}}] {{changed}} ({_BEFORE}) <when>",
        f"{{only}} {{things}} ({_BEFORE}) <when>",
        "{skip} [{things}] (newer|younger|more recent) (than|then) (<dur>|<when>)",
        "{skip} [{things}] less than <dur> old",
        f"{{skip}} [{{things}}] {_SINCE_LENGTH}",
        f"{{skip}} [{{things}}] {{changed}} ({_AFTER}) <when>",
        f"{{skip}} {{things}} [{{changed}}] ({_AFTER}) <when>",
        f"[{{only}}] {{things}} not {_SINCE_LENGTH}",
        "[{only}] {things} not {changed} since <when>",
    ),
    *rule(
        "changed on a day",
        _day,
        "<whens> [files|data|output|results|changes]",
        "[{only}] {things} [{changed}] (from|of|on|during|dated) <when>",
        "[{only}] {changed} (on|during) <when>",
        "[{only}] {things} {changed} (<when>)",
    ),
    *rule(
        "changed between days",
        _between,
        "[{only}] [{things}] {changed} (between|from) <when> (and|to|until|till|through) <when>",
        "[{only}] {things} (between|from|dated between|dated from) <when> (and|to|until|through) <when>",
    ),
    *rule(
        "vague age",
        _vague("modified_after"),
        """
            [{only}] [{det}] (recent|new|newest|latest|fresh|recently changed|most recent|newer|newly written
            |current) {file_nouns}
            """,
        "{only} what (changed|is new|has changed)",
        "[{only}] [{things}] ({changed}|created) (recently|lately)",
        "{only} [the] (changes|changed files|new ones|modified files|deltas|differences|updates)",
    ),
    *rule("vague old age", _vague("modified_before"), "[{only}] [{det}] (old|oldest|older) {file_nouns}"),
    *say(
        "creation time",
        "modified_after",
        Doubt("files are chosen by when they were changed, not when they were created"),
        f"[{{only}}] {{things}} created ({_AFTER}|on|in|{_BEFORE}|during) [the last|the past] (<when>|<dur>)",
    ),
)

RULES = (*GLOB_RULES, *SIZE_RULES, *AGE_RULES)
