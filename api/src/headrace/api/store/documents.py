"""Models that rows keep as JSON. What was read lately is given again: a text always gives the same frozen model."""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Final, TypeVar, cast

from headrace.client.models import Model

M = TypeVar("M", bound=Model)
_KEPT_OF_EACH: Final = 256
"""More than the longest page: consoles ask for the same pages every few seconds, and reading a plan takes longest."""


def stored(kind: type[M], text: str) -> M:
    """Read a model that a row keeps; raises `ValidationError` where it is none of this kind."""
    return cast("M", _reader(kind)(text))


@cache
def _reader(kind: type[Model]) -> Callable[[str], Any]:
    return lru_cache(maxsize=_KEPT_OF_EACH)(kind.model_validate_json)
