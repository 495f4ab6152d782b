"""Whatever a request may hold has a limit: in the REST document and in the tools that assistants get, as committed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from headrace.client import models as m

INTERFACES = Path(__file__).parents[2] / "interfaces"
REST = json.loads((INTERFACES / "rest" / "openapi.json").read_text(encoding="utf-8"))
TOOLS = json.loads((INTERFACES / "mcp" / "golden_tools.json").read_text(encoding="utf-8"))

Schema = dict[str, Any]


def requests() -> Iterator[tuple[str, Schema, Schema]]:
    """Yield what each request may hold: its name, its schema, and the document that its references are about."""
    for path, operations in REST["paths"].items():
        for method, operation in operations.items():
            where = f"{method.upper()} {path}"
            for parameter in operation.get("parameters", []):
                yield f"{where} {parameter['name']}", parameter["schema"], REST
            for content in operation.get("requestBody", {}).get("content", {}).values():
                yield f"{where} body", content["schema"], REST
    for tool in TOOLS:
        yield f"tool {tool['name']}", tool["input_schema"], tool["input_schema"]


REQUESTS = list(requests())


def unlimited(schema: Schema, document: Schema, where: str) -> Iterator[str]:
    """Yield every place of a schema at which a value can be as long or as large as anybody likes."""
    if "$ref" in schema:
        found: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        yield from unlimited(found, document, where)
        return
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from unlimited(choice, document, where)
    if "enum" in schema or "const" in schema:
        return
    kind = schema.get("type")
    if kind == "string" and not ({"maxLength", "format"} & set(schema) or exact(schema.get("pattern", ""))):
        yield f"{where}: text without maxLength"
    if kind in {"integer", "number"} and not {"maximum", "exclusiveMaximum"} & set(schema):
        yield f"{where}: number without maximum"
    if kind == "array":
        yield from unlimited_list(schema, document, where)
    if kind == "object":
        yield from unlimited_object(schema, document, where)


def unlimited_list(schema: Schema, document: Schema, where: str) -> Iterator[str]:
    if "maxItems" not in schema:
        yield f"{where}: list without maxItems"
    for item in (*schema.get("prefixItems", ()), *([schema["items"]] if "items" in schema else ())):
        yield from unlimited(item, document, f"{where}[]")


def unlimited_object(schema: Schema, document: Schema, where: str) -> Iterator[str]:
    more = schema.get("additionalProperties", True)
    if more is not False:
        if "maxProperties" not in schema:
            yield f"{where}: object with any number of fields"
        if isinstance(more, dict):
            yield from unlimited(more, document, f"{where}{{}}")
    for name, value in schema.get("properties", {}).items():
        yield from unlimited(value, document, f"{where}.{name}")


def exact(pattern: str) -> bool:
    """Whether a pattern fixes the length of the whole text."""
    return pattern.startswith("^") and pattern.endswith("}$") and not {"*", "+"} & set(pattern)


@pytest.mark.parametrize(("where", "schema", "document"), REQUESTS, ids=[where for where, _, _ in REQUESTS])
def test_every_text_number_and_list_of_a_request_has_a_limit(where: str, schema: Schema, document: Schema) -> None:
    assert list(unlimited(schema, document, where)) == []


def test_the_walk_finds_what_has_no_limit() -> None:
    texts = {"type": "array", "items": {"type": "string"}}
    endless = {"type": "object", "additionalProperties": False, "properties": {"a": texts}}
    assert list(unlimited(endless, endless, "x")) == ["x.a: list without maxItems", "x.a[]: text without maxLength"]


@pytest.mark.parametrize("form", [m.PlanRequest, m.InterpretRequest])
@pytest.mark.parametrize("field", ["plan", "timezone"])
@pytest.mark.parametrize("text", ["x" * 121, "\ud800"])
def test_a_handle_or_zone_that_is_too_long_or_no_text_is_refused(
    form: type[m.PlanRequest | m.InterpretRequest], field: str, text: str
) -> None:
    with pytest.raises(ValidationError):
        form.model_validate({field: text})


INTENT = {"action": "copy", "source": "lab:/a", "destination": "archive:/b"}


@pytest.mark.parametrize("glob", ["x" * 1025, "\ud800"])
def test_one_pattern_of_a_list_is_held_to_its_limit_in_a_request_and_read_from_a_plan_of_an_earlier_version(
    glob: str,
) -> None:
    for field in ("include", "exclude"):
        with pytest.raises(ValidationError):
            m.TransferIntent.model_validate(INTENT | {field: [glob]})
        for patch in (field, f"{field}_add"):
            with pytest.raises(ValidationError):
                m.Changes.model_validate({patch: [glob]})
    kept = m.PlannedIntent.model_validate(INTENT | {"exclude": ["x" * 5000] * 500})
    assert len(kept.exclude) == 500


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_time_that_another_zone_may_not_have_is_refused(moment: str) -> None:
    with pytest.raises(ValidationError):
        m.TransferIntent.model_validate(INTENT | {"start": moment})
