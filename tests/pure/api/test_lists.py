"""Lists of the REST API have one form."""

import json
from pathlib import Path
from typing import Any, Final

API: Final = json.loads(
    (Path(__file__).parents[2] / "interfaces" / "rest" / "openapi.json").read_text(encoding="utf-8")
)


def answers() -> dict[str, dict[str, Any]]:
    """What each GET answers, as its schema."""
    found = {}
    for path, calls in API["paths"].items():
        content = calls.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        found[path] = API["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], schema)
    return found


def test_no_answer_is_a_bare_array() -> None:
    assert [path for path, schema in answers().items() if schema.get("type") == "array"] == []


def test_every_page_has_its_items_and_says_where_the_next_begins() -> None:
    pages = {
        path: schema["properties"] for path, schema in answers().items() if "items" in schema.get("properties", {})
    }
    assert len(pages) >= 15, "lists are found"
    for path, fields in pages.items():
        assert fields["next"]["anyOf"] == [{"type": "string"}, {"type": "null"}], path


def test_whatever_takes_a_place_to_go_on_from_answers_with_a_page_and_takes_its_next() -> None:
    found = answers()
    for path, calls in API["paths"].items():
        for one in calls.get("get", {}).get("parameters", []):
            if one["name"] == "after" and "text/event-stream" not in calls["get"]["responses"]["200"]["content"]:
                assert "next" in found[path]["properties"], path
                assert {"type": "null"} in one["schema"]["anyOf"], path
                assert {kind["type"] for kind in one["schema"]["anyOf"]} == {"string", "null"}, path
