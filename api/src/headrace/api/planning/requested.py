"""What was asked and by whom, kept with a plan, so that planning can be taken up again by another process."""

from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from headrace.api.caller import Caller, Door
from headrace.api.store import Tx
from headrace.api.store.tables_site import PersonRow
from headrace.api.store.tables_work import PlanRow
from headrace.auth import Principal, Role, Scope, scopes_of
from headrace.client import models as m


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid")

    request: m.PlanRequest
    scopes: list[Scope]
    session: bool
    on_host: bool
    factors: list[str] = []


@dataclass(frozen=True, slots=True)
class Requested:
    """A request and what its caller held."""

    kept: _Kept

    @classmethod
    def of(cls, caller: Caller, request: m.PlanRequest) -> Self:
        """Keep a request."""
        principal = caller.principal
        scopes = sorted(principal.scopes)
        kept = _Kept(
            request=request,
            scopes=scopes,
            session=principal.session,
            on_host=caller.on_host,
            factors=sorted(principal.factors),
        )
        return cls(kept)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Read what was kept; nothing when an earlier version kept what a request may not hold any more."""
        try:
            return cls(_Kept.model_validate_json(text))
        except ValidationError:
            return None

    @property
    def text(self) -> str:
        """What is stored."""
        return self.kept.model_dump_json()

    @property
    def request(self) -> m.PlanRequest:
        """What was asked."""
        return self.kept.request

    async def caller(self, tx: Tx, plan: PlanRow) -> Caller | None:
        """Return who asked, with today's roles and groups and no more scopes than then; nobody who has left."""
        person = await tx.get(PersonRow, plan.requester)
        if person is None or person.state != "active":
            return None
        roles = frozenset(map(Role, person.roles))
        principal = Principal(
            id=person.id,
            name=person.name,
            kind=person.kind,
            local=person.local,
            roles=roles,
            scopes=frozenset(self.kept.scopes) & scopes_of(roles),
            groups=frozenset(person.groups),
            method="password" if self.kept.session else "token",
            session=self.kept.session,
            authenticated_at=plan.created,
            factors=frozenset(self.kept.factors),
            agent=plan.agent,
            token_made_by=plan.token_made_by,
        )
        return Caller(principal, Door(plan.door), self.kept.on_host)
