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
_PAGE_BEFORE: Final = "must be `next` of the page before"
_FORMS: Final = {
    r"^[0-9a-f]{64}$": "must be a whole digest: 64 characters of 0-9 and a-f",
    r"^[0-9]{1,19}$": _PAGE_BEFORE,
    r"^([0-9]{1,18})\.([be])([0-9]{1,18})$": _PAGE_BEFORE,
    r"^([a-z_]+(,[a-z_]+)*)?$": "must be one name or several with commas between, of a-z and `_`",
    r"^[A-Za-z0-9_-]*$": "may hold letters, digits, `-` and `_` only",
    r"^[A-Za-z0-9_.-]*$": "may hold letters, digits, `.`, `-` and `_` only",
    r"^[a-z][a-z0-9-]{0,63}$": "must begin with a letter and hold a-z, 0-9 and `-` only, at most 64",
    r"^[a-z][a-z0-9_]{0,14}$": "must begin with a letter and hold a-z, 0-9 and `_` only, at most 15",
    r"^\w[\w .:@+-]*$": "must begin with a letter, digit or `_`, and hold letters, digits, spaces and `_.:@+-` only",
    r"^[^\x00-\x1f\x7f]*$": "may hold no control characters",
    r"^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$": "must be a time of day from 00:00 to 24:00, like 09:30",
}
"""What each pattern that callers can miss asks for: a pattern itself is nothing that people read."""
_SEVERAL: Final = re.compile(r"\^\(\(([a-z_|]+)\)\(,\(\1\)\)\*\)\?\$")
"""A pattern that takes some of these names."""
_NO_FORM: Final = "is not written as it must be"
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
            found = form_of(context["pattern"])
        case _ if kind.startswith("datetime"):
            found = "must be a time, like 2026-11-25T14:30:00Z"
        case _:
            plain = said.removeprefix("Value error, ").removeprefix("Assertion failed, ")
            choices = _ONE_OF.fullmatch(plain)
            found = f"must be one of {choices[1]}" if choices else plain[:1].lower() + plain[1:]
    return found


def form_of(pattern: str) -> str:
    """Say what a pattern asks for."""
    if several := _SEVERAL.fullmatch(pattern):
        return f"must be one of {several[1].replace('|', ', ')}, or several with commas between"
    return _FORMS.get(pattern, _NO_FORM)


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
