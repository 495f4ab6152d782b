"""What is wrong with a value, as people read it."""

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from tests.faults.run import REPOSITORY

from headrace.client.mistakes import form_of, in_words, nearest
from headrace.client.models.base import AwareMoment, Sha256


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    one: int = 1


def no(_: str) -> str:
    message = "`x` is no y: write z"
    raise ValueError(message)


def said(kind: Any, value: object, field: str = "") -> str:  # noqa: ANN401 - any type
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    return in_words(caught.value.errors()[0], field)


@pytest.mark.parametrize(
    ("kind", "value", "field", "words"),
    [
        (int, "nonsense", "", "must be a whole number"),
        (float, "x", "", "must be a number"),
        (bool, "x", "", "must be true or false"),
        (Annotated[int, Field(ge=262144)], 3, "unit_bytes", "must be at least 256 KiB"),
        (Annotated[int, Field(ge=300)], 1, "valid_s", "must be at least 5 min"),
        (Annotated[int, Field(le=200)], 500, "limit", "must be at most 200"),
        (Annotated[str, Field(min_length=1)], "", "", "must have at least 1 character"),
        (Annotated[list[int], Field(max_length=2)], [1, 2, 3], "", "must hold at most 2 entries"),
        (Literal["a", "b"], "c", "", "must be 'a' or 'b'"),
        (Sha256, "x", "plan_digest", "must be a whole digest: 64 characters of 0-9 and a-f"),
        (
            Annotated[str, Field(pattern=r"^([0-9]{1,18})\.([be])([0-9]{1,18})$")],
            "x",
            "after",
            "must be `next` of the page before",
        ),
        (
            Annotated[str, Field(pattern="^((ready|ask)(,(ready|ask))*)?$")],
            "x",
            "state",
            "must be one of ready, ask, or several with commas between",
        ),
        (AwareMoment, "yesterday", "since", "must be a time, like 2026-11-25T14:30:00Z"),
        (Strict, {"two": 2}, "", "is not known here"),
        (Strict, [], "", "must be an object, as {...}"),
        (Annotated[str, AfterValidator(no)], "x", "", "`x` is no y: write z"),
    ],
)
def test_each_kind_of_mistake_is_said_in_plain_words(kind: object, value: object, field: str, words: str) -> None:
    assert said(kind, value, field) == words


def patterns_in(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("pattern"), str):
            yield part["pattern"]
        for below in part.values():
            yield from patterns_in(below)
    elif isinstance(part, list):
        for below in part:
            yield from patterns_in(below)


def test_each_pattern_of_the_interface_is_said_in_words_and_never_shown() -> None:
    interface = json.loads((REPOSITORY / "tests/interfaces/rest/openapi.json").read_text(encoding="utf-8"))
    patterns = set(patterns_in(interface))
    assert len(patterns) > 10
    said = {pattern: form_of(pattern) for pattern in patterns}
    assert [pattern for pattern, words in said.items() if "not written as" in words or "[" in words] == []


def test_the_name_that_was_meant_is_the_nearest_one() -> None:
    known = ["rate_limit_bps", "limit", "source"]
    assert [nearest(name, known) for name in ("rate", "limt", "sorce", "zzz")] == [
        "rate_limit_bps", "limit", "source", None,
    ]  # fmt: skip
