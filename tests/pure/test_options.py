"""An option of a transfer is a field of `TransferIntent`; each place that it needs besides has it, or a reason why not.

Add the field, run this test, and it names the places in the order in which a request passes them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, get_args

import pytest
from tests.pure.guardrails.made import Asked, counts, route

from headrace.api.planning.intents import from_reading, sentence_of, to_reading
from headrace.cli.flags import Flags
from headrace.client import models as m
from headrace.client.origins import SLOT_NAMES
from headrace.guardrails import Refused, execution_of, schema_text
from headrace.guardrails.intents import Intent, Slots, values
from headrace.guardrails.intents.origins import SLOTS, OriginKind
from headrace.guardrails.plan.card import card_notes
from headrace.guardrails.rails.slots import TransferSlots
from headrace.guardrails.seal import execution

ROOT: Final = Path(__file__).parents[2]
OPTIONS: Final = tuple(
    name for name in m.TransferIntent.model_fields if name not in {"action", "source", "destination"}
)
WHEN: Final = datetime(2026, 11, 25, 20, 30, tzinfo=UTC)

SAMPLES: Final[Mapping[str, object]] = {
    "include": ["*.mrc"],
    "exclude": ["*.tmp"],
    "min_size_bytes": 10,
    "max_size_bytes": 1000,
    "modified_after": WHEN,
    "modified_before": WHEN,
    "start": WHEN,
    "deadline": WHEN,
    "window": ("22:00", "06:00"),
    "repeat": "FREQ=DAILY",
    "rate_limit_bps": 5_000_000_000,
    "priority": "high",
    "encryption": False,
    "verify": "blake3",
    "on_conflict": "newer",
    "compare": "checksum",
    "delete_extraneous": True,
    "preserve": ["timestamps"],
    "project": "cryo-em",
}
"""A value of each option that is not its default."""
OTHER_NAMES: Final = {"min_size_bytes": "min_size", "max_size_bytes": "max_size"}
"""What the language calls an option."""
_SCHEDULE: Final = dict.fromkeys(
    ("start", "deadline", "window", "repeat", "priority"), "the service keeps it; no node learns of it"
)
_UNFLAGGED: Final = {option: _SCHEDULE[option] for option in ("repeat", "priority")}
_SAID: Final = dict.fromkeys(
    ("include", "exclude", "min_size_bytes", "max_size_bytes", "modified_after", "modified_before", "rate_limit_bps"),
    "the sentence on the card says all of it",
)
_NO_WORDS: Final = dict.fromkeys(("compare", "project"), "it has no words")
_PROJECT: Final = {"project": "policy and quotas read it; it does nothing to files, and no node learns of it"}
_RARE: Final = dict.fromkeys(("encryption", "preserve"), "said in words, in the console or by a program")


@dataclass(frozen=True)
class Place:
    """A place that an option needs: what to do there, how to see that it is done, and which options need it not."""

    do: str
    has: Callable[[str], bool]
    without: Mapping[str, str]


def words_keep(option: str) -> bool:
    intent = sample(option)
    return bool(getattr(from_reading(to_reading(intent)), option) == getattr(intent, option))


def json_keeps(option: str) -> bool:
    reading = to_reading(sample(option))
    return Intent.from_json(reading.to_json()) == reading != to_reading(sample())


def sentence_says(option: str) -> bool:
    return sentence_of(sample(option)) not in {"", sentence_of(sample())}


def card_says(option: str) -> bool:
    return notes(Asked(action="sync"), option) != notes(Asked(action="sync"))


def notes(asked: Asked, *options: str) -> tuple[str, ...]:
    slots = replace(asked, **{option: SAMPLES[option] for option in options})  # type: ignore[arg-type]  # each a value of it
    return card_notes(execution_of(slots, route(), frozenset(_SCHEDULE)).surveyed(counts()), counts())


def nodes_learn(option: str) -> bool:
    slots = replace(Asked(action="sync"), **{option: SAMPLES[option]})  # type: ignore[arg-type]  # each a value of it
    return execution_of(slots, route()).to_body() != execution_of(Asked(action="sync"), route()).to_body()


def sample(*options: str) -> m.TransferIntent:
    given: dict[str, object] = {"action": "sync", "source": "a:/x", "destination": "b:/y"}
    return m.TransferIntent.model_validate(given | {option: SAMPLES[option] for option in options})


def console_has(option: str) -> bool:
    return re.search(rf"\b{option}\b", (ROOT / "web/src/plan/intent.ts").read_text()) is not None


def flag_has(option: str) -> bool:
    return {"compare": "checksum"}.get(option, option) in {field.name for field in fields(Flags)}


PLACES: Final = (
    Place("a sample in SAMPLES of this test", lambda option: option in SAMPLES, {}),
    Place(
        "a description in client/models/intents.py: its help in the API, MCP and for you",
        lambda option: bool(m.TransferIntent.model_fields[option].description),
        {},
    ),
    Place("a field of `Changes` in client/models/intents.py", lambda option: option in m.Changes.model_fields, {}),
    Place(
        "a slot of the language in guardrails/intents/values.py, and the words for it in guardrails/language/grammar",
        lambda option: OTHER_NAMES.get(option, option) in {field.name for field in fields(Slots)},
        _NO_WORDS,
    ),
    Place(
        "a reader in `_READERS` of guardrails/intents/forms.py: the JSON form goes both ways",
        json_keeps,
        _NO_WORDS,
    ),
    Place("both ways between intent and words in api/planning/intents.py", words_keep, _NO_WORDS),
    Place(
        "its part of the sentence that says an intent, in guardrails/language/canonical.py",
        sentence_says,
        _NO_WORDS,
    ),
    Place(
        "a property of `TransferSlots` in guardrails/rails/slots.py, and rails for its values in rails/checks.py",
        lambda option: hasattr(TransferSlots, option),
        _PROJECT,
    ),
    Place(
        "its way into what nodes carry out, in `execution_of` of guardrails/plan/planning.py",
        nodes_learn,
        {**_SCHEDULE, **_PROJECT},
    ),
    Place(
        "what it does to files, as a note of the plan card in guardrails/plan/card.py",
        card_says,
        {**_SCHEDULE, **_SAID, **_PROJECT},
    ),
    Place("a flag: a field of `Flags` in cli/flags.py, and in docs/cli.md", flag_has, {**_UNFLAGGED, **_RARE}),
    Place(
        "a slot with an origin in `SLOTS` of guardrails/intents/origins.py, and in a new form of policy/record.py",
        lambda option: option in SLOTS,
        {},
    ),
    Place(
        "a name of `SLOT_NAMES` in client/origins.py: what the card calls it", lambda option: option in SLOT_NAMES, {}
    ),
    Place("the form: `toIntent` and `fromIntent` in web/src/plan/intent.ts, and IntentForm.tsx", console_has, {}),
)


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_is_in_every_place_that_it_needs(option: str) -> None:
    missing = [place.do for place in PLACES if option not in place.without and not tried(place, option)]
    assert not missing, "\n- ".join((f"the option `{option}` still needs:", *missing))


def tried(place: Place, option: str) -> bool:
    try:
        return place.has(option)
    except (AttributeError, KeyError, TypeError, Refused):
        return False


def test_no_reason_stands_for_what_is_there_or_is_no_option() -> None:
    stale = [
        (place.do, option)
        for place in PLACES
        for option in place.without
        if option not in OPTIONS or tried(place, option)
    ]
    assert stale == []


def test_a_choice_that_the_api_offers_has_the_same_values_in_words_and_in_what_nodes_carry_out() -> None:
    assert get_args(m.Priority) == get_args(values.Priority)
    assert get_args(m.OnConflict) == get_args(values.OnConflict) == get_args(execution.OnConflict)
    assert get_args(m.Compare) == get_args(execution.Compare)
    assert get_args(m.Preserve) == get_args(values.Preserve)
    assert get_args(m.Origin) == tuple(OriginKind)
    assert set(get_args(m.Verify)) == {*get_args(values.Verify), *get_args(execution.Verify)}


def test_what_nodes_carry_out_is_named_alike_in_rust() -> None:
    rust = (ROOT / "engine/crates/headrace-core/src/ticket.rs").read_text()
    struct = rust[rust.index("pub struct Execution {") :]
    names = set(re.findall(r"^    pub (\w+):", struct[: struct.index("\n}")], re.MULTILINE))
    draft = execution_of(Asked(), route())
    kept = execution_of(Asked(action="move"), route()).keeping(30)
    assert names == {*draft.probing(1, 1, 1).to_body(), *kept.to_body()}
    assert names - set(draft.to_body()) == {"probe", "trash"}


def test_a_change_takes_what_the_option_takes() -> None:
    for option in OPTIONS:
        given = m.Changes.model_validate({option: SAMPLES[option]})
        assert getattr(given, option) == getattr(sample(option), option), option


def test_every_flag_of_a_transfer_is_in_the_guide() -> None:
    guide = (ROOT / "docs/cli.md").read_text()
    section = guide[guide.index("## Flags of a transfer") : guide.index("## For programs")]
    names = [option_flag(field.name, field.type) for field in fields(Flags)]
    assert [name for name in names if f"`{name}" not in section] == []


def option_flag(name: str, annotation: Any) -> str:  # noqa: ANN401 - an Annotated
    """Return a flag's name: typer takes the one that is given first, or makes one of the field's."""
    [declared] = annotation.__metadata__
    return declared.default if isinstance(declared.default, str) else "--" + name.replace("_", "-")


def test_every_slot_that_has_an_origin_is_a_field_of_a_request_and_known_to_policies() -> None:
    schema = schema_text()
    named = re.findall(r'"(\w+)"', schema[schema.index("entity Slot enum") : schema.index("];")])
    assert tuple(named) == SLOTS
    assert set(SLOTS) == {*m.TransferIntent.model_fields, "delete_source"} == set(SLOT_NAMES)
    kinds = schema[schema.index("type Origins") : schema.index("};", schema.index("type Origins"))]
    assert re.findall(r"(\w+): Set<Slot>", kinds) == list(OriginKind)
