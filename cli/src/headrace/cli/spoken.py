"""Names of request fields as people type them: `valid_s` is `--valid`."""

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from headrace.client.mistakes import in_words

_UNITS: Final = ("_s", "_bytes", "_bps")
"""Ends of fields that say a unit, which no option has."""
_NO_OPTIONS: Final = {"source", "destination", "subject", "name", "words"}
"""Fields that are arguments."""


def mistake(error: ValidationError, options: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Return which field of a request is beyond its limits, and a sentence that names it as it was typed.

    `options` are the flags of fields whose names do not say them.
    """
    first = error.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"]))
    named = _typed(str(first["loc"][0]), options or {}) if first["loc"] else "the request"
    return field or "request", f"{named} {in_words(first, str(first['loc'][-1]) if first['loc'] else '')}"


def _typed(field: str, options: Mapping[str, str]) -> str:
    if field in options:
        return options[field]
    if field in _NO_OPTIONS:
        return field.upper()
    unit = next((unit for unit in _UNITS if field.endswith(unit)), "")
    return f"--{field.removesuffix(unit).replace('_', '-')}"
