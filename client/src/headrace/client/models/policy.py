"""The policy, its versions, and the audit chain."""

from datetime import datetime
from functools import partial
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from headrace.client.models.base import MAX_UNKNOWN_FIELDS, Count, Location, Model, Name, Reason, of_at_most

Outcome = Literal["allowed", "confirm", "approve", "denied"]


class Rule(Model):
    """A policy rule that took part in a decision."""

    id: str
    reason: str


class PolicyText(Model):
    """Cedar text and the examples that must hold before it may be published."""

    text: Annotated[str, StringConstraints(max_length=200_000)]
    note: Reason = ""


class PolicyProblem(Model):
    """One thing wrong with a policy text."""

    message: str
    rule: str | None = None
    start: Count | None = None
    end: Count | None = None
    severity: Literal["error", "warning"] = "error"


class PolicyExample(Model):
    """One example of a policy text, and what is wrong with it; nothing when it holds."""

    line: str
    failure: str | None = None


class PolicySuggestion(Model):
    """A rule about places that no example shows to hold, and example lines that would; none if none was found."""

    rule: str
    lines: list[str] = []


class PolicyCheck(Model):
    """Whether a policy text could be published."""

    valid: bool
    problems: list[PolicyProblem] = []
    rules: list[Rule] = []
    examples: list[PolicyExample] = Field(
        default=[], description="those of the text, each run; none if it can't be read"
    )
    suggested: list[PolicySuggestion] = Field(default=[], description="for rules about places that no example shows")


class AskedValue(Model):
    """A value that a need asks for."""

    name: Name
    kind: Literal["place", "group", "approvers", "label", "time", "tebibytes", "gigabytes", "days"]
    question: str
    example: str


class PolicyNeed(Model):
    """Something that sites need, for which rules can be made from a few values."""

    name: Name
    title: str
    asks: list[AskedValue] = []


MAX_VALUE: Final = 5000
"""Characters of one value of a need, such as a list of places."""


_MAX_VALUES: Final = 16


class GuidedRequest(Model):
    """The values of a need, and the text that the rules are to be added to (default: the active policy)."""

    need: Name
    values: Annotated[
        dict[Name, Annotated[str, StringConstraints(max_length=MAX_VALUE)]],
        Field(max_length=_MAX_VALUES),
        BeforeValidator(partial(of_at_most, _MAX_VALUES + MAX_UNKNOWN_FIELDS)),
    ] = {}
    text: Annotated[str, StringConstraints(max_length=200_000)] | None = None


class GuidedRules(Model):
    """Cedar text to add to a policy: rules, with examples that hold beside the text that they were made for."""

    text: str
    rules: list[str]
    contradicts: list[str] = Field(
        default=[], description="examples of the text that hold no longer with these rules: change or remove them"
    )
    warnings: list[str] = Field(default=[], description="what in these rules concerns nothing that there is")


class PolicyFlip(Model):
    """A stored decision that another policy would change."""

    plan: str
    requester_name: str | None = None
    sentence: str = Field(default="", description="what was asked; empty for assistants")
    created: datetime
    was: Outcome
    now: Outcome
    only_listed: bool = Field(
        default=False, description="whether `now` says only that its places may be listed; the transfer was not decided"
    )
    why: str


class PolicySimulation(Model):
    """What a policy text would have said of the newest plans."""

    replayed: Count
    flipped: Count
    only_listed: Count = Field(
        default=0, description="those of them that may now be listed; of the transfer itself nothing was decided"
    )
    flips: list[PolicyFlip] = Field(default=[], description="the newest 200 of them")


class WhoMayRequest(Model):
    """Who may do this? For `browse` a source alone; otherwise an end that is left out stands for any endpoint."""

    action: Literal["browse", "copy", "sync", "move"] = "copy"
    source: Location | None = None
    destination: Location | None = None


class WhoMay(Model):
    """What policy would say to one person of one small file, nothing overwritten, without an assistant."""

    person: str
    name: str
    outcome: Outcome
    rules: list[Rule] = []


class PolicyVersion(Model):
    """One version of the site's policy."""

    version: str
    state: Literal["proposed", "active", "retired", "withdrawn"]
    author: str
    author_name: str | None = None
    publisher: str | None = None
    publisher_name: str | None = None
    note: str = ""
    created: datetime
    published: datetime | None = None
    text: str
    against: str = Field(
        default="",
        description="why nobody may publish a proposal as it is, and what to do; empty: a second person may",
    )


class AuditVerdict(Model):
    """Result of checking the chain."""

    intact: bool
    events: Count
    head: str
    broken_at: Count | None = None
    checked_before: Count = Field(default=0, description="so many first events were checked earlier, and not again now")
    checked_at: datetime | None = Field(default=None, description="when those were checked")
    detail: str = ""
