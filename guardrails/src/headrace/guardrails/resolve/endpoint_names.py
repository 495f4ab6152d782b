"""Endpoint names: the registry's spelling or nothing. Look-alikes are refused, near misses asked."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from rapidfuzz import fuzz, process

from headrace.guardrails.intents.answer import Choice, Refusal
from headrace.guardrails.intents.context import LOCAL_ENDPOINT
from headrace.guardrails.intents.draft import Doubt
from headrace.guardrails.intents.text import endpoint_name_fault, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.guardrails.intents.context import Context, Endpoint

MAX_SUGGESTIONS = 4
MAX_NAMED = 8
"""Endpoints that are named where a name is unknown."""
_NEAR = 72
_SHORTEST_PART = 3
# Latin letters that are drawn like plain ones: IPA extensions and small capitals, dotless i.
_DECEPTIVE = ((0x0250, 0x02AF), (0x1D00, 0x1DBF), (0x0131, 0x0131), (0xA720, 0xA7FF))


def find_endpoint(name: str, context: Context) -> Endpoint | None:
    """Find the endpoint of this name; only the case of letters may differ."""
    having = context.registry.having(name)
    exact = _once(known for spelled, known in having if spelled == name)
    if len(exact) == 1:
        return exact[0]
    alike = _once(known for spelled, known in having if same_but_for_case(name, spelled))
    return alike[0] if len(alike) == 1 and not exact else None


def _once(found: Iterable[Endpoint]) -> list[Endpoint]:
    """Return endpoints that were found by several of their names once."""
    return list({id(known): known for known in found}.values())


def same_but_for_case(written: str, registered: str) -> bool:
    """Compare letter by letter, so that no other character folds into a registered one."""
    return len(written) == len(registered) and all(
        one in (two, two.lower(), two.upper()) for one, two in zip(written, registered, strict=True)
    )


def deceives(name: str, context: Context) -> bool:
    """Say whether a name has characters that make it look like another one."""
    if name.isascii() or find_endpoint(name, context) is not None:
        return False
    if endpoint_name_fault(name) is not None or any(_is_deceptive(character) for character in name):
        return True
    return _looks_like_registered(name, context)


def _is_deceptive(character: str) -> bool:
    code = ord(character)
    category = unicodedata.category(character)
    if category in ("Cf", "Cc", "Co", "Cn", "Mn", "Me") and code > 0:
        return True
    if not character.isascii() and category in ("Nd", "Nl", "No", "Pd", "Po", "Sm", "Lm"):
        return True
    return any(first <= code <= last for first, last in _DECEPTIVE)


def _looks_like_registered(name: str, context: Context) -> bool:
    """Say whether a name in one other script is drawn like a registered one."""
    drawn = "".join(_DRAWN_LIKE.get(character, character) for character in name.lower())
    return drawn in context.registry.lowered


# How Cyrillic and Greek small letters are drawn, for names written wholly in those scripts.
_DRAWN_LIKE = dict(
    zip(
        "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u043a\u043d\u0442\u0432"
        "\u043c\u0501\u04bb\u051b\u051d\u03bf\u03b1\u03c1\u03bd\u03b9\u03ba\u03c5\u03c7",
        "aeopcyxijskhtbmdhqwoapvikux",
        strict=True,
    )
)


def near_names(name: str, context: Context) -> list[str]:
    """Give registered ids that a name may have meant, best first; only ever to suggest."""
    written = name.lower()
    registry = context.registry
    spellings = registry.lowered
    parts: list[str] = []
    if len(written) >= _SHORTEST_PART:
        alike = {*registry.by_part.get(written, ()), *(part for part in written.split("-") if part in spellings)}
        parts = [spellings[spelled] for spelled in sorted(alike, key=registry.turns.__getitem__)]
    scored = process.extract(written, spellings.keys(), scorer=fuzz.ratio, score_cutoff=_NEAR, limit=MAX_SUGGESTIONS)
    near = parts + [spellings[spelled] for spelled, _, _ in scored]
    return list(dict.fromkeys(near))[:MAX_SUGGESTIONS]


def resolve_name(name: str, context: Context, rest: str = "") -> Endpoint | Doubt | Refusal:
    """Give the endpoint of this name, or what to ask, or why it is refused.

    `rest` is what follows the name in the words (":/path"), for the suggested answers.
    """
    if known := find_endpoint(name, context):
        return known
    if deceives(name, context):
        return Refusal(
            "deceptive_name",
            f"`{shown(name)}` has characters that look like others or can't be seen: "
            "type the endpoint's name again, in plain letters",
            name,
        )
    if name == LOCAL_ENDPOINT and rest:
        path = shown(rest[1:])
        there = tuple(Choice(f"{known.id}{rest}", f"the endpoint {known.id}") for known in context.endpoints)
        message = (
            f"`{path}` names no endpoint: write one before it, as `ENDPOINT:{path}`; a path begins at the folder that "
            "its endpoint exports, which `headrace browse ENDPOINT:/` lists"
        )
        # Nobody has typed that name, so no node that is called so is meant.
        return Doubt(f"{message}{_those_there_are('', context)}", there[:MAX_SUGGESTIONS])
    near = near_names(name, context)
    choices = tuple(Choice(f"{known}{rest}", f"the endpoint {known}") for known in near)
    return Doubt(f"there is no endpoint called `{shown(name)}`{_those_there_are(name, context)}", choices)


def _those_there_are(name: str, context: Context) -> str:
    """Name the endpoints of the node that is called so, or else some of all."""
    of_node = [known.id for known in context.endpoints if name and known.node == name]
    if of_node:
        return f"; a node is called so, and its endpoints are {_some(of_node)}"
    return f"; there are {_some([known.id for known in context.endpoints])}" if context.endpoints else ""


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(f"`{shown(name)}`" for name in names[:MAX_NAMED]) + more


def near_choices(words: str, context: Context) -> tuple[Choice, ...]:
    """Suggest endpoints for unowned words; suggestions are never taken without an answer."""
    near = [known for word in words.split()[:8] for known in near_names(word, context)]
    return tuple(Choice(known, f"the endpoint {known}") for known in dict.fromkeys(near))[:MAX_SUGGESTIONS]
