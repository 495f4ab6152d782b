"""One value for a slot from all that was said about it, or a doubt."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeVar

from headrace.guardrails.intents.draft import Amount, Doubt, Fact, Step
from headrace.guardrails.resolve.dot_names import is_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.guardrails.intents.draft import Value

_T = TypeVar("_T")


def words_of(facts: Sequence[Fact]) -> str:
    """Give the words of some facts, each once."""
    return ", ".join(dict.fromkeys(fact.words for fact in facts))


def only(facts: Sequence[Fact], resolve: Callable[[Value], _T | Doubt]) -> _T | Doubt | None:
    """Resolve every fact of a slot; two different values are a doubt, none is None."""
    found: list[_T] = []
    for fact in facts:
        value = fact.value if isinstance(fact.value, Doubt) else resolve(fact.value)
        if isinstance(value, Doubt):
            return value
        if value not in found:
            found.append(value)
    if len(found) > 1:
        return Doubt(f"`{words_of(facts)}` says two different things")
    return found[0] if found else None


def plain(value: Value) -> Value:
    """Take a value as it is."""
    return value


def amount(value: Value, kind: str) -> int | Doubt:
    """Give the number of an amount of the right kind."""
    if not isinstance(value, Amount):
        return Doubt("there is no number")
    if value.value is None or value.kind != kind:
        return Doubt(value.doubt or f"`{value.words}` is no {kind}")
    return value.value


def verification(step: Step) -> str | Doubt | None:
    """Give how to verify: an algorithm makes "verify" more exact, "no" contradicts it."""
    found = only(step.of("verify"), plain)
    if isinstance(found, Doubt):
        named = [fact.value for fact in step.of("verify") if isinstance(fact.value, str)]
        exact = set(named) - {"default"}
        if len(named) == len(step.of("verify")) and len(exact) == 1 and "none" not in exact:
            return exact.pop()
        return found
    return None if found is None else str(found)


def names(step: Step, slot: str) -> tuple[str, ...] | Doubt:
    """Give all globs or attributes of a slot, each once."""
    found: list[str] = []
    for fact in step.of(slot):
        if isinstance(fact.value, Doubt):
            return fact.value
        if isinstance(fact.value, tuple):
            found.extend(fact.value)
    for glob in found:
        # A slash at the end says that it is a folder's name.
        if glob.startswith(".") and glob[-1] != "/" and slot != "preserve" and not is_name(glob):
            return Doubt(f"`{glob}` can be a name or an ending: write the name in full, or *{glob}")
    doubts = [glob for glob in found if is_odd_glob(glob)]
    if doubts:
        return Doubt(f"`{doubts[0]}` is not a pattern for names below the source")
    return tuple(dict.fromkeys(found))


def nothing_left(include: object, exclude: object) -> Doubt | None:
    """Doubt what is left out if all of it, or what is to be taken, is left out."""
    taken = include if isinstance(include, tuple) else ()
    for name in exclude if isinstance(exclude, tuple) else ():
        if name.strip("*/") == "":
            return Doubt(f"`{name}` leaves nothing to take")
        below = name if name.endswith("/") else f"{name}/"
        if covered := [one for one in taken if fnmatchcase(one, name) or one.startswith(below)]:
            return Doubt(f"`{name}` leaves out `{covered[0]}`, which is to be taken")
    return None


def is_odd_glob(glob: str) -> bool:
    """Say whether a glob is no pattern for names below the source."""
    parts = glob.split("/")
    return (
        not glob or ".." in parts or glob.startswith(("/", "~", "$")) or any(ord(character) < 32 for character in glob)  # noqa: PLR2004 (control characters)
    )
