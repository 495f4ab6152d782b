"""The port over HTTP: every method is one request, its body and answer the models as they are."""

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

import httpx2

from headrace.client import models as m
from headrace.client.port import Order
from headrace.client.watch import follow
from headrace.client.wire import Wire, segment

_Query = dict[str, str | int | None]


class HttpHeadrace:
    """`Headrace` at a service's address, as whoever the session secret or API token (`hrt_...`) belongs to.

    Use it as an async context manager, or call `aclose`. Every wait has an end: 5 s to connect, 30 s for an answer
    (plus `wait_s` where a method waits), and calls that change nothing are tried three times.
    """

    def __init__(
        self, url: str, secret: str | None = None, *, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        """Prepare for the service at `url` (`https://host[:port]`, or `http://` on this host)."""
        self._wire = Wire(url, secret, transport=transport)

    @property
    def url(self) -> str:
        """The service's address, without a trailing slash."""
        return self._wire.url

    async def __aenter__(self) -> Self:
        """Return this object."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    # -- signing in (outside the port: it needs no principal, or ends one) --

    async def sign_in(self, sign_in: m.SignIn) -> m.Session:
        """Start an interactive session with a local person's name and password."""
        self._wire.require_privacy()
        return await self._wire.post(m.Session, "sessions", sign_in)

    async def accept_invitation(self, acceptance: m.AcceptInvitation) -> m.Session:
        """Choose a password with a one-time link's token, and start a session."""
        self._wire.require_privacy()
        return await self._wire.post(m.Session, "invitations/accept", acceptance)

    async def invited(self, token: str) -> m.Invited:
        """Return whom a one-time link invites; it can still be used."""
        self._wire.require_privacy()
        return await self._wire.post(m.Invited, "invitations/look", m.InvitationLook(token=token))

    async def begin_device_sign_in(self, provider: str) -> m.DeviceSignIn:
        """Begin a sign-in at a provider, on another device."""
        self._wire.require_privacy()
        return await self._wire.post(m.DeviceSignIn, f"sign-in/{segment(provider)}/device")

    async def ask_device_sign_in(self, provider: str, question: m.DeviceQuestion) -> m.DeviceAnswer:
        """Ask whether the person has signed in there."""
        self._wire.require_privacy()
        return await self._wire.post(m.DeviceAnswer, f"sign-in/{segment(provider)}/device/session", question)

    async def sign_out(self) -> None:
        """End the session whose secret this object holds."""
        await self._wire.delete("sessions/current")

    async def me(self) -> m.Me:
        """As in the port."""
        return await self._wire.get(m.Me, "me")

    async def health(self) -> m.Health:
        """As in the port."""
        return await self._wire.get(m.Health, "health")

    # -- plans --

    async def interpret(self, request: m.InterpretRequest) -> m.Interpretation:
        """As in the port."""
        return await self._wire.post(m.Interpretation, "interpretations", request)

    async def create_plan(self, request: m.PlanRequest) -> m.Plan:
        """As in the port."""
        return await self._wire.post(m.Plan, "plans", request)

    async def plan(self, plan: str, *, wait_s: float = 0, document: bool = False) -> m.Plan:
        """As in the port."""
        query = {"wait_s": wait_s or None, "document": document or None}
        return await self._wire.get(m.Plan, f"plans/{segment(plan)}", query=query, wait_s=wait_s)

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
        query: _Query = {"state": state, "states": ",".join(states) or None, "awaiting_me": awaiting_me or None}
        query |= _whose(endpoint, label, person, agent, project)
        query |= _found(search, since, until) | _newest(order, limit, after)
        return await self._wire.get(m.Page[m.Plan], "plans", query=query)

    async def plan_counts(self) -> m.PlanCounts:
        """As in the port."""
        return await self._wire.get(m.PlanCounts, "plans/counts")

    async def confirm_plan(self, plan: str, confirmation: m.Confirmation) -> m.Plan:
        """As in the port."""
        self._private(confirmation)
        path = f"plans/{segment(plan)}/confirmations"
        return await self._wire.post(m.Plan, path, confirmation)

    async def approve_plan(self, plan: str, approval: m.Approval) -> m.Plan:
        """As in the port."""
        self._private(approval)
        return await self._wire.post(m.Plan, f"plans/{segment(plan)}/approvals", approval)

    async def drop_plan(self, plan: str) -> m.Plan:
        """As in the port."""
        return await self._wire.post(m.Plan, f"plans/{segment(plan)}/drop")

    async def why(self, plan: str) -> m.Decision:
        """As in the port."""
        return await self._wire.get(m.Decision, f"plans/{segment(plan)}/why")

    async def losses(
        self, plan: str, *, how: m.LossKind | None = None, after: str | None = None, limit: int = 200
    ) -> m.LossPage:
        """As in the port."""
        query: _Query = {"how": how, "after": after, "limit": limit}
        return await self._wire.get(m.LossPage, f"plans/{segment(plan)}/losses", query=query)

    # -- transfers --

    async def submit(self, request: m.SubmitRequest) -> m.Transfer:
        """As in the port."""
        return await self._wire.post(m.Transfer, "transfers", request)

    async def transfer(self, transfer: str, *, wait_s: float = 0) -> m.Transfer:
        """As in the port."""
        path, query = f"transfers/{segment(transfer)}", {"wait_s": wait_s or None}
        return await self._wire.get(m.Transfer, path, query=query, wait_s=wait_s)

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
        query: _Query = {"state": state, "states": ",".join(states) or None}
        query |= _whose(endpoint, label, person, agent, project)
        query |= _found(search, since, until) | _newest(order, limit, after)
        return await self._wire.get(m.Page[m.Transfer], "transfers", query=query)

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
        query = _whose(endpoint, label, person, agent, project) | _found(search, since, until)
        return await self._wire.get(m.TransferCounts, "transfers/counts", query=query)

    async def control(self, transfer: str, request: m.ControlRequest) -> m.Transfer:
        """As in the port."""
        path = f"transfers/{segment(transfer)}/control"
        return await self._wire.post(m.Transfer, path, request)

    def watch(self, transfer: str) -> AsyncGenerator[m.TransferEvent]:
        """As in the port: reconnects by Last-Event-ID, and polls where event streams do not get through."""
        return follow(self._wire, self, transfer)

    async def changes(self, *, after: int | None = None) -> AsyncGenerator[m.Change]:
        """As in the port."""
        async with self._wire.events("events", query={"after": after}) as source:
            async for received in source:
                yield m.Change.model_validate_json(received.data, extra="ignore")

    async def transfer_events(
        self, transfer: str, *, after: str | None = None, limit: int = 200, order: Order = "oldest"
    ) -> m.Page[m.TransferEvent]:
        """As in the port."""
        path = f"transfers/{segment(transfer)}/events"
        query = {"after": after, "limit": limit, "order": None if order == "oldest" else order}
        return await self._wire.get(m.Page[m.TransferEvent], path, query=query)

    async def diagnose(self, transfer: str) -> m.Diagnosis:
        """As in the port."""
        return await self._wire.get(m.Diagnosis, f"transfers/{segment(transfer)}/diagnosis")

    async def measured(self, transfer: str) -> m.Measured:
        """As in the port."""
        return await self._wire.get(m.Measured, f"transfers/{segment(transfer)}/measured")

    async def probed(self, transfer: str) -> m.Probed:
        """As in the port."""
        return await self._wire.get(m.Probed, f"transfers/{segment(transfer)}/probe")

    async def throughput(
        self, transfer: str, *, since: datetime | None = None, until: datetime | None = None
    ) -> m.Throughput:
        """As in the port."""
        path = f"transfers/{segment(transfer)}/throughput"
        return await self._wire.get(m.Throughput, path, query=_found("", since, until))

    async def failed_files(self, transfer: str, *, after: str | None = None, limit: int = 200) -> m.Page[m.FailedFile]:
        """As in the port."""
        path, query = f"transfers/{segment(transfer)}/failed", {"after": after, "limit": limit}
        return await self._wire.get(m.Page[m.FailedFile], path, query=query)

    async def receipt(self, receipt: str) -> m.Receipt:
        """As in the port."""
        return await self._wire.get(m.Receipt, f"receipts/{segment(receipt)}")

    def receipt_files(self, receipt: str) -> AsyncGenerator[bytes]:
        """As in the port."""
        return self._wire.chunks(f"receipts/{segment(receipt)}/files")

    # -- endpoints, nodes --

    async def endpoints(
        self, *, limit: int = 200, after: str | None = None, q: str = "", label: str = "", node: str = ""
    ) -> m.Page[m.Endpoint]:
        """As in the port."""
        query: _Query = {"limit": limit, "after": after, "q": q or None, "label": label or None, "node": node or None}
        return await self._wire.get(m.Page[m.Endpoint], "endpoints", query=query)

    async def update_endpoint(self, endpoint: str, update: m.EndpointUpdate) -> m.Endpoint:
        """As in the port."""
        return await self._wire.patch(m.Endpoint, f"endpoints/{segment(endpoint)}", update)

    async def remove_endpoint(self, endpoint: str, proof: m.Proven | None = None) -> m.Endpoint:
        """As in the port."""
        proof = proof or m.Proven()
        self._private(proof)
        return await self._wire.post(m.Endpoint, f"endpoints/{segment(endpoint)}/remove", proof)

    async def browse(self, endpoint: str, path: str, *, after: str | None = None, limit: int = 200) -> m.FolderPage:
        """As in the port."""
        query = {"path": path, "after": after, "limit": limit}
        return await self._wire.get(m.FolderPage, f"endpoints/{segment(endpoint)}/browse", query=query)

    async def nodes(self, *, limit: int = 200, after: str | None = None) -> m.Page[m.Node]:
        """As in the port."""
        return await self._wire.get(m.Page[m.Node], "nodes", query={"limit": limit, "after": after})

    async def node_host(self, node: str, *, to: str | None = None) -> m.NodeHost:
        """As in the port."""
        return await self._wire.get(m.NodeHost, f"nodes/{segment(node)}/host", query={"to": to})

    async def node_throughput(
        self,
        node: str,
        *,
        direction: m.Direction = "received",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> m.Throughput:
        """As in the port."""
        query = _found("", since, until) | {"direction": direction}
        return await self._wire.get(m.Throughput, f"nodes/{segment(node)}/throughput", query=query)

    async def create_join_token(self, request: m.JoinTokenRequest) -> m.JoinToken:
        """As in the port."""
        self._private(request)
        return await self._wire.post(m.JoinToken, "nodes/join-tokens", request)

    async def drain_node(self, node: str, *, drain: bool) -> m.Node:
        """As in the port."""
        path = f"nodes/{segment(node)}/{'drain' if drain else 'undrain'}"
        return await self._wire.post(m.Node, path)

    async def revoke_node(self, node: str, proof: m.Proven | None = None) -> m.Node:
        """As in the port."""
        proof = proof or m.Proven()
        self._private(proof)
        return await self._wire.post(m.Node, f"nodes/{segment(node)}/revoke", proof)

    async def rotate_node(self, node: str, request: m.RotationRequest) -> m.JoinToken:
        """As in the port."""
        self._private(request)
        return await self._wire.post(m.JoinToken, f"nodes/{segment(node)}/rotate", request)

    async def remove_node(self, node: str, proof: m.Proven | None = None) -> m.Node:
        """As in the port."""
        proof = proof or m.Proven()
        self._private(proof)
        return await self._wire.post(m.Node, f"nodes/{segment(node)}/remove", proof)

    # -- halts --

    async def halt(self, request: m.HaltRequest) -> m.Halt:
        """As in the port."""
        return await self._wire.post(m.Halt, "site/halt", request)

    async def release_halt(self, halt: str) -> None:
        """As in the port."""
        await self._wire.delete(f"site/halt/{segment(halt)}")

    async def quotas(self, *, limit: int = 200, after: str | None = None) -> m.Page[m.QuotaUse]:
        """As in the port."""
        return await self._wire.get(m.Page[m.QuotaUse], "quotas", query={"limit": limit, "after": after})

    async def halts(self) -> m.Page[m.Halt]:
        """As in the port."""
        return await self._wire.get(m.Page[m.Halt], "site/halts")

    # -- policy, audit --

    async def policies(self, *, after: str | None = None) -> m.Page[m.PolicyVersion]:
        """As in the port."""
        return await self._wire.get(m.Page[m.PolicyVersion], "policies", query={"after": after})

    async def check_policy(self, text: m.PolicyText) -> m.PolicyCheck:
        """As in the port."""
        return await self._wire.post(m.PolicyCheck, "policies/check", text)

    async def simulate_policy(self, text: m.PolicyText) -> m.PolicySimulation:
        """As in the port."""
        return await self._wire.post(m.PolicySimulation, "policies/simulate", text)

    async def policy_needs(self) -> m.Page[m.PolicyNeed]:
        """As in the port."""
        return await self._wire.get(m.Page[m.PolicyNeed], "policies/needs")

    async def guided_rules(self, asked: m.GuidedRequest) -> m.GuidedRules:
        """As in the port."""
        return await self._wire.post(m.GuidedRules, "policies/guide", asked)

    async def who_may(self, asked: m.WhoMayRequest) -> m.Page[m.WhoMay]:
        """As in the port."""
        return await self._wire.post(m.Page[m.WhoMay], "policies/who", asked)

    async def propose_policy(self, text: m.PolicyText) -> m.PolicyVersion:
        """As in the port."""
        return await self._wire.post(m.PolicyVersion, "policies", text)

    async def withdraw_policy(self, version: str) -> m.PolicyVersion:
        """As in the port."""
        return await self._wire.post(m.PolicyVersion, f"policies/{segment(version)}/withdraw")

    async def publish_policy(self, version: str, proof: m.Proven | None = None) -> m.PolicyVersion:
        """As in the port."""
        proof = proof or m.Proven()
        self._private(proof)
        return await self._wire.post(m.PolicyVersion, f"policies/{segment(version)}/publish", proof)

    async def qos(self) -> m.Qos:
        """As in the port."""
        return await self._wire.get(m.Qos, "qos")

    async def qos_versions(self, *, after: str | None = None) -> m.Page[m.QosVersion]:
        """As in the port."""
        return await self._wire.get(m.Page[m.QosVersion], "qos/versions", query={"after": after})

    async def check_qos(self, text: m.QosText) -> m.QosCheck:
        """As in the port."""
        return await self._wire.post(m.QosCheck, "qos/check", text)

    async def propose_qos(self, text: m.QosText) -> m.QosVersion:
        """As in the port."""
        return await self._wire.post(m.QosVersion, "qos/versions", text)

    async def withdraw_qos(self, version: str) -> m.QosVersion:
        """As in the port."""
        return await self._wire.post(m.QosVersion, f"qos/versions/{segment(version)}/withdraw")

    async def publish_qos(self, version: str, proof: m.Proven | None = None) -> m.QosVersion:
        """As in the port."""
        proof = proof or m.Proven()
        self._private(proof)
        return await self._wire.post(m.QosVersion, f"qos/versions/{segment(version)}/publish", proof)

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
        query = {
            "after": after,
            "limit": limit,
            "order": order,
            "kind": kind,
            "kinds": ",".join(kinds) or None,
            "person": person,
            "subject": subject,
            "since": since.isoformat() if since else None,
            "until": until.isoformat() if until else None,
        }
        return await self._wire.get(m.Page[m.AuditEvent], "audit", query=query)

    async def verify_audit(self, *, full: bool = False) -> m.AuditVerdict:
        """As in the port."""
        return await self._wire.get(m.AuditVerdict, "audit/verify", query={"full": full})

    # -- people --

    async def people(self, *, limit: int = 200, after: str | None = None) -> m.Page[m.Person]:
        """As in the port."""
        return await self._wire.get(m.Page[m.Person], "people", query={"limit": limit, "after": after})

    async def invite(self, request: m.InvitationRequest) -> m.Invitation:
        """As in the port."""
        self._private(request)
        return await self._wire.post(m.Invitation, "people/invitations", request)

    async def create_service_account(self, request: m.ServiceAccountRequest) -> m.Person:
        """As in the port."""
        self._private(request)
        return await self._wire.post(m.Person, "people/service-accounts", request)

    async def disable_person(self, person: str) -> m.Person:
        """As in the port."""
        return await self._wire.post(m.Person, f"people/{segment(person)}/disable")

    async def enable_person(self, person: str, proof: m.Proven | None = None) -> m.Person:
        """As in the port."""
        proof = proof or m.Proven()
        self._private(proof)
        return await self._wire.post(m.Person, f"people/{segment(person)}/enable", proof)

    async def update_person(self, person: str, update: m.PersonUpdate) -> m.Person:
        """As in the port."""
        self._private(update)
        return await self._wire.patch(m.Person, f"people/{segment(person)}", update)

    async def link_identity(self, person: str, link: m.IdentityLink) -> m.Person:
        """As in the port."""
        self._private(link)
        return await self._wire.post(m.Person, f"people/{segment(person)}/identities", link)

    async def unlink_identity(self, person: str, link: m.IdentityLink) -> m.Person:
        """As in the port."""
        return await self._wire.post(m.Person, f"people/{segment(person)}/identities/remove", link)

    async def group_bindings(self) -> m.GroupBindings:
        """As in the port."""
        return await self._wire.get(m.GroupBindings, "group-bindings")

    async def propose_group_bindings(self, request: m.GroupBindingsRequest) -> m.GroupBindings:
        """As in the port."""
        return await self._wire.post(m.GroupBindings, "group-bindings/proposals", request)

    async def publish_group_bindings(self, proposal: str, proof: m.Proven | None = None) -> m.GroupBindings:
        """As in the port."""
        proof = proof or m.Proven()
        self._private(proof)
        path = f"group-bindings/proposals/{segment(proposal)}/publish"
        return await self._wire.post(m.GroupBindings, path, proof)

    async def invite_again(self, person: str, proof: m.Proven | None = None) -> m.Invitation:
        """As in the port."""
        proof = proof or m.Proven()
        self._private(proof)
        return await self._wire.post(m.Invitation, f"people/{segment(person)}/invitations", proof)

    async def change_password(self, change: m.PasswordChange) -> None:
        """As in the port."""
        self._wire.require_privacy()
        await self._wire.post(m.Me, "me/password", change)

    async def passkeys(self, *, person: str | None = None) -> m.Page[m.Passkey]:
        """As in the port."""
        return await self._wire.get(m.Page[m.Passkey], "passkeys", query={"person": person})

    async def begin_passkey(self, proof: m.Proven | None = None) -> m.PasskeyChallenge:
        """As in the port."""
        proof = proof or m.Proven()
        self._private(proof)
        return await self._wire.post(m.PasskeyChallenge, "passkeys/challenge", proof)

    async def add_passkey(self, request: m.PasskeyRequest) -> m.Passkey:
        """As in the port."""
        return await self._wire.post(m.Passkey, "passkeys", request)

    async def remove_passkey(self, passkey: str, proof: m.Proven | None = None, *, person: str | None = None) -> None:
        """As in the port."""
        whose = f"people/{segment(person)}/" if person else ""
        await self._wire.post_for_nothing(f"{whose}passkeys/{segment(passkey)}/remove", proof)

    async def use_passkey(self, proof: m.Proven | None = None) -> None:
        """As in the port."""
        await self._wire.post_for_nothing("passkeys/use", proof)

    async def sessions(self, *, person: str | None = None) -> m.Page[m.OpenSession]:
        """As in the port."""
        return await self._wire.get(m.Page[m.OpenSession], "sessions", query={"person": person})

    async def end_session(self, session: str, *, person: str | None = None) -> None:
        """As in the port."""
        whose = f"people/{segment(person)}/" if person else ""
        await self._wire.delete(f"{whose}sessions/{segment(session)}")

    async def tokens(self, *, everybody: bool = False, limit: int = 200, after: str | None = None) -> m.Page[m.Token]:
        """As in the port."""
        query = {"everybody": everybody, "limit": limit, "after": after}
        return await self._wire.get(m.Page[m.Token], "tokens", query=query)

    async def create_token(self, request: m.TokenRequest) -> m.Token:
        """As in the port."""
        self._private(request)
        return await self._wire.post(m.Token, "tokens", request)

    def _private(self, proven: m.Proven) -> None:
        """Send no password where others can read it."""
        if proven.password is not None:
            self._wire.require_privacy()

    async def revoke_token(self, token: str) -> None:
        """As in the port."""
        await self._wire.delete(f"tokens/{segment(token)}")


def _whose(endpoint: str, label: str, person: str, agent: str, project: str) -> _Query:
    """Write whose a list is."""
    said = {"endpoint": endpoint, "label": label, "person": person, "agent": agent, "project": project}
    return {name: value or None for name, value in said.items()}


def _newest(order: Order, limit: int, after: str | None) -> _Query:
    """Write the page of a list that begins with the newest unless told otherwise."""
    return {"order": None if order == "newest" else order, "limit": limit, "after": after}


def _found(search: str, since: datetime | None, until: datetime | None) -> _Query:
    """Write what a list is narrowed to; a time without a zone is local."""
    return {
        "search": search or None,
        "since": since.astimezone().isoformat() if since else None,
        "until": until.astimezone().isoformat() if until else None,
    }
