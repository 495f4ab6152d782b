"""Policies: Cedar text that has been parsed, validated against the schema, and whose annotations are known.

A text either becomes a `PolicySet` or `PolicyProblems`; nothing in between can be asked for a decision.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import Final, Literal

import cedarpy

from headrace.guardrails.intents.text import shown
from headrace.guardrails.policy.decision import QOS_CLASS, Obligation, parse_obligations
from headrace.guardrails.policy.places import Places, attributes, named_in, sorted_places
from headrace.guardrails.policy.slices import Slices
from headrace.guardrails.seal.documents import digest

MAX_TEXT: Final = 200_000
MAX_RULES: Final = 1000
MAX_REASON: Final = 200
MAX_NESTING: Final = 48
"""Open brackets at one place of a text. Cedar's parser calls itself for each: several hundred end the process."""
MAX_PARTS: Final = 600
"""Operators, accesses and conditions of one rule; Cedar goes through a chain of them by calling itself, too."""
RESERVED_PREFIX: Final = "headrace-"
"""Rule ids that begin so are Headrace's own (many deletes, and decisions without a rule)."""

_DATA: Final = resources.files("headrace.guardrails") / "data"
_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_TOKEN: Final = re.compile(
    r"""//[^\n\r]*|"(?:[^"\\]|\\.)*+(?P<closed>"?)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>;)"""
    r"""|(?P<part>&&|\|\||[-+*.]|\b(?:if|when|unless)\b)"""
)
_KNOWN_ANNOTATIONS: Final = frozenset({"id", "reason", "obligation", "qos"})


@dataclass(frozen=True, slots=True)
class PolicyProblem:
    """One thing wrong with a policy text; `start` and `end` are code points of the rule's `@id`, where it has one."""

    message: str
    rule: str | None = None
    start: int | None = None
    end: int | None = None
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True)
class PolicyProblems:
    """Why a text is no policy; holds at least one error."""

    problems: tuple[PolicyProblem, ...]


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One rule, with what its annotations say."""

    id: str
    reason: str
    effect: Literal["permit", "forbid"]
    obligations: tuple[Obligation, ...]
    qos_class: str | None
    attributes: frozenset[str] = frozenset()
    """Facts and attributes that it looks at."""
    places: frozenset[str] = frozenset()
    """Paths that it may hold against `within`."""

    @property
    def asks(self) -> bool:
        """Whether it forbids only where its obligations are not met: by people, or by nodes that keep deletes."""
        return self.effect == "forbid" and bool(self.obligations)


@dataclass(frozen=True)
class PolicySet:
    """A checked policy. `version` is the SHA-256 of its text; `by_cedar_id` maps Cedar's own policy ids to rules."""

    text: str
    version: str
    by_cedar_id: Mapping[str, PolicyRule]
    slices: Slices = field(repr=False, compare=False)
    warnings: tuple[PolicyProblem, ...] = ()

    @property
    def rules(self) -> tuple[PolicyRule, ...]:
        """Its rules in the order of the text."""
        return tuple(self.by_cedar_id.values())

    @cached_property
    def places(self) -> Places:
        """Paths that rules may hold against `within`."""
        return sorted_places(frozenset[str]().union(*(rule.places for rule in self.rules)))

    @cached_property
    def attributes(self) -> frozenset[str]:
        """Facts and attributes that rules look at."""
        return frozenset[str]().union(*(rule.attributes for rule in self.rules))

    @property
    def reads_labels(self) -> bool:
        """Whether rules look at labels of places."""
        return "labels" in self.attributes

    def unknown_classes(self, known: Collection[str]) -> tuple[PolicyProblem, ...]:
        """Find the rules whose `@qos` names a class that is not one of these."""
        said = f"`@qos` names a class that there is not; there are {', '.join(sorted(known))}"
        wrong = (rule for rule in self.rules if rule.qos_class is not None and rule.qos_class not in known)
        return tuple(problem_at_rule(said, rule.id, self.text) for rule in wrong)

    @staticmethod
    def parse(text: str) -> "PolicySet | PolicyProblems":
        """Parse and check a policy text: size, syntax, schema, annotations. Examples are `check_policy`'s."""
        if len(text) > MAX_TEXT:
            return PolicyProblems((PolicyProblem(f"a policy has at most {MAX_TEXT:,} characters"),))
        too_deep = _too_deep(text)
        if too_deep is not None:
            return PolicyProblems((too_deep,))
        try:
            return PolicySet._checked(text)
        except RecursionError:
            return PolicyProblems((PolicyProblem("a rule is nested too deeply; split it into several rules"),))

    @staticmethod
    def _checked(text: str) -> "PolicySet | PolicyProblems":
        """Parse and check a text that is shallow enough for Cedar."""
        try:
            cedar = cedarpy.PolicySet.from_str(text)
            parsed = json.loads(cedarpy.policies_to_json_str(text))
        except ValueError as error:
            return PolicyProblems((PolicyProblem(f"the text is not Cedar: {error}"),))
        static: Mapping[str, Mapping[str, object]] = parsed["staticPolicies"]
        rules: dict[str, PolicyRule] = {}
        problems: list[PolicyProblem] = []
        if parsed["templates"]:
            problems.append(PolicyProblem("templates (`?principal`, `?resource`) are not supported"))
        if not 0 < len(static) <= MAX_RULES:
            problems.append(PolicyProblem(f"a policy has 1 to {MAX_RULES:,} rules; this one has {len(static):,}"))
        for cedar_id in sorted(static, key=_number):
            rule = _rule(static[cedar_id], problems, text)
            if any(rule.id == other.id for other in rules.values()):
                problems.append(problem_at_rule("this id is used by two rules", rule.id, text))
            rules[cedar_id] = rule
        for fault in cedarpy.validate_policies(text, schema()).errors:
            rule_id = rules[fault.policy_id].id if fault.policy_id in rules else None
            problems.append(problem_at_rule(fault.error, rule_id, text))
        if any(problem.severity == "error" for problem in problems):
            return PolicyProblems(tuple(problems))
        strict = {**parsed, "staticPolicies": {key: value for key, value in static.items() if not rules[key].asks}}
        try:
            without = cedarpy.PolicySet.from_json_str(json.dumps(strict))
        except ValueError:  # its reader has a bound of its own, lower than its parser's
            return PolicyProblems((PolicyProblem("a chain of operators is too long; split it into several rules"),))
        return PolicySet(
            text=text,
            version=digest(text.encode()),
            by_cedar_id=rules,
            slices=Slices(static, frozenset(key for key in static if rules[key].asks), (cedar, without)),
            warnings=tuple(problems),
        )


@cache
def schema() -> cedarpy.Schema:
    """Parse the schema of every policy, once."""
    return cedarpy.Schema.from_str(schema_text())


@cache
def schema_text() -> str:
    """Load the schema's text (Cedar schema syntax), for editors and documentation."""
    return (_DATA / "schema.cedarschema").read_text("utf-8")


@cache
def default_policy_text() -> str:
    """Load the policy a new site starts with."""
    return (_DATA / "default.cedar").read_text("utf-8")


@cache
def default_policy() -> PolicySet:
    """Parse the default policy, once."""
    policies = PolicySet.parse(default_policy_text())
    if isinstance(policies, PolicyProblems):
        raise TypeError(policies)  # the packaged text is wrong: a test holds that this can't be
    return policies


def _too_deep(text: str) -> PolicyProblem | None:
    """Find what would exhaust the stack of Cedar's parser, which ends the whole process: this looks before it does.

    One pass over the text, with Cedar's own notion of strings and comments; a string without an end is a problem, too.
    """
    depth = parts = 0
    for token in _TOKEN.finditer(text):
        if token["open"]:
            depth += 1
            parts += token["open"] == "["
        elif token["close"]:
            depth = max(0, depth - 1)
        elif token["end"]:
            parts = parts if depth else 0
        elif token["part"]:
            parts += 1
        elif token["closed"] == "":
            return PolicyProblem("this string has no end", None, token.start(), token.start() + 1)
        if depth > MAX_NESTING:
            return PolicyProblem(f"brackets are nested at most {MAX_NESTING} deep", None, token.start(), token.end())
        if parts > MAX_PARTS:
            message = f"a rule has at most {MAX_PARTS} operators and conditions; split it into several rules"
            return PolicyProblem(message, None, token.start(), token.end())
    return None


def _rule(source: Mapping[str, object], problems: list[PolicyProblem], text: str) -> PolicyRule:
    """Read one rule's annotations, adding what is wrong with them to `problems`."""
    found = source.get("annotations")
    annotations = {str(key): str(value or "") for key, value in found.items()} if isinstance(found, Mapping) else {}
    effect: Literal["permit", "forbid"] = "permit" if source["effect"] == "permit" else "forbid"
    rule_id = annotations.get("id", "")

    def wrong(message: str, severity: Literal["error", "warning"] = "error") -> None:
        problems.append(problem_at_rule(message, rule_id or None, text, severity))

    if not _ID.fullmatch(rule_id) or rule_id.startswith(RESERVED_PREFIX):
        wrong(
            f"every rule needs `@id(...)`: lower-case letters, digits and `-`, not beginning with `{RESERVED_PREFIX}`"
        )
    reason = annotations.get("reason", "")
    if not reason.strip() or shown(reason, MAX_REASON) != reason:
        wrong(f"every rule needs `@reason(...)`: 1 to {MAX_REASON} visible characters that say why")
    for name in sorted(set(annotations) - _KNOWN_ANNOTATIONS):
        wrong(f"the annotation `@{shown(name)}` is unknown; known are @id, @obligation, @qos and @reason")
    obligations = parse_obligations(annotations["obligation"]) if "obligation" in annotations else ()
    if obligations is None:
        wrong(
            "`@obligation` must be `confirmation`, `approval:GROUP_OR_ROLE:N` (N 1 to 9) or `trash:Nd` (N 1 to 366), "
            "several with `;` between"
        )
    qos_class = annotations.get("qos")
    if qos_class is not None and (not QOS_CLASS.fullmatch(qos_class) or effect == "forbid"):
        wrong(
            "`@qos` stands on rules that permit and names a class: `background`, `bulk`, `priority` or one of the site"
        )
    if effect == "permit" and not source.get("conditions") and _unscoped(source):
        wrong("this rule permits everything to everybody", "warning")
    return PolicyRule(
        rule_id, reason, effect, obligations or (), qos_class, attributes=attributes(source), places=named_in(source)
    )


def _unscoped(source: Mapping[str, object]) -> bool:
    return all(source.get(part) == {"op": "All"} for part in ("principal", "action", "resource"))


def problem_at_rule(
    message: str, rule_id: str | None, text: str, severity: Literal["error", "warning"] = "error"
) -> PolicyProblem:
    """Make a problem with the place of its rule's `@id` in the text."""
    place = re.search(rf'@id\(\s*"{re.escape(rule_id)}"\s*\)', text) if rule_id else None
    return PolicyProblem(message, rule_id, place and place.start(), place and place.end(), severity)


def _number(cedar_id: str) -> tuple[int, str]:
    """Sort `policy2` before `policy10`."""
    digits = cedar_id.removeprefix("policy")
    return (int(digits) if digits.isdecimal() else 0, cedar_id)
