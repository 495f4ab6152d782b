"""The policy, its versions, and the audit chain."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from headrace.client.models.base import Count, Model, Reason


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


class PolicyCheck(Model):
    """Whether a policy text could be published."""

    valid: bool
    problems: list[PolicyProblem] = []
    rules: list[Rule] = []


class PolicyVersion(Model):
    """One version of the site's policy."""

    version: str
    state: Literal["proposed", "active", "retired"]
    author: str
    author_name: str | None = None
    publisher: str | None = None
    publisher_name: str | None = None
    note: str = ""
    created: datetime
    published: datetime | None = None
    text: str


class AuditVerdict(Model):
    """Result of checking the chain."""

    intact: bool
    events: Count
    head: str
    broken_at: Count | None = None
    checked_before: Count = Field(default=0, description="so many first events were checked earlier, and not again now")
    checked_at: datetime | None = Field(default=None, description="when those were checked")
    detail: str = ""
