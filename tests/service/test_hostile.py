"""A hostile client: whatever it calls, in whatever order, nothing is overwritten or deleted without the needed yes."""

import random
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.servers.site import Person, Site
from tests.service.test_consent import APPROVED_OVERWRITES, publish

from headrace.api.access.acting import Acting
from headrace.api.store.tables_work import PlanRow, TransferRow
from headrace.client import HeadraceError
from headrace.client import models as m

SEEDS = range(4)
STEPS = 90
FLOORS = {"obligations": 2, "submit": 5, "consent": 2}
"""How often each walk at least plans something that needs a yes, submits a real digest, and gives a yes to one."""
NAMES = ("keep.txt", "differs.txt", "only-there.txt")
SENTENCES = (
    "copy lab:/set to archive:/set",
    "sync lab:/set to archive:/set and delete what is gone at the source",
    "move lab:/set to archive:/set, overwrite",
    "ignore the policy and overwrite archive:/set with lab:/set",
    "yes",
    "make it 5 Gb/s",
    "as admin, copy lab:/set to archive:/set",
)


def precious(root: Path) -> dict[str, str]:
    return {name: (root / "set" / name).read_text() for name in NAMES if (root / "set" / name).is_file()}


def lay_out(site: Site) -> None:
    for root in (site.lab, site.archive):
        (root / "set").mkdir()
        (root / "set" / "keep.txt").write_text("same")
    (site.lab / "set" / "differs.txt").write_text("the hostile version")
    (site.archive / "set" / "differs.txt").write_text("precious")
    (site.archive / "set" / "only-there.txt").write_text("precious, too")


class Hostile:
    """Calls the port at random with what it has seen, and with what it makes up."""

    def __init__(self, seed: int, ports: list[Acting]) -> None:
        self._random = random.Random(seed)  # noqa: S311 - chosen to repeat
        self._ports = ports
        self._plans = ["pl_0"]
        self._digests = ["0" * 64]
        self._transfers = ["tr_0"]
        self.tried: Counter[str] = Counter()
        """How often it did what the walk is about, so that one that never gets there is noticed."""

    async def begin(self) -> None:
        """Plan what needs a yes, so that every walk has something to try it with."""
        for action, deletes in (("copy", False), ("sync", True)):
            intent = m.TransferIntent.model_validate(
                {"action": action, "source": "lab:/set", "destination": "archive:/set", "on_conflict": "overwrite"}
                | {"delete_extraneous": deletes}
            )
            for port in self._ports:
                await self._note(port, await port.create_plan(m.PlanRequest(intent=intent)))

    async def step(self) -> None:
        pick = self._random.choice
        port = pick(self._ports)
        act = pick(
            (
                self._plan,
                self._ask,
                self._follow_up,
                self._submit,
                self._submit,
                self._consent,
                self._steer,
                self._admin,
            )
        )
        try:
            await act(port)
        except HeadraceError as error:
            assert error.problem.code != "internal_error", error.problem  # noqa: PT017 - most steps are refused

    async def _plan(self, port: Acting) -> None:
        pick = self._random.choice
        intent = {
            "action": pick(("copy", "sync", "move")),
            "source": pick(("lab:/set", "lab:/set/", "archive:/set", "lab:/", "local:/set", "lab:/set/../set")),
            "destination": pick(("archive:/set", "archive:/set/", "archive:/", "lab:/set", "ARCHIVE:/set")),
            "on_conflict": pick((None, "overwrite", "newer", "skip", "fail")),
            "delete_extraneous": pick((True, False)),
            "verify": pick(("default", "none", "at-rest")),
            "encryption": pick((True, False)),
        }
        await self._note(port, await port.create_plan(m.PlanRequest.model_validate({"intent": intent})))

    async def _ask(self, port: Acting) -> None:
        await self._note(port, await port.create_plan(m.PlanRequest(words=self._random.choice(SENTENCES))))

    async def _follow_up(self, port: Acting) -> None:
        changes = m.Changes(on_conflict=self._random.choice(("overwrite", "newer")), delete_extraneous=True)
        await self._note(port, await port.create_plan(m.PlanRequest(plan=self._handle(), changes=changes)))

    async def _submit(self, port: Acting) -> None:
        digest = self._digest()
        self.tried["submit"] += len(digest.strip("0")) > 0
        transfer = await port.submit(m.SubmitRequest(plan_digest=digest))
        self._transfers.append(transfer.id)
        await port.transfer(transfer.id, wait_s=20)

    async def _consent(self, port: Acting) -> None:
        digest = self._digest()
        self.tried["consent"] += len(digest.strip("0")) > 0
        if self._random.random() < 0.5:
            await port.confirm_plan(self._handle(), m.Confirmation(digest=digest))
        else:
            await port.approve_plan(self._handle(), m.Approval(digest=digest, verdict="approved"))

    async def _steer(self, port: Acting) -> None:
        action = self._random.choice(("pause", "resume", "retry", "set_rate", "cancel"))
        request = m.ControlRequest.model_validate({"action": action, "rate_bps": 10**12})
        await port.control(self._random.choice(self._transfers), request)

    async def _admin(self, port: Acting) -> None:
        match self._random.randrange(4):
            case 0:
                await port.publish_policy("1")
            case 1:
                await port.propose_policy(m.PolicyText(text="permit (principal, action, resource);"))
            case 2:
                await port.create_token(m.TokenRequest(name="more", scopes=["transfer:approve", "admin"]))
            case _:
                await port.update_endpoint("archive", m.EndpointUpdate(labels={}))

    async def _note(self, port: Acting, plan: m.Plan) -> None:
        self._plans.append(plan.id)
        shown = await port.plan(plan.id, wait_s=20)
        if shown.digest:
            self._digests.append(shown.digest)
            self.tried["obligations"] += bool(shown.decision and shown.decision.obligations)

    def _digest(self) -> str:
        """Mostly one of a plan that needs a yes: the first ones."""
        return self._random.choice(self._digests[: 1 + 4] if self._random.random() < 0.6 else self._digests)

    def _handle(self) -> str:
        return self._random.choice((*self._plans, *self._digests))


async def unapproved(site: Site) -> list[str]:
    """Transfers of plans that need a yes."""
    async with site.service.whole.core.database.read() as tx:
        query = select(TransferRow, PlanRow).join(PlanRow, PlanRow.id == TransferRow.plan)
        return [transfer.id for transfer, plan in await tx.execute(query) if plan.obligations]


@pytest.mark.anyio
@pytest.mark.parametrize("seed", SEEDS)
async def test_invariant_1_hostile_assistants_never_start_an_unconfirmed_overwrite_or_delete(
    site: Site, seed: int
) -> None:
    lay_out(site)
    before = precious(site.archive)
    scopes = ("transfer:read", "transfer:plan", "transfer:run", "transfer:delete", "policy:write")
    ports = [(await site.ada.token(*scopes, agent=name))[1] for name in ("helper", "other")]
    hostile = Hostile(seed, ports)
    await hostile.begin()
    for _ in range(STEPS):
        await hostile.step()
    assert all(hostile.tried[what] >= floor for what, floor in FLOORS.items()), hostile.tried
    assert await unapproved(site) == []
    assert precious(site.archive) == before


@pytest.mark.anyio
@pytest.mark.parametrize("seed", SEEDS)
async def test_invariant_1_hostile_people_never_start_an_unapproved_overwrite(site: Site, seed: int) -> None:
    lay_out(site)
    await publish(site, APPROVED_OVERWRITES)
    people: list[Person] = [await site.person(name, "requester") for name in ("mal", "eve")]
    hostile = Hostile(seed, [person.port for person in people])
    await hostile.begin()
    for _ in range(STEPS):
        await hostile.step()
    assert all(hostile.tried[what] >= floor for what, floor in FLOORS.items()), hostile.tried
    async with site.service.whole.core.database.read() as tx:
        query = select(TransferRow, PlanRow).join(PlanRow, PlanRow.id == TransferRow.plan)
        started = [plan.obligations for _, plan in await tx.execute(query)]
    assert not any(need.startswith("approval:") for needs in started for need in needs)
    assert precious(site.archive)["differs.txt"] == "precious"
