"""What is wrong with a value, in words: the one place that turns errors of the validation library into English."""

import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final

from headrace.client.text import duration, plural

_NEAR: Final = 0.4
"""How like a known name another must be to be taken for a slip."""
_KIB: Final = 1024
_PLAIN: Final = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "list_type": "must be a list",
    "dict_type": "must be an object, as {...}",
    "model_type": "must be an object, as {...}",
    "timezone_aware": "must say its zone, like 2026-11-25T14:30:00Z",
}
_LIMITS: Final = {
    "greater_than_equal": ("must be at least {}", "ge"),
    "greater_than": ("must be more than {}", "gt"),
    "less_than_equal": ("must be at most {}", "le"),
    "less_than": ("must be less than {}", "lt"),
}
_LENGTHS: Final = {
    "string_too_short": ("must have at least {}", "min_length", "character"),
    "string_too_long": ("must have at most {}", "max_length", "character"),
    "too_short": ("must hold at least {}", "min_length", "entry"),
    "too_long": ("must hold at most {}", "max_length", "entry"),
}
_FORMS: Final = {"^[0-9a-f]{64}$": "must be a whole digest: 64 characters of 0-9 and a-f"}
_ONE_OF: Final = re.compile(r"'[^']*' is not one of (.*?)\.?")


def in_words(error: Mapping[str, Any], field: str = "") -> str:
    """Say what is wrong with a value, as the end of a sentence that its name begins.

    `error` is one of pydantic's `ValidationError.errors()`; the unit of a limit follows from the name of the field.
    """
    kind, context, said = str(error["type"]), error.get("ctx") or {}, str(error["msg"])
    match kind:
        case _ if kind in _PLAIN:
            found = _PLAIN[kind]
        case _ if kind in _LIMITS:
            words, limit = _LIMITS[kind]
            found = words.format(_measured(field)(context[limit]))
        case _ if kind in _LENGTHS:
            words, limit, noun = _LENGTHS[kind]
            found = words.format(plural(context[limit], noun))
        case "literal_error" | "enum":
            found = f"must be {context['expected']}"
        case "string_pattern_mismatch":
            found = _FORMS.get(context["pattern"], f"must have the form `{context['pattern']}`")
        case _ if kind.startswith("datetime"):
            found = "must be a time, like 2026-11-25T14:30:00Z"
        case _:
            plain = said.removeprefix("Value error, ").removeprefix("Assertion failed, ")
            choices = _ONE_OF.fullmatch(plain)
            found = f"must be one of {choices[1]}" if choices else plain[:1].lower() + plain[1:]
    return found


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that was probably meant."""
    begun = [one for one in known if one.startswith(name)]
    found = begun or get_close_matches(name, known, 1, _NEAR)
    return found[0] if found else None


def _measured(field: str) -> Callable[[Any], str]:
    """Return how people write a value of this field."""
    if field.endswith("_s"):
        return duration
    if field.endswith("_bytes"):
        return _size
    return lambda value: f"{value:,}"


def _size(count: int) -> str:
    if count >= _KIB * _KIB and not count % (_KIB * _KIB):
        return f"{count // (_KIB * _KIB)} MiB"
    return f"{count // _KIB} KiB" if count >= _KIB and not count % _KIB else f"{count} B"
