"""Which places are suggested: only those that allow what is needed, and never the other end."""

from dataclasses import replace
from datetime import UTC, datetime

from headrace.api.planning.words import _fitting
from headrace.guardrails.language import Context, Endpoint, Intent, Location, check_intent

SITE = Context(
    now=datetime(2026, 11, 25, tzinfo=UTC),
    timezone="UTC",
    endpoints=(
        Endpoint("here", access="read"),
        Endpoint("archive", access="write"),
        Endpoint("there", access="delete"),
    ),
)


def suggested(slot: str, source: str, destination: str) -> list[str]:
    answer = check_intent(Intent(action="copy", source=place(source), destination=place(destination)), SITE)
    [question] = [one for one in answer.questions if one.slot == slot]
    return [choice.value for choice in _fitting(question, answer, SITE)]


def place(text: str) -> Location:
    endpoint, _, path = text.partition(":")
    return Location(endpoint, path)


def test_a_place_that_can_only_be_read_is_no_destination() -> None:
    assert "here:/s" not in suggested("destination", "archive:/p", "heres:/s")
    assert suggested("destination", "archive:/p", "heres:/s")


def test_the_destination_is_not_suggested_as_the_source() -> None:
    assert suggested("source", "archve:/p", "archive:/s") == ["here:/p"]


def test_a_path_without_an_endpoint_is_told_to_have_one() -> None:
    answer = check_intent(Intent(action="copy", source=place("local:/photos"), destination=place("there:/s")), SITE)
    [question] = answer.questions
    assert question.message.startswith("`/photos` names no endpoint: write one before it, as `ENDPOINT:/photos`")
    assert question.choices[0].value == "here:/photos"


def test_a_path_without_an_endpoint_is_not_answered_with_a_node_that_nobody_named() -> None:
    """The node of a service that was started with `--root` is called `local`."""
    site = replace(SITE, endpoints=tuple(replace(one, node="local") for one in SITE.endpoints))
    answer = check_intent(Intent(action="copy", source=place("local:/photos"), destination=place("there:/s")), site)
    assert answer.questions[0].message.endswith(
        "as `ENDPOINT:/photos`; a path begins at the folder that its endpoint exports, which `headrace browse "
        "ENDPOINT:/` lists; there are `here`, `archive`, `there`"
    )
