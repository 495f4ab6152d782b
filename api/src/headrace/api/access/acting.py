"""The port `Headrace` inside the service: every call checked against the access table, every refusal a problem."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from functools import partial
from typing import TypeVar

from headrace.api.access.use_cases import UseCases
from headrace.api.audit.chain import Wanted
from headrace.api.caller import Caller
from headrace.api.errors import Code, ServiceError
from headrace.api.paging import MAX_LONG_PAGE, MAX_PAGE, number_after
from headrace.api.permissions import CHANGING, COUNTED, require
from headrace.api.planning.broken_promises import broken_promises
from headrace.api.planning.found import Found
from headrace.api.planning.whose import Narrowing
from headrace.api.private_words import without_private_words
from headrace.api.problems import problem_of
from headrace.api.sites.endpoint_pages import Sought
from headrace.client import HeadraceError
from headrace.client import models as m
from headrace.client.port import Order

_State = TypeVar("_State", m.PlanState, m.TransferState)


class Acting:
    """`Headrace` for one caller."""

    def __init__(self, use_cases: UseCases, caller: Caller) -> None:
        """Act for `caller`."""
        self._do = use_cases
        self._caller = caller

    @asynccontextmanager
    async def _may(self, method: str, *, stops: bool = False) -> AsyncGenerator[Caller]:
        """Check the access table, count what changes something and not only `stops`, and turn errors into problems."""
        try:
            require(self._caller.principal, method)
            if method in COUNTED and not stops:
                await self._do.change_limit.count(self._caller)
            yield self._caller
        except HeadraceError:
            raise
        except Exception as error:
            problem = problem_of(error, changes=method in CHANGING)
            if self._caller.principal.agent is not None:
                problem = without_private_words(problem)
            raise HeadraceError(problem) from error

    async def me(self) -> m.Me:
        """As in the port."""
        async with self._may("me") as caller:
            return self._do.people.me(caller)

    async def health(self) -> m.Health:
        """As in the port."""
        async with self._may("health") as caller:
            report = await self._do.health.report(caller.principal)
            return report if caller.principal.agent is None else without_private_words(report)

    async def interpret(self, request: m.InterpretRequest) -> m.Interpretation:
        """As in the port."""
        async with self._may("interpret") as caller:
            return await self._do.intake.interpret(caller, request)

    # -- plans --

    async def create_plan(self, request: m.PlanRequest) -> m.Plan:
        """As in the port."""
        async with self._may("create_plan") as caller:
            return await self._do.intake.create(caller, request)

    async def plan(self, plan: str, *, wait_s: float = 0, document: bool = False) -> m.Plan:
        """As in the port."""
        async with self._may("plan") as caller:
            shown = await self._do.intake.get(caller, plan, wait_s=wait_s, document=document)
            if wait_s:
                await caller.renewed("plan")
            return shown

    async def plans(  # noqa: PLR0913 - as in the port
        self,
        *,
        state: str | None = None,
        states: Sequence[str] = (),
        awaiting_me: bool = False,
        endpoint: str = "",
        label: str = "",
        person: str = "",
        agent: str = "",
        project: str = "",
        search: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        order: Order = "newest",
        limit: int = 50,
        after: str | None = None,
    ) -> m.Page[m.Plan]:
        """As in the port."""
        async with self._may("plans") as caller:
            return await self._do.plans.page(
                caller,
                states=_states(m.PlanState, state, states),
                awaiting_me=awaiting_me,
                whose=Narrowing(endpoint=endpoint, label=label, person=person, agent=agent, project=project),
                found=Found(search, since, until),
                newest=order == "newest",
                limit=_page(limit, MAX_PAGE),
                after=after,
            )

    async def plan_counts(self) -> m.PlanCounts:
        """As in the port."""
        async with self._may("plan_counts") as caller:
            return await self._do.plans.counts(caller)

    async def confirm_plan(self, plan: str, confirmation: m.Confirmation) -> m.Plan:
        """As in the port."""
        async with self._may("confirm_plan") as caller:
            return await self._do.consent.confirm(caller, plan, confirmation)

    async def approve_plan(self, plan: str, approval: m.Approval) -> m.Plan:
        """As in the port."""
        async with self._may("approve_plan") as caller:
            return await self._do.consent.approve(caller, plan, approval)

    async def drop_plan(self, plan: str) -> m.Plan:
        """As in the port."""
        async with self._may("drop_plan") as caller:
            return await self._do.intake.drop(caller, plan)

    async def why(self, plan: str) -> m.Decision:
        """As in the port."""
        async with self._may("why") as caller:
            return await self._do.plans.why(caller, plan)

    async def losses(
        self, plan: str, *, how: m.LossKind | None = None, after: str | None = None, limit: int = 200
    ) -> m.LossPage:
        """As in the port."""
        async with self._may("losses") as caller:
            return await self._do.losses.page(caller, plan, how, after=after, limit=_page(limit, MAX_LONG_PAGE))

    # -- transfers --

    async def submit(self, request: m.SubmitRequest) -> m.Transfer:
        """As in the port."""
        async with self._may("submit") as caller:
            return await self._do.submissions.submit(caller, request.plan_digest)

    async def transfer(self, transfer: str, *, wait_s: float = 0) -> m.Transfer:
        """As in the port."""
        async with self._may("transfer") as caller:
            shown = await self._do.transfers.get(caller, transfer, wait_s=wait_s)
            if wait_s:
                await caller.renewed("transfer")
            return shown

    async def transfers(  # noqa: PLR0913 - as in the port
        self,
        *,
        state: str | None = None,
        states: Sequence[str] = (),
        endpoint: str = "",
        label: str = "",
        person: str = "",
        agent: str = "",
        project: str = "",
        search: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        order: Order = "newest",
        limit: int = 50,
        after: str | None = None,
    ) -> m.Page[m.Transfer]:
        """As in the port."""
        async with self._may("transfers") as caller:
            return await self._do.transfers.page(
                caller,
                states=_states(m.TransferState, state, states),
                whose=Narrowing(endpoint=endpoint, label=label, person=person, agent=agent, project=project),
                found=Found(search, since, until),
                newest=order == "newest",
                limit=_page(limit, MAX_PAGE),
                after=after,
            )

    async def transfer_counts(  # noqa: PLR0913 - as in the port
        self,
        *,
        endpoint: str = "",
        label: str = "",
        person: str = "",
        agent: str = "",
        project: str = "",
        search: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> m.TransferCounts:
        """As in the port."""
        async with self._may("transfer_counts") as caller:
            whose = Narrowing(endpoint=endpoint, label=label, person=person, agent=agent, project=project)
            return await self._do.transfers.counts(caller, whose=whose, found=Found(search, since, until))

    async def control(self, transfer: str, request: m.ControlRequest) -> m.Transfer:
        """As in the port."""
        # A pause can be made again only after a resume, which is counted.
        async with self._may("control", stops=request.action in {"pause", "cancel"}) as caller:
            return await self._do.control.control(caller, transfer, request)

    async def watch(self, transfer: str, *, after: int = 0) -> AsyncGenerator[m.TransferEvent]:
        """As in the port; begins with the kept event after sequence `after`."""
        async with self._may("watch") as caller, aclosing(self._do.transfers.watch(caller, transfer, after)) as events:
            async for event in events:
                yield event

    async def changes(self, *, after: int | None = None) -> AsyncGenerator[m.Change]:
        """As in the port."""
        async with self._may("changes") as caller, aclosing(self._do.changes.watch(caller, after)) as found:
            async for change in found:
                yield change

    async def transfer_events(
        self, transfer: str, *, after: str | None = None, limit: int = 200, order: Order = "oldest"
    ) -> m.Page[m.TransferEvent]:
        """As in the port."""
        async with self._may("transfer_events") as caller:
            limit, newest, last = _page(limit, MAX_LONG_PAGE), order == "newest", number_after(after)
            return await self._do.transfers.events(caller, transfer, after=last, limit=limit, newest=newest)

    async def diagnose(self, transfer: str) -> m.Diagnosis:
        """As in the port."""
        async with self._may("diagnose") as caller:
            return await self._do.transfers.diagnose(caller, transfer)

    async def measured(self, transfer: str) -> m.Measured:
        """As in the port."""
        async with self._may("measured") as caller:
            return await self._do.transfers.measured(caller, transfer)

    async def probed(self, transfer: str) -> m.Probed:
        """As in the port."""
        async with self._may("probed") as caller:
            return await self._do.transfers.probed(caller, transfer)

    async def throughput(
        self, transfer: str, *, since: datetime | None = None, until: datetime | None = None
    ) -> m.Throughput:
        """As in the port."""
        async with self._may("throughput") as caller:
            return await self._do.transfers.throughput(caller, transfer, since, until)

    async def failed_files(self, transfer: str, *, after: str | None = None, limit: int = 200) -> m.Page[m.FailedFile]:
        """As in the port."""
        async with self._may("failed_files") as caller:
            return await self._do.transfers.failed(caller, transfer, after=after, limit=_page(limit, MAX_LONG_PAGE))

    async def receipt(self, receipt: str) -> m.Receipt:
        """As in the port."""
        async with self._may("receipt") as caller:
            return await self._do.transfers.receipt(caller, receipt)

    async def receipt_files(self, receipt: str) -> AsyncGenerator[bytes]:
        """As in the port."""
        async with self._may("receipt_files") as caller:
            row = await self._do.transfers.receipt_files(caller, receipt)
            async with aclosing(self._do.receipts.files(row)) as listed:
                async for chunk in listed:
                    yield chunk

    # -- endpoints, nodes --

    async def endpoints(
        self, *, limit: int = 200, after: str | None = None, q: str = "", label: str = "", node: str = ""
    ) -> m.Page[m.Endpoint]:
        """As in the port."""
        async with self._may("endpoints") as caller:
            sought = Sought(text=q, label=label, node=node)
            return await self._do.endpoints.page(caller, sought, after=after, limit=_page(limit, MAX_LONG_PAGE))

    async def update_endpoint(self, endpoint: str, update: m.EndpointUpdate) -> m.Endpoint:
        """As in the port."""
        async with self._may("update_endpoint") as caller:
            pk, meant = await self._do.endpoints.meant(endpoint)
            check = self._do.endpoints.check_updating(pk, update)
            await self._do.proofs.of(caller, "update_endpoint", meant, update, check)
            return await self._do.endpoints.update(caller, pk, update)

    async def remove_endpoint(self, endpoint: str, proof: m.Proven | None = None) -> m.Endpoint:
        """As in the port."""
        async with self._may("remove_endpoint") as caller:
            pk, meant = await self._do.endpoints.meant(endpoint)
            check = self._do.endpoints.check_removing(pk)
            await self._do.proofs.of(caller, "remove_endpoint", meant, proof or m.Proven(), check)
            return await self._do.endpoints.remove(caller, pk)

    async def browse(self, endpoint: str, path: str, *, after: str | None = None, limit: int = 200) -> m.FolderPage:
        """As in the port."""
        async with self._may("browse") as caller:
            limit = _page(limit, MAX_LONG_PAGE)
            return await self._do.locations.browse(caller, endpoint, path, after=after, limit=limit)

    async def nodes(self, *, limit: int = 200, after: str | None = None) -> m.Page[m.Node]:
        """As in the port."""
        async with self._may("nodes"):
            running = self._do.scheduler.running_by_node()
            return await self._do.nodes.page(running, after=after, limit=_page(limit, MAX_LONG_PAGE))

    async def node_host(self, node: str, *, to: str | None = None) -> m.NodeHost:
        """As in the port."""
        async with self._may("node_host"):
            return await self._do.nodes.host(node, to)

    async def node_throughput(
        self,
        node: str,
        *,
        direction: m.Direction = "received",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> m.Throughput:
        """As in the port."""
        async with self._may("node_throughput"):
            return await self._do.transfers.node_throughput(node, direction, since, until)

    async def create_join_token(self, request: m.JoinTokenRequest) -> m.JoinToken:
        """As in the port."""
        async with self._may("create_join_token") as caller:
            await self._do.proofs.of(caller, "create_join_token", "", request, self._do.nodes.check_joining(request))
            return await self._do.nodes.create_join_token(caller, request)

    async def drain_node(self, node: str, *, drain: bool) -> m.Node:
        """As in the port."""
        async with self._may("drain_node") as caller:
            return await self._do.nodes.drain(caller, node, self._do.scheduler.running_by_node(), drain=drain)

    async def rotate_node(self, node: str, request: m.RotationRequest) -> m.JoinToken:
        """As in the port."""
        async with self._may("rotate_node") as caller:
            id_, meant = await self._do.nodes.meant(node)
            await self._do.proofs.of(caller, "rotate_node", meant, request, self._do.nodes.check_rotating(id_))
            return await self._do.nodes.rotate(caller, id_, request)

    async def remove_node(self, node: str, proof: m.Proven | None = None) -> m.Node:
        """As in the port."""
        async with self._may("remove_node") as caller:
            id_, meant = await self._do.nodes.meant(node)
            check = self._do.nodes.check_removing(id_)
            await self._do.proofs.of(caller, "remove_node", meant, proof or m.Proven(), check)
            return await self._do.nodes.remove(caller, id_)

    async def revoke_node(self, node: str, proof: m.Proven | None = None) -> m.Node:
        """As in the port."""
        async with self._may("revoke_node") as caller:
            id_, meant = await self._do.nodes.meant(node)
            await self._do.proofs.of(caller, "revoke_node", meant, proof or m.Proven(), self._do.nodes.meant(id_))
            return await self._do.nodes.revoke(caller, id_, self._do.scheduler.running_by_node())

    # -- halts --

    async def halt(self, request: m.HaltRequest) -> m.Halt:
        """As in the port."""
        async with self._may("halt") as caller:
            return await self._do.halts.halt(caller, request)

    async def release_halt(self, halt: str) -> None:
        """As in the port."""
        async with self._may("release_halt") as caller:
            await self._do.halts.release(caller, halt)

    async def quotas(self, *, limit: int = 200, after: str | None = None) -> m.Page[m.QuotaUse]:
        """As in the port."""
        async with self._may("quotas") as caller:
            return await self._do.quotas.page(caller, after=after, limit=_page(limit, MAX_LONG_PAGE))

    async def halts(self) -> m.Page[m.Halt]:
        """As in the port."""
        async with self._may("halts"):
            return m.Page(items=await self._do.halts.list())

    # -- policy, audit --

    async def policies(self, *, after: str | None = None) -> m.Page[m.PolicyVersion]:
        """As in the port."""
        async with self._may("policies"):
            return await self._do.policies.versions(number_after(after))

    async def check_policy(self, text: m.PolicyText) -> m.PolicyCheck:
        """As in the port."""
        async with self._may("check_policy"):
            return await self._do.policies.check(text)

    async def simulate_policy(self, text: m.PolicyText) -> m.PolicySimulation:
        """As in the port."""
        async with self._may("simulate_policy") as caller:
            return await self._do.policy_questions.simulate(caller, text)

    async def policy_needs(self) -> m.Page[m.PolicyNeed]:
        """As in the port."""
        async with self._may("policy_needs"):
            return m.Page(items=self._do.policy_questions.needs())

    async def guided_rules(self, asked: m.GuidedRequest) -> m.GuidedRules:
        """As in the port."""
        async with self._may("guided_rules"):
            return await self._do.policy_questions.guided(asked)

    async def who_may(self, asked: m.WhoMayRequest) -> m.Page[m.WhoMay]:
        """As in the port."""
        async with self._may("who_may"):
            return m.Page(items=await self._do.policy_questions.who_may(asked))

    async def propose_policy(self, text: m.PolicyText) -> m.PolicyVersion:
        """As in the port."""
        async with self._may("propose_policy") as caller:
            return await self._do.policies.propose(caller, text)

    async def withdraw_policy(self, version: str) -> m.PolicyVersion:
        """As in the port."""
        async with self._may("withdraw_policy") as caller:
            return await self._do.policies.withdraw(caller, version)

    async def publish_policy(self, version: str, proof: m.Proven | None = None) -> m.PolicyVersion:
        """As in the port; every running transfer is held against the new version at once."""
        async with self._may("publish_policy") as caller:
            agreed = await self._do.policies.digest(version)
            about, check = f"{version} {agreed}", self._do.policies.check_publishing(caller, version, agreed)
            said = await self._do.proofs.unstated(caller, "publish_policy", about, proof or m.Proven(), check)
            tell = partial(self._do.submissions.parts.signer.publish, said)
            return await self._do.policies.publish(caller, version, agreed, tell)

    async def qos(self) -> m.Qos:
        """As in the port."""
        async with self._may("qos") as caller:
            return self._do.shares.show(caller, self._do.policies.active)

    async def qos_versions(self, *, after: str | None = None) -> m.Page[m.QosVersion]:
        """As in the port."""
        async with self._may("qos_versions"):
            return await self._do.qos.versions(number_after(after))

    async def check_qos(self, text: m.QosText) -> m.QosCheck:
        """As in the port."""
        async with self._may("check_qos"):
            checked = await self._do.qos.check(text)
            if not checked.valid or checked.document is None:
                return checked
            core, held = self._do.submissions.parts.core, self._do.qos.in_force
            broken = await broken_promises(core, held, checked.document, core.clock())
            return checked.model_copy(update={"warnings": broken})

    async def propose_qos(self, text: m.QosText) -> m.QosVersion:
        """As in the port."""
        async with self._may("propose_qos") as caller:
            return await self._do.qos.propose(caller, text)

    async def withdraw_qos(self, version: str) -> m.QosVersion:
        """As in the port."""
        async with self._may("withdraw_qos") as caller:
            return await self._do.qos.withdraw(caller, version)

    async def publish_qos(self, version: str, proof: m.Proven | None = None) -> m.QosVersion:
        """As in the port; what runs gets its new share at once."""
        async with self._may("publish_qos") as caller:
            agreed = await self._do.qos.digest(version)
            about, check = f"{version} {agreed}", self._do.qos.check_publishing(caller, version, agreed)
            said = await self._do.proofs.of(caller, "publish_qos", about, proof or m.Proven(), check)
            published = await self._do.qos.publish(caller, version, agreed, said.kind)
            await self._do.shares.renew()
            return published

    async def audit(  # noqa: PLR0913 - each narrows the page
        self,
        *,
        after: str | None = None,
        limit: int = 200,
        order: Order = "oldest",
        kind: str | None = None,
        kinds: Sequence[str] = (),
        person: str | None = None,
        subject: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> m.Page[m.AuditEvent]:
        """As in the port."""
        async with self._may("audit"):
            limit = _page(limit, MAX_LONG_PAGE)
            wanted = Wanted(
                kinds=(*kinds, *((kind,) if kind else ())),
                person=person,
                subject=subject,
                since=since,
                until=until,
                newest_first=order == "newest",
            )
            return await self._do.audit.events(wanted, after=number_after(after), limit=limit)

    async def verify_audit(self, *, full: bool = False) -> m.AuditVerdict:
        """As in the port."""
        async with self._may("verify_audit"):
            return await self._do.audit.verify(full=full)

    # -- people --

    async def people(self, *, limit: int = 200, after: str | None = None) -> m.Page[m.Person]:
        """As in the port."""
        async with self._may("people") as caller:
            return await self._do.people.page(caller, after=after, limit=_page(limit, MAX_LONG_PAGE))

    async def invite(self, request: m.InvitationRequest) -> m.Invitation:
        """As in the port."""
        async with self._may("invite") as caller:
            return await self._do.people.invite(caller, request)

    async def create_service_account(self, request: m.ServiceAccountRequest) -> m.Person:
        """As in the port."""
        async with self._may("create_service_account") as caller:
            return await self._do.people.create_service_account(caller, request)

    async def disable_person(self, person: str) -> m.Person:
        """As in the port; the person's running transfers are stopped at once."""
        async with self._may("disable_person") as caller:
            return await self._do.people.disable(caller, person)

    async def enable_person(self, person: str, proof: m.Proven | None = None) -> m.Person:
        """As in the port."""
        async with self._may("enable_person") as caller:
            return await self._do.people.enable(caller, person, proof or m.Proven())

    async def update_person(self, person: str, update: m.PersonUpdate) -> m.Person:
        """As in the port; what the person has running is looked at again."""
        async with self._may("update_person") as caller:
            return await self._do.people.update(caller, person, update)

    async def link_identity(self, person: str, link: m.IdentityLink) -> m.Person:
        """As in the port."""
        async with self._may("link_identity") as caller:
            return await self._do.people.link(caller, person, link)

    async def unlink_identity(self, person: str, link: m.IdentityLink) -> m.Person:
        """As in the port."""
        async with self._may("unlink_identity") as caller:
            return await self._do.people.unlink(caller, person, link)

    async def group_bindings(self) -> m.GroupBindings:
        """As in the port."""
        async with self._may("group_bindings") as caller:
            return await self._do.people.group_bindings(caller)

    async def propose_group_bindings(self, request: m.GroupBindingsRequest) -> m.GroupBindings:
        """As in the port."""
        async with self._may("propose_group_bindings") as caller:
            return await self._do.people.propose_groups(caller, request)

    async def publish_group_bindings(self, proposal: str, proof: m.Proven | None = None) -> m.GroupBindings:
        """As in the port; what those have running whose rights change is looked at again."""
        async with self._may("publish_group_bindings") as caller:
            return await self._do.people.publish_groups(caller, proposal, proof or m.Proven())

    async def invite_again(self, person: str, proof: m.Proven | None = None) -> m.Invitation:
        """As in the port."""
        async with self._may("invite_again") as caller:
            return await self._do.people.invite_again(caller, person, proof or m.Proven())

    async def change_password(self, change: m.PasswordChange) -> None:
        """As in the port."""
        async with self._may("change_password") as caller:
            await self._do.people.change_password(caller, change)

    async def passkeys(self, *, person: str | None = None) -> m.Page[m.Passkey]:
        """As in the port."""
        async with self._may("passkeys") as caller:
            return m.Page(items=await self._do.passkeys.list(caller, person))

    async def begin_passkey(self, proof: m.Proven | None = None) -> m.PasskeyChallenge:
        """As in the port."""
        async with self._may("begin_passkey") as caller:
            return await self._do.passkeys.begin(caller, proof or m.Proven())

    async def add_passkey(self, request: m.PasskeyRequest) -> m.Passkey:
        """As in the port."""
        async with self._may("add_passkey") as caller:
            return await self._do.passkeys.add(caller, request)

    async def remove_passkey(self, passkey: str, proof: m.Proven | None = None, *, person: str | None = None) -> None:
        """As in the port."""
        async with self._may("remove_passkey") as caller:
            await self._do.passkeys.remove(caller, passkey, person, proof or m.Proven())

    async def use_passkey(self, proof: m.Proven | None = None) -> None:
        """As in the port."""
        async with self._may("use_passkey") as caller:
            await self._do.passkeys.use(caller, proof or m.Proven())

    async def sessions(self, *, person: str | None = None) -> m.Page[m.OpenSession]:
        """As in the port."""
        async with self._may("sessions") as caller:
            return m.Page(items=await self._do.people.sessions(caller, person))

    async def end_session(self, session: str, *, person: str | None = None) -> None:
        """As in the port."""
        async with self._may("end_session") as caller:
            await self._do.people.end_session(caller, session, person)

    async def tokens(self, *, everybody: bool = False, limit: int = 200, after: str | None = None) -> m.Page[m.Token]:
        """As in the port."""
        async with self._may("tokens") as caller:
            limit = _page(limit, MAX_LONG_PAGE)
            return await self._do.people.tokens(caller, everybody=everybody, after=after, limit=limit)

    async def create_token(self, request: m.TokenRequest) -> m.Token:
        """As in the port."""
        async with self._may("create_token") as caller:
            return await self._do.people.create_token(caller, request)

    async def revoke_token(self, token: str) -> None:
        """As in the port."""
        async with self._may("revoke_token") as caller:
            await self._do.people.revoke_token(caller, token)


def _page(limit: int, most: int) -> int:
    if not 1 <= limit <= most:
        raise ServiceError(Code.INVALID_REQUEST, f"`limit` is {limit}; a page holds 1 to {most}", fields=("limit",))
    return limit


def _states(kind: type[_State], state: str | None, states: Sequence[str]) -> list[_State]:
    """Read the states that a list is narrowed to; raises `invalid_request`."""
    named = [*states, *((state,) if state else ())]
    try:
        return [kind(one) for one in named]
    except ValueError as error:
        raise ServiceError(
            Code.INVALID_REQUEST,
            f"{error}; known states are {', '.join(kind)}",
            fields=("states",),
        ) from error
