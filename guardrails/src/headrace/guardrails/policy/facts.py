"""What a decision is made from: who asks, where, and the facts that the service computed. Never anybody's claim."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Self
from zoneinfo import ZoneInfo

from headrace.guardrails.intents.origins import Origins, kinds_of
from headrace.guardrails.seal.documents import JsonObject, utc_text
from headrace.guardrails.seal.execution import Execution, OnConflict, SurveyCounts

PolicyAction = Literal["browse", "plan", "copy", "sync", "move"]
Credential = Literal["session", "token", "service-token", "assistant-token"]

TIB: Final = 1 << 40
DEFAULT_PERSON_BUDGET_BYTES: Final = 10 * TIB
DEFAULT_AGENT_BUDGET_BYTES: Final = 1 * TIB
DEFAULT_PLAN_BUDGET_BYTES: Final = 10 * TIB
DEFAULT_PLAN_BUDGET_FILES: Final = 10_000_000


MOMENT_FACTS: Final = ("now", "start", "weekday", "minute", "door", "session", "credential", "factors")
"""Facts that every action has: those of a `Moment`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: a person's id, role names and groups, and the agent acting for the person, if any."""

    person: str
    roles: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When and by which door; `zone` is the IANA name of the site's zone.

    `session` says that a person's own session asks, not a token; `factors` what was shown when it began; `credential`
    what the call came with, of which a session is one. `start` is when a transfer is to start, if later.
    """

    now: datetime
    zone: str = "UTC"
    door: Literal["api", "cli", "console", "mcp"] = "api"
    session: bool = False
    credential: Credential = "token"
    factors: frozenset[str] = frozenset()
    start: datetime | None = None

    @property
    def runs(self) -> datetime:
        """When it is carried out: weekday and minute are those of this moment."""
        return max(self.now, self.start or self.now)

    def context(self) -> JsonObject:
        """Make the part of the context that every action has."""
        local = self.runs.astimezone(ZoneInfo(self.zone))
        return {
            "now": utc_text(self.now),
            "start": utc_text(self.runs),
            "weekday": local.isoweekday(),
            "minute": local.hour * 60 + local.minute,
            "door": self.door,
            "session": self.session,
            "credential": self.credential,
            "factors": sorted(self.factors),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """Bytes in the site's day (this plan not included) and their limits; limits of one plan."""

    person_used_bytes: int = 0
    person_budget_bytes: int = DEFAULT_PERSON_BUDGET_BYTES
    agent_used_bytes: int = 0
    agent_budget_bytes: int = DEFAULT_AGENT_BUDGET_BYTES
    plan_budget_bytes: int = DEFAULT_PLAN_BUDGET_BYTES
    plan_budget_files: int = DEFAULT_PLAN_BUDGET_FILES
    running_transfers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The context of a surveyed transfer; counts are files and bytes."""

    moment: Moment
    files: int
    bytes: int
    max_files: int
    max_bytes: int
    overwrites: int = 0
    overwritten_bytes: int = 0
    overwrite_share_percent: int = 0
    deletes: int = 0
    deleted_bytes: int = 0
    delete_share_percent: int = 0
    moved_files: int = 0
    move_share_percent: int = 0
    encrypted: bool = True
    verification: Literal["in-transit", "at-rest", "none"] = "in-transit"
    largest_file_bytes: int = 0
    on_conflict: OnConflict = "fail"
    rate_limit_bps: int = 0
    """Ceiling that was asked for; 0 without one."""
    deadline: datetime | None = None
    """When it is to be done, if that was asked for."""
    project: str = ""
    """Which project it is for, if one was named."""
    budgets: Budgets = field(default_factory=Budgets)
    origins: Origins = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        execution: Execution,
        counts: SurveyCounts,
        moment: Moment,
        budgets: Budgets | None = None,
        origins: Origins | None = None,
    ) -> Self:
        """Collect the facts of a surveyed execution."""
        return cls(
            moment=moment,
            files=counts.files,
            bytes=counts.bytes,
            max_files=execution.max_files,
            max_bytes=execution.max_bytes,
            overwrites=counts.overwrites,
            overwritten_bytes=counts.overwritten_bytes,
            overwrite_share_percent=counts.overwrite_share_percent,
            deletes=counts.deletes,
            deleted_bytes=counts.deleted_bytes,
            delete_share_percent=counts.delete_share_percent,
            moved_files=counts.moved_files if execution.delete_source else 0,
            move_share_percent=counts.move_share_percent if execution.delete_source else 0,
            encrypted=execution.encryption == "required",
            verification=execution.verify,
            largest_file_bytes=counts.largest_file_bytes,
            on_conflict=execution.on_conflict,
            rate_limit_bps=execution.rate_ceiling_bps or 0,
            budgets=budgets or Budgets(),
            origins=origins or {},
        )

    def context(self) -> JsonObject:
        """Make the Cedar context of copy, sync and move."""
        budgets = self.budgets
        return {
            **self.moment.context(),
            "files": self.files,
            "bytes": self.bytes,
            "max_files": self.max_files,
            "max_bytes": self.max_bytes,
            "overwrites": self.overwrites,
            "overwritten_bytes": self.overwritten_bytes,
            "overwrite_share_percent": self.overwrite_share_percent,
            "deletes": self.deletes,
            "deleted_bytes": self.deleted_bytes,
            "delete_share_percent": self.delete_share_percent,
            "moved_files": self.moved_files,
            "move_share_percent": self.move_share_percent,
            "encrypted": self.encrypted,
            "verification": self.verification,
            "largest_file_bytes": self.largest_file_bytes,
            "on_conflict": self.on_conflict,
            "rate_limit_bps": self.rate_limit_bps,
            "deadline": utc_text(self.deadline) if self.deadline else "",
            "project": self.project,
            "person_used_bytes": budgets.person_used_bytes,
            "person_budget_bytes": budgets.person_budget_bytes,
            "agent_used_bytes": budgets.agent_used_bytes,
            "agent_budget_bytes": budgets.agent_budget_bytes,
            "plan_budget_bytes": budgets.plan_budget_bytes,
            "plan_budget_files": budgets.plan_budget_files,
            "running_transfers": budgets.running_transfers,
            "origins": kinds_of(self.origins),
        }
