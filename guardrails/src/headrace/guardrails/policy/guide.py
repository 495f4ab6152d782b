"""Rules for what sites need most often, made from a few values: Cedar text with examples that hold.

What somebody writes is checked and quoted here; it never is part of the text as it stands.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final, Literal

from headrace.guardrails.errors import Refused
from headrace.guardrails.intents.text import endpoint_name_fault, path_text, shown
from headrace.guardrails.policy.decision import MAX_KEEP_DAYS
from headrace.guardrails.policy.examples import run_examples
from headrace.guardrails.policy.policy_set import PolicyProblems, PolicySet, default_policy_text
from headrace.guardrails.rails.checks import read_path
from headrace.guardrails.seal.documents import Json

ValueKind = Literal["place", "group", "approvers", "label", "time", "tebibytes", "gigabytes", "days"]
MAX_VALUE: Final = 1000
"""Characters of a value."""
_TIB, _GB = 1 << 40, 10**9
_MOST: Final[Mapping[str, int]] = {"tebibytes": 8_000_000, "gigabytes": 9_000_000_000, "days": MAX_KEEP_DAYS}
_MOST_NAME: Final = 120
_HALVES: Final = 2
_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@ /-]*")
"""Half of a label, as endpoints take them (`api/sites/endpoints.py`)."""
_ANY: Final = '[Action::"copy", Action::"sync", Action::"move"]'
_ENDS: Final = ("source", "destination")
_APPROVERS: Final = re.compile(r"[\w.@-]{1,64}")
_TIME: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_DAY: Final = "2026-11-25"


class GuideError(ValueError):
    """A need or value that makes no rule; `name` is the value's."""

    def __init__(self, message: str, name: str) -> None:
        """Say what is wrong and what to write."""
        super().__init__(message)
        self.name = name


@dataclass(frozen=True, slots=True)
class Asked:
    """A value that a need asks for."""

    name: str
    kind: ValueKind
    question: str
    example: str


@dataclass(frozen=True, slots=True)
class Need:
    """Something that sites need: what it is called, says, and asks for."""

    name: str
    title: str
    asks: tuple[Asked, ...]
    make: "Callable[[_Values], _Made]"


@dataclass(frozen=True, slots=True)
class GuidedRules:
    """Text to add to a policy, the ids of its rules, and which examples of the policy will no longer hold."""

    text: str
    rules: tuple[str, ...]
    contradicts: tuple[str, ...]
    endpoints: tuple[str, ...] = ()
    """Endpoints that the rules name."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A checked place."""

    endpoint: str
    components: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.endpoint}:{path_text(self.components)}"

    def below(self, name: str) -> str:
        return f"{self.endpoint}:{path_text((*self.components, name))}"

    @property
    def elsewhere(self) -> str:
        """A place that has nothing to do with it."""
        return f"{'elsewhere' if self.endpoint != 'elsewhere' else 'somewhere'}:/data"

    def holds(self, end: str) -> str:
        """Write the condition that an end lies in it."""
        within = f"{end}.within.contains({quoted(path_text(self.components))})"
        here = f"{end} in Endpoint::{quoted(self.endpoint)}"
        return f"{here} && {within}" if self.components else here


class _Values:
    """What was given, checked by kind."""

    def __init__(self, need: Need, given: Mapping[str, str]) -> None:
        known = {one.name: one for one in need.asks}
        for name in sorted({*given} - {*known}):
            message = f"`{need.name}` asks for no `{shown(name, 60)}`"
            raise GuideError(message, name)
        self.texts = {name: _text(one, given.get(name, "")) for name, one in known.items()}
        self.places = {one.name: _place(one, self.texts) for one in need.asks if one.kind == "place"}

    def __getitem__(self, name: str) -> str:
        return self.texts[name]


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule that forbids, or asks for what `obligation` says; `only` is what it does not concern."""

    reason: str
    action: str
    when: str
    only: str = ""
    obligation: str = ""


@dataclass(frozen=True, slots=True)
class _Made:
    """Rules, and examples as outcome and request."""

    rules: tuple[_Rule, ...]
    examples: tuple[tuple[str, dict[str, Json]], ...]


def quoted(text: str) -> str:
    """Write a text as Cedar's string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def guided_rules(need: str, values: Mapping[str, str], text: str | None = None) -> GuidedRules:
    """Make the rules of a need, with examples that hold beside `text` (the default policy); raises `GuideError`.

    Their ids are none that the text has.
    """
    wanted = next((one for one in NEEDS if one.name == need), None)
    if wanted is None:
        names = [one.name for one in NEEDS]
        near = get_close_matches(need[:60], names, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(names)}"
        message = f"there is no need called `{shown(need, 60)}`; {hint}"
        raise GuideError(message, "need")
    before = PolicySet.parse(default_policy_text() if text is None else text)
    if isinstance(before, PolicyProblems):
        message = f"the text to add to can't be read: {before.problems[0].message}"
        raise GuideError(message, "text")
    checked = _Values(wanted, values)
    made = wanted.make(checked)
    ids = _ids(wanted.name, len(made.rules), {rule.id for rule in before.rules})
    rules = "\n".join(_written(name, rule) for name, rule in zip(ids, made.rules, strict=True))
    lines = [f"// example {outcome} {json.dumps(asked, ensure_ascii=False)}\n" for outcome, asked in made.examples]
    added = f"{rules}\n{''.join(lines)}"
    after = PolicySet.parse(f"{before.text}\n{added}")
    if isinstance(after, PolicyProblems):
        message = f"the text has no room for this rule: {after.problems[0].message}"
        raise GuideError(message, "text")
    # Who may do anything at all is the text's to say: an example of what stays allowed holds there or is left out.
    holding = {run.line for run in run_examples(replace(after, text=added)) if run.failure is None}
    kept = [line for line in lines if line.strip() in holding]
    failing = [run.line for run in run_examples(replace(after, text=before.text)) if run.failure is not None]
    held = run_examples(replace(before, text="\n".join(failing)))
    contradicts = tuple(run.line for run in held if run.failure is None)
    endpoints = tuple(sorted({place.endpoint for place in checked.places.values()}))
    return GuidedRules(f"{rules}\n{''.join(kept)}", ids, contradicts, endpoints)


def _ids(name: str, count: int, taken: set[str]) -> tuple[str, ...]:
    names: list[str] = []
    number = 1
    while len(names) < count:
        one = name if number == 1 else f"{name}-{number}"
        number += 1
        if one not in taken:
            names.append(one)
    return tuple(names)


def _written(name: str, rule: _Rule) -> str:
    obligation = f"@obligation({quoted(rule.obligation)})\n" if rule.obligation else ""
    scope = f"== {rule.action}" if rule.action.startswith("Action") else f"in {rule.action}"
    only = f"\nunless {{ {rule.only} }}" if rule.only else ""
    when = f"\nwhen {{ {rule.when} }}" if rule.when else ""
    head = f"@id({quoted(name)})\n@reason({quoted(rule.reason)})\n{obligation}"
    return f"{head}forbid (principal, action {scope}, resource){when}{only};\n"


def _text(asked: Asked, given: str) -> str:
    """Check a value that is no place; every kind is one line without unseen characters."""
    text = given.strip()
    if not text:
        message = f"`{asked.name}` is missing: {asked.question}, such as `{asked.example}`"
        raise GuideError(message, asked.name)
    if len(text) > MAX_VALUE or shown(text, MAX_VALUE) != text:
        message = f"`{asked.name}` is longer than {MAX_VALUE} characters or holds unseen ones"
        raise GuideError(message, asked.name)
    fits = True
    match asked.kind:
        case "approvers":
            fits = _APPROVERS.fullmatch(text) is not None
        case "label":
            halves = [half.strip() for half in text.split("=", 1)]
            text, fits = "=".join(halves), len(halves) == _HALVES and all(map(_LABEL.fullmatch, halves))
        case "time":
            fits = _TIME.fullmatch(text) is not None
        case "tebibytes" | "gigabytes" | "days":
            fits = text.isascii() and text.isdecimal() and 0 < int(text) <= _MOST[asked.kind]
        case "group":
            fits = len(text) <= _MOST_NAME
        case "place":
            pass
    if not fits:
        message = f"`{shown(text, 60)}` can't be `{asked.name}`: {asked.question}, such as `{asked.example}`"
        raise GuideError(message, asked.name)
    return text


def _place(asked: Asked, texts: Mapping[str, str]) -> _Place:
    endpoint, colon, path = texts[asked.name].partition(":")
    fault = endpoint_name_fault(endpoint) if endpoint else "it has no name"
    if not colon or fault or "/" in endpoint or len(endpoint) > _MOST_NAME:
        message = f"`{shown(texts[asked.name], 60)}` is not a place; write `endpoint:/path`, such as `{asked.example}`"
        raise GuideError(message, asked.name)
    try:
        return _Place(endpoint, read_path(path or "/"))
    except Refused as error:
        raise GuideError(error.refusals[0].message, asked.name) from error


def _no_writes(values: _Values) -> _Made:
    place = values.places["place"]
    reason = f"nothing is written to {_short(place.text)}"
    return _Made(
        (
            _Rule(reason, _ANY, place.holds("resource.destination")),
            # A move deletes what it has copied.
            _Rule(reason, 'Action::"move"', place.holds("resource.source")),
        ),
        (
            ("denied", {"destination": place.below("new")}),
            ("denied", {"action": "move", "source": place.below("old")}),
            ("denied", {"destination": f"{place.endpoint}:{path_text(place.components[:-1])}"}),
            ("allowed", {"destination": place.elsewhere}),
        ),
    )


def _group_writes(values: _Values) -> _Made:
    place, group = values.places["place"], values["group"]
    reason = f"only {_short(group)} writes to {_short(place.text)}"
    only = f"principal in Group::{quoted(group)}"
    asked: dict[str, Json] = {"destination": place.below("new")}
    return _Made(
        (
            _Rule(reason, _ANY, place.holds("resource.destination"), only),
            # A move deletes what it has copied.
            _Rule(reason, 'Action::"move"', place.holds("resource.source"), only),
        ),
        (
            ("denied", asked),
            ("allowed", {**asked, "groups": [group]}),
            ("denied", {"action": "move", "source": place.below("old")}),
            ("confirm", {"action": "move", "source": place.below("old"), "groups": [group]}),
        ),
    )


def _group_reads(values: _Values) -> _Made:
    place, group = values.places["place"], values["group"]
    reason, only = f"only {_short(group)} reads {_short(place.text)}", f"principal in Group::{quoted(group)}"
    asked: dict[str, Json] = {"source": place.below("run")}
    return _Made(
        (
            _Rule(reason, 'Action::"browse"', place.holds("resource"), only),
            _Rule(reason, _ANY, place.holds("resource.source"), only),
        ),
        (
            ("denied", {"action": "browse", **asked}),
            ("denied", asked),
            ("allowed", {"action": "browse", **asked, "groups": [group]}),
            ("allowed", {**asked, "groups": [group]}),
        ),
    )


def _deletes(values: _Values) -> _Made:
    when = "context.deletes > 0 || context.moved_files > 0"
    return _Made(
        (_Rule("deletes need an approval", _ANY, when, obligation=_approval(values)),),
        (
            ("approve", {"action": "sync", "facts": {"deletes": 1}}),
            ("approve", {"action": "move", "facts": {"moved_files": 1}}),
            ("allowed", {"action": "sync"}),
        ),
    )


def _kept(values: _Values) -> _Made:
    place, days = values.places["place"], str(int(values["days"]))
    reason = f"what is deleted at {_short(place.text)} is kept for {days} {'day' if days == '1' else 'days'}"
    keeps = f"trash:{days}d"
    return _Made(
        (
            _Rule(reason, 'Action::"sync"', place.holds("resource.destination"), obligation=keeps),
            # A move deletes what it has copied.
            _Rule(reason, 'Action::"move"', place.holds("resource.source"), obligation=keeps),
        ),
        (
            ("allowed", {"action": "sync", "destination": place.below("run")}),
            ("confirm", {"action": "move", "source": place.below("run")}),
        ),
    )


def _moves(values: _Values) -> _Made:
    place = values.places["place"]
    reason = f"moves off {_short(place.text)} need an approval"
    rule = _Rule(reason, 'Action::"move"', place.holds("resource.source"), obligation=_approval(values))
    return _Made(
        (rule,),
        (
            ("approve", {"action": "move", "source": place.below("run")}),
            ("confirm", {"action": "move", "source": place.elsewhere}),
            ("allowed", {"action": "copy", "source": place.below("run")}),
        ),
    )


def _assistants_copy(_values: _Values) -> _Made:
    return _Made(
        (_Rule("assistants only copy", '[Action::"sync", Action::"move"]', "principal has agent"),),
        (
            ("denied", {"action": "sync", "agent": "assistant"}),
            ("denied", {"action": "move", "agent": "assistant"}),
            ("allowed", {"action": "copy", "agent": "assistant"}),
            ("allowed", {"action": "sync"}),
        ),
    )


def _assistants_not(values: _Values) -> _Made:
    place = values.places["place"]
    reason = f"no assistant works at {_short(place.text)}"
    rules = [_Rule(reason, 'Action::"browse"', f"principal has agent && {place.holds('resource')}")]
    rules += [
        _Rule(reason, _ANY, f"principal has agent && {place.holds(f'resource.{end}')}")
        for end in ("source", "destination")
    ]
    there = place.below("run")
    return _Made(
        tuple(rules),
        (
            ("denied", {"action": "browse", "source": there, "agent": "assistant"}),
            ("denied", {"source": there, "agent": "assistant"}),
            ("denied", {"destination": there, "agent": "assistant"}),
            ("allowed", {"source": there}),
            ("allowed", {"source": place.elsewhere, "agent": "assistant"}),
        ),
    )


def _hours(values: _Values) -> _Made:
    begins, ends = _minute(values["from"]), _minute(values["until"])
    if begins == ends:
        message = "`until` is another time than `from`; without the rule, transfers run at all hours"
        raise GuideError(message, "until")
    inside = "&&" if begins < ends else "||"
    only = f"context.minute >= {begins} {inside} context.minute < {ends}"
    return _Made(
        (_Rule(f"transfers run from {values['from']} to {values['until']}", _ANY, "", only),),
        (
            ("allowed", {"now": f"{_DAY}T{values['from']}:00Z"}),
            ("denied", {"now": f"{_DAY}T{values['until']}:00Z"}),
        ),
    )


def _large(values: _Values) -> _Made:
    most = int(values["tebibytes"]) * _TIB
    reason = f"more than {values['tebibytes']} TiB need an approval"
    return _Made(
        (_Rule(reason, _ANY, f"context.bytes > {most}", obligation=_approval(values)),),
        (("approve", {"facts": _of_bytes(most + 1)}), ("allowed", {"facts": _of_bytes(most)})),
    )


def _of_bytes(count: int) -> dict[str, Json]:
    """Say that so many bytes are asked for, which no budget is in the way of."""
    return {"bytes": count, "person_budget_bytes": count, "plan_budget_bytes": count}


def _labelled(values: _Values) -> _Made:
    label, group = values["label"], values["group"]
    name, _, value = label.partition("=")
    reason, only = f"{_short(label)} is for {_short(group)}", f"principal in Group::{quoted(group)}"
    asked: dict[str, Json] = {"source_labels": {name: value}}
    rules = [_Rule(reason, 'Action::"browse"', f"resource.labels.contains({quoted(label)})", only)]
    rules += [
        _Rule(reason, _ANY, f"resource.{end}.labels.contains({quoted(label)})", only)
        for end in ("source", "destination")
    ]
    below: dict[str, Json] = {"source": "somewhere:/data", "source_folder_labels": {"/data/run": {name: value}}}
    return _Made(
        tuple(rules),
        (
            ("denied", {"action": "browse", **asked}),
            ("denied", asked),
            ("denied", below),
            ("denied", {"destination_labels": {name: value}}),
            ("allowed", {**asked, "groups": [group]}),
            ("allowed", {**below, "groups": [group]}),
        ),
    )


def _largest(values: _Values) -> _Made:
    most = int(values["gigabytes"]) * _GB
    reason = f"no file has more than {values['gigabytes']} GB"
    return _Made(
        (_Rule(reason, _ANY, f"context.largest_file_bytes > {most}"),),
        (
            ("denied", {"facts": {"largest_file_bytes": most + 1}}),
            ("allowed", {"facts": {"largest_file_bytes": most}}),
        ),
    )


def _overwrites(_values: _Values) -> _Made:
    replaced: dict[str, Json] = {"overwrites": 1}
    when = 'context.overwrites > 0 && context.credential != "session"'
    return _Made(
        (_Rule("only a person in their own session overwrites files", _ANY, when),),
        (
            ("denied", {"facts": {**replaced, "credential": "token"}}),
            ("denied", {"agent": "assistant", "facts": {**replaced, "credential": "assistant-token"}}),
            ("confirm", {"facts": {**replaced, "credential": "session", "session": True}}),
            ("allowed", {"facts": {"credential": "token"}}),
        ),
    )


def _approval(values: _Values) -> str:
    return f"approval:{values['approvers']}:1"


def _minute(time: str) -> int:
    hours, minutes = time.split(":")
    return int(hours) * 60 + int(minutes)


def _short(text: str) -> str:
    return shown(text, 60)


_PLACE: Final = Asked("place", "place", "a place as `endpoint:/path`", "krios1:/raw")
_GROUP: Final = Asked("group", "group", "a group of people", "em-lab")
_BY: Final = Asked("approvers", "approvers", "the role or group of whoever approves", "approver")

NEEDS: Final[Sequence[Need]] = (
    Need("no-writes", "Nobody writes to a place", (_PLACE,), _no_writes),
    Need("group-writes", "Only a group writes to a place", (_PLACE, _GROUP), _group_writes),
    Need("group-reads", "Only a group looks into a place and takes data from it", (_PLACE, _GROUP), _group_reads),
    Need("deletes-approved", "Deletes need an approval", (_BY,), _deletes),
    Need(
        "keep-deletes",
        "What is deleted at a place goes to the trash for some days",
        (_PLACE, Asked("days", "days", f"a whole number of days, at most {MAX_KEEP_DAYS}", "30")),
        _kept,
    ),
    Need("moves-approved", "Moves off a place need an approval", (_PLACE, _BY), _moves),
    Need("assistants-copy", "Assistants only copy", (), _assistants_copy),
    Need("assistants-not-at", "No assistant works at a place", (_PLACE,), _assistants_not),
    Need(
        "only-in-hours",
        "Transfers run only in some hours, in the site's zone",
        (
            Asked("from", "time", "when they may begin, as HH:MM", "20:00"),
            Asked("until", "time", "when they stop, as HH:MM", "06:00"),
        ),
        _hours,
    ),
    Need(
        "large-approved",
        "More than some TiB need an approval",
        (Asked("tebibytes", "tebibytes", "a whole number of TiB", "5"), _BY),
        _large,
    ),
    Need(
        "label-for-group",
        "Places with a label are for a group alone",
        (Asked("label", "label", "a label as NAME=VALUE", "classification=phi"), _GROUP),
        _labelled,
    ),
    Need(
        "largest-file",
        "No file is larger than some GB",
        (Asked("gigabytes", "gigabytes", "a whole number of GB", "500"),),
        _largest,
    ),
    Need("overwrites-by-person", "Only a person in their own session overwrites files", (), _overwrites),
)
"""What the guide knows, in the order in which it is shown."""
