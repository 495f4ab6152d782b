"""Examples in a policy's text: what it must say of made-up requests before it may be published.

An example is a comment line `// example OUTCOME {...}`; OUTCOME is `allowed`, `confirm`, `approve` or `denied`, and the
JSON object says how the request differs from a plain copy of one file by a requester (see docs/policy.md).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Final, get_args

from headrace.guardrails.errors import SealError
from headrace.guardrails.intents.limits import MAX_COUNT
from headrace.guardrails.intents.origins import SLOTS, OriginKind
from headrace.guardrails.intents.text import shown
from headrace.guardrails.policy.decide import redecide
from headrace.guardrails.policy.decision import Decision, Outcome, why
from headrace.guardrails.policy.facts import Caller, Facts, Moment, PolicyAction
from headrace.guardrails.policy.places import malformed
from headrace.guardrails.policy.policy_set import PolicyProblem, PolicyProblems, PolicySet, problem_at_rule
from headrace.guardrails.policy.record import filters_record, folder_record, record_of
from headrace.guardrails.rails.routes import ResolvedEndpoint
from headrace.guardrails.seal.documents import Json, JsonObject
from headrace.guardrails.seal.execution import Filters, nanoseconds

MAX_EXAMPLES: Final = 200
_EXAMPLE: Final = re.compile(r"^[ \t]*//[ \t]*example\b(?P<rest>.*)$", re.MULTILINE)
_FORM: Final = re.compile(rf"\s+({'|'.join(get_args(Outcome))})\s+(\{{.*\}})\s*")
_NOW: Final = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
_LOCATION: Final = re.compile(r"(?P<endpoint>[^:/]{1,120}):(?P<path>/.*)")
_PLACES: Final[Mapping[str, str]] = {"source": "source:/data/run", "destination": "destination:/data/run"}


class _UnreadableError(ValueError):
    """An example that no request could be; its text is shown to the policy's author."""

    def __init__(self, *, what: str) -> None:
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class ExampleRun:
    """One example of a text: the line, where it stands (code points), and what is wrong with it, if anything."""

    line: str
    start: int
    end: int
    failure: str | None


def check_policy(text: str) -> PolicySet | PolicyProblems:
    """Parse a policy text and run its examples: what must hold before it may be published."""
    policies = PolicySet.parse(text)
    if isinstance(policies, PolicyProblems):
        return policies
    if sum(1 for _ in _EXAMPLE.finditer(text)) > MAX_EXAMPLES:
        return PolicyProblems((PolicyProblem(f"a policy has at most {MAX_EXAMPLES} examples"),))
    problems = [*_never_within(policies)]
    problems += [PolicyProblem(run.failure, None, run.start, run.end) for run in run_examples(policies) if run.failure]
    return PolicyProblems((*policies.warnings, *problems)) if problems else policies


def run_examples(policies: PolicySet) -> tuple[ExampleRun, ...]:
    """Run the examples of a policy's text, up to 200 of them."""
    matches = islice(_EXAMPLE.finditer(policies.text), MAX_EXAMPLES)
    return tuple(
        ExampleRun(match[0].strip(), match.start(), match.end(), _failure(policies, match["rest"])) for match in matches
    )


def decided_example(policies: PolicySet, fields: dict[str, Json]) -> Decision:
    """Decide the request of an example; `fields` are used up. Raises `ValueError` for what no request has."""
    return redecide(policies, _record(fields))


def deciding_rules(policies: PolicySet) -> frozenset[str]:
    """Collect the rules that decide an example of the text that says `denied`."""
    found: set[str] = set()
    for match in islice(_EXAMPLE.finditer(policies.text), MAX_EXAMPLES):
        form = _FORM.fullmatch(match["rest"])
        if form and form[1] == "denied" and _failure(policies, match["rest"]) is None:
            found |= {rule.id for rule in decided_example(policies, json.loads(form[2])).rules}
    return frozenset(found)


def _never_within(policies: PolicySet) -> Iterator[PolicyProblem]:
    """Find paths that no folder lies within: a rule about them protects nothing."""
    for rule in policies.rules:
        for path, instead in malformed(rule.places):
            message = (
                f"no folder lies within `{shown(path)}`: write `{shown(instead)}`, as listings and records write it "
                "(no `/` at its end, no `//`, `.` or `..`, no name of a trash, and `%25` for `%`)"
            )
            yield problem_at_rule(message, rule.id, policies.text)


def _failure(policies: PolicySet, example: str) -> str | None:
    """Run one example; what is wrong with it, or `None`."""
    form = _FORM.fullmatch(example)
    if not form:
        return f"an example is written `// example OUTCOME {{...}}` with one of {', '.join(get_args(Outcome))}"
    try:
        fields: object = json.loads(form[2])
        decision = redecide(policies, _record(fields if isinstance(fields, dict) else {}))
    except (SealError, ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError) as error:
        return f"this example can't be read: {shown(str(error))}"
    if decision.outcome != form[1]:
        return f"this example must be {form[1]}, and is not. {why(decision)}"
    return None


def _record(fields: dict[str, Json]) -> str:
    """Make the record of an example; raises `_UnreadableError` for what no request has."""
    action = _action(fields.pop("action", "copy"))
    caller = Caller(
        person=_text(fields.pop("person", "pn_example")),
        roles=frozenset(_texts(fields.pop("roles", ["requester"]))),
        groups=frozenset(_texts(fields.pop("groups", []))),
        agent=_text(fields.pop("agent")) if "agent" in fields else None,
    )
    now = datetime.fromisoformat(_text(fields.pop("now", _NOW.isoformat())))
    moment = Moment(now=now, zone=_text(fields.pop("zone", "UTC")))
    context: dict[str, Json] = dict(
        moment.context()
        if action in {"browse", "plan"}
        else Facts(moment=moment, files=1, bytes=1, max_files=1, max_bytes=1).context()
    )
    _override(context, fields.pop("facts", {}))
    ends = {end: _folder(end, fields) for end in _PLACES}
    globs = Filters(include=tuple(_texts(fields.pop("include", []))), exclude=tuple(_texts(fields.pop("exclude", []))))
    filters = globs if action == "browse" else _limited(globs, fields)
    if fields:
        raise _UnreadableError(what=f"unknown: {', '.join(sorted(fields))}")
    asked: JsonObject = {**ends, **filters_record(filters)}
    if action == "browse":
        asked = {**ends["source"], "below": True, "exclude": sorted(filters.exclude)}
    return record_of(action, caller, asked, context)


def _limited(filters: Filters, fields: dict[str, Json]) -> Filters:
    """Take the filters of size and time, too."""
    return replace(
        filters,
        min_size=_size("min_size_bytes", fields),
        max_size=_size("max_size_bytes", fields),
        modified_after_ns=_time("modified_after", fields),
        modified_before_ns=_time("modified_before", fields),
    )


def _size(name: str, fields: dict[str, Json]) -> int | None:
    if name not in fields:
        return None
    size = fields.pop(name)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 < size <= MAX_COUNT:
        raise _UnreadableError(what=f"`{name}` is a whole number of bytes, from 1 to {MAX_COUNT}")
    return size


def _time(name: str, fields: dict[str, Json]) -> int | None:
    if name not in fields:
        return None
    moment = datetime.fromisoformat(_text(fields.pop(name)))
    if moment.tzinfo is None:
        raise _UnreadableError(what=f"`{name}` has no zone: write one, such as `Z` for UTC or `+01:00`")
    return nanoseconds(moment)


def _override(context: dict[str, Json], facts: Json) -> None:
    """Put an example's facts over the default ones; ceilings follow the counts unless they are given."""
    if not isinstance(facts, Mapping):
        raise _UnreadableError(what="`facts` is an object")
    for name, value in facts.items():
        if name == "origins" and name in context:
            context[name] = _origins(context[name], value)
            continue
        if name not in context or type(value) is not type(context[name]):
            raise _UnreadableError(what=f"the fact `{name}` is unknown or of another type")
        context[name] = value
        if name in {"files", "bytes"} and f"max_{name}" not in facts:
            context[f"max_{name}"] = value


def _origins(known: Json, given: Json) -> Json:
    """Put the origins of some slots over those of a request of which nothing is known."""
    kinds = {kind.value for kind in OriginKind}
    if not isinstance(known, Mapping) or not isinstance(given, Mapping):
        raise _UnreadableError(what="`origins` is an object: slot to origin")
    for slot, kind in given.items():
        if slot not in SLOTS or kind not in kinds:
            raise _UnreadableError(what=f"`origins` gives a slot of the schema one of {', '.join(sorted(kinds))}")
    return {**known, **given}


def _folder(end: str, fields: dict[str, Json]) -> JsonObject:
    match = _LOCATION.fullmatch(_text(fields.pop(end, _PLACES[end])))
    if not match:
        raise _UnreadableError(what=f"`{end}` is written `endpoint:/path`")
    labels = fields.pop(f"{end}_labels", {})
    if not isinstance(labels, Mapping):
        raise _UnreadableError(what=f"`{end}_labels` is an object of texts")
    folder = ResolvedEndpoint(
        endpoint=match["endpoint"],
        node="",
        root="",
        path=tuple(part for part in match["path"].split("/") if part),
        kind=_text(fields.pop(f"{end}_kind", "posix")),
        labels={name: _text(value) for name, value in labels.items()},
        folder_labels=_folder_labels(end, fields.pop(f"{end}_folder_labels", {})),
    )
    return folder_record(folder)


def _folder_labels(end: str, given: Json) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for path, labels in given.items() if isinstance(given, Mapping) else [("", None)]:
        if not path.startswith("/") or not isinstance(labels, Mapping):
            raise _UnreadableError(what=f"`{end}_folder_labels` is an object: path (`/raw/phi`) to an object of texts")
        found[path] = {name: _text(value) for name, value in labels.items()}
    return found


def _action(value: Json) -> PolicyAction:
    for action in get_args(PolicyAction):
        if value == action:
            known: PolicyAction = action
            return known
    raise _UnreadableError(what=f"the action is one of {', '.join(get_args(PolicyAction))}")


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise _UnreadableError(what=f"`{value}` is not a text")
    return value


def _texts(value: Json) -> list[str]:
    if not isinstance(value, list):
        raise _UnreadableError(what=f"`{value}` is not a list of texts")
    return [_text(item) for item in value]
