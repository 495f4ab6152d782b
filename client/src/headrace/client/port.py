"""The port `Headrace`: every call of every door, bound to one principal when it is made.

Implemented by `HttpHeadrace` (a session or token over HTTP) and, inside the service, by
`service.acting_for(principal)`. No method takes a user id. Every method may raise `HeadraceError`.
"""

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from typing import Literal, Protocol

from headrace.client import models as m

Order = Literal["oldest", "newest"]


class HeadraceError(Exception):
    """A call that was refused or failed; carries the problem document (code, what, where, what to do)."""

    def __init__(self, problem: m.Problem) -> None:
        """Keep `problem`; its detail is the message."""
        super().__init__(problem.detail)
        self.problem = problem


class Headrace(Protocol):
    """What a person, pipeline or assistant can do."""

    async def me(self) -> m.Me:
        """Say who is calling, and what that caller may do."""
        ...

    async def health(self) -> m.Health:
        """Say whether the service can work; needs no sign-in."""
        ...

    async def interpret(self, request: m.InterpretRequest) -> m.Interpretation:
        """Read words without planning; nothing is listed or moved."""
        ...

    async def create_plan(self, request: m.PlanRequest) -> m.Plan:
        """Start planning; returns at once, usually in state `surveying`."""
        ...

    async def plan(self, plan: str, *, wait_s: float = 0, document: bool = False) -> m.Plan:
        """Return the plan by id or digest; waits up to `wait_s` (at most 30) for it to leave `surveying`."""
        ...

    async def plans(  # noqa: PLR0913 - each narrows the page
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
        """List the caller's plans, newest first.

        `awaiting_me`: others' plans that the caller may approve instead; `person`: a person's (id or name) that the
        caller may see. Every word of `search` is looked for in ids, words and sentences; the other parameters are as
        in `transfers`.
        """
        ...

    async def plan_counts(self) -> m.PlanCounts:
        """Count the plans that wait for the caller's approval, and the caller's own that could still start."""
        ...

    async def confirm_plan(self, plan: str, confirmation: m.Confirmation) -> m.Plan:
        """Give or decline the requester's own yes; refused unless the caller holds an interactive session."""
        ...

    async def approve_plan(self, plan: str, approval: m.Approval) -> m.Plan:
        """Give or refuse another person's yes; refused to the requester and without an interactive session."""
        ...

    async def drop_plan(self, plan: str) -> m.Plan:
        """Give up one's own plan that has not started: it can't start any more, and no longer waits for anybody."""
        ...

    async def why(self, plan: str) -> m.Decision:
        """Explain the decision on a plan, with its rules."""
        ...

    async def losses(
        self, plan: str, *, how: m.LossKind | None = None, after: str | None = None, limit: int = 200
    ) -> m.LossPage:
        """List what a plan replaces at its destination, then what it deletes there, name by name; moves nothing.

        `how` is only one of the two; `limit` is at most 1000, `after` is `next` of the page before. The files of its
        source that a move deletes are those that it copies, and not listed.
        """
        ...

    async def submit(self, request: m.SubmitRequest) -> m.Transfer:
        """Run a ready plan named by its digest; running it again answers with the transfer it already has."""
        ...

    async def transfer(self, transfer: str, *, wait_s: float = 0) -> m.Transfer:
        """Return the transfer by id or unique prefix of its id; waits up to `wait_s` (at most 30) for it to end."""
        ...

    async def transfers(  # noqa: PLR0913 - each narrows the page
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
        """List the transfers that the caller may see, newest first, or in the order `oldest`.

        `states` takes several of them. `endpoint` (id or alias) is the source or the destination, `label` (`name=value`
        or a name alone) one of its labels; `person` (id or name) asked for it, by the assistant `agent`, for `project`.
        Every word of `search` is looked for in ids, places and the requester's name. They were submitted from `since`
        on and before `until`. `limit` is at most 200, `after` is `next` of the page before.
        """
        ...

    async def transfer_counts(  # noqa: PLR0913 - each narrows what is counted
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
        """Count the transfers that the caller may see, by state; narrowed as in `transfers`."""
        ...

    async def control(self, transfer: str, request: m.ControlRequest) -> m.Transfer:
        """Pause, resume or cancel a transfer, try it again, or change its rate.

        A retry of a partial transfer sends its failed files; of a failed one, it runs the whole plan again, and files
        that are there already are skipped as identical.
        """
        ...

    def watch(self, transfer: str) -> AsyncGenerator[m.TransferEvent]:
        """Yield events and progress until the transfer ends; reconnects by itself.

        Progress is not kept, and only the newest is sent. The last event carries the transfer in its end state.
        """
        ...

    def changes(self, *, after: int | None = None) -> AsyncGenerator[m.Change]:
        """Yield what changes among what the caller may see, in order: after number `after`, or from now on.

        A change carries no data: read what it names. `reload` says that changes were missed: read everything anew. The
        first message without `after` is `now`, with the number that is current. Raises when the stream breaks; call it
        again with the last number.
        """
        ...

    async def transfer_events(
        self, transfer: str, *, after: str | None = None, limit: int = 200, order: Order = "oldest"
    ) -> m.Page[m.TransferEvent]:
        """List kept events in order, after the one with sequence `after`; `limit` is at most 1000.

        With the order `newest` they come the other way round, from the one before `after` or from the last.
        """
        ...

    async def diagnose(self, transfer: str) -> m.Diagnosis:
        """Say what limits a transfer now, or what limited its last attempt: one verdict, its evidence, and a remedy."""
        ...

    async def measured(self, transfer: str) -> m.Measured:
        """Show what both nodes measured of a transfer's data connections and stages: now, or over its last attempt."""
        ...

    async def probed(self, transfer: str) -> m.Probed:
        """Show what a probe has measured: the rates of its legs, and which stage is the tightest."""
        ...

    async def throughput(
        self, transfer: str, *, since: datetime | None = None, until: datetime | None = None
    ) -> m.Throughput:
        """Show how fast a transfer was over time: from its start to its end or now, unless a range is given."""
        ...

    async def failed_files(self, transfer: str, *, after: str | None = None, limit: int = 200) -> m.Page[m.FailedFile]:
        """List files that did not arrive; `limit` is at most 1000, `after` is `next` of the page before."""
        ...

    async def receipt(self, receipt: str) -> m.Receipt:
        """Return a receipt by its id or its transfer's id."""
        ...

    def receipt_files(self, receipt: str) -> AsyncGenerator[bytes]:
        """Yield the per-file list (files.jsonl) whose digest the receipt's statements hold, in chunks."""
        ...

    async def endpoints(
        self, *, limit: int = 200, after: str | None = None, q: str = "", label: str = "", node: str = ""
    ) -> m.Page[m.Endpoint]:
        """List the endpoints by id; `limit` is at most 1000, `after` is `next` of the page before.

        Narrowed to those with the text `q` in their id, an alias, the root or the node's name, with a label
        (`class=restricted`, or `class` with any value), of a `node` (id, name or key). `whole_list` reads all.
        """
        ...

    async def update_endpoint(self, endpoint: str, update: m.EndpointUpdate) -> m.Endpoint:
        """Change an endpoint's id, aliases or labels, on which policy decides."""
        ...

    async def remove_endpoint(self, endpoint: str, proof: m.Proven | None = None) -> m.Endpoint:
        """Forget an endpoint that its node has no longer, as it is shown once more: its names are free again."""
        ...

    async def browse(self, endpoint: str, path: str, *, after: str | None = None, limit: int = 200) -> m.FolderPage:
        """List one folder of an endpoint, ordered by name; `limit` is at most 1000."""
        ...

    async def nodes(self, *, limit: int = 200, after: str | None = None) -> m.Page[m.Node]:
        """List the nodes by name and whether they are attached; `limit` and `after` as of `endpoints`."""
        ...

    async def node_host(self, node: str, *, to: str | None = None) -> m.NodeHost:
        """Ask a node what its host is like, and for its route to the IP address `to`. Nothing is changed there."""
        ...

    async def node_throughput(
        self,
        node: str,
        *,
        direction: m.Direction = "received",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> m.Throughput:
        """Show how fast a node sent or received over time: the last hour, unless a range is given."""
        ...

    async def create_join_token(self, request: m.JoinTokenRequest) -> m.JoinToken:
        """Make a one-time token with which one node may join."""
        ...

    async def drain_node(self, node: str, *, drain: bool) -> m.Node:
        """Stop (or allow again) new work on a node; what runs there goes on."""
        ...

    async def revoke_node(self, node: str, proof: m.Proven | None = None) -> m.Node:
        """End a node's membership for good; what runs there stops."""
        ...

    async def rotate_node(self, node: str, request: m.RotationRequest) -> m.JoinToken:
        """Make a one-time token with which a node takes another key; its endpoints stay, the key from before ends."""
        ...

    async def remove_node(self, node: str, proof: m.Proven | None = None) -> m.Node:
        """Forget a revoked node, as it is shown once more: all its names are free again, its key stays refused."""
        ...

    async def halt(self, request: m.HaltRequest) -> m.Halt:
        """Halt a transfer, person, assistant, endpoint or node, or everything: what runs of it stops and waits."""
        ...

    async def release_halt(self, halt: str) -> None:
        """Release a halt; what waited for it goes on."""
        ...

    async def quotas(self, *, limit: int = 200, after: str | None = None) -> m.Page[m.QuotaUse]:
        """List the quotas that concern the caller, and those of places; operators, auditors and admins see all.

        `limit` and `after` as of `endpoints`.
        """
        ...

    async def halts(self) -> m.Page[m.Halt]:
        """List what is halted, the newest first: all of it, as people halt and release one by one."""
        ...

    async def policies(self, *, after: str | None = None) -> m.Page[m.PolicyVersion]:
        """List the policy's versions, newest first, as many as fit an answer; `after` is `next` of the page before."""
        ...

    async def check_policy(self, text: m.PolicyText) -> m.PolicyCheck:
        """Check a policy text against the schema; nothing is stored."""
        ...

    async def simulate_policy(self, text: m.PolicyText) -> m.PolicySimulation:
        """Decide the newest 1,000 decided plans again under a valid policy text; lists each that would change."""
        ...

    async def policy_needs(self) -> m.Page[m.PolicyNeed]:
        """List what rules can be made for from a few values: all of it, which the program holds."""
        ...

    async def guided_rules(self, asked: m.GuidedRequest) -> m.GuidedRules:
        """Make the rules of a need, with examples; nothing is stored."""
        ...

    async def who_may(self, asked: m.WhoMayRequest) -> m.Page[m.WhoMay]:
        """Ask the active policy about every active person (500 at most), the mildest answers first."""
        ...

    async def propose_policy(self, text: m.PolicyText) -> m.PolicyVersion:
        """Store a valid policy text as a proposed version; with a token, as a draft that a person proposes again."""
        ...

    async def withdraw_policy(self, version: str) -> m.PolicyVersion:
        """Take an own proposal back: nobody publishes it any more."""
        ...

    async def publish_policy(self, version: str, proof: m.Proven | None = None) -> m.PolicyVersion:
        """Make a proposed or retired version active (a retired one: roll back); never by its author alone."""
        ...

    async def qos(self) -> m.Qos:
        """Show the links, classes and calendars in force, and what transfers get by them; others' without a name."""
        ...

    async def qos_versions(self, *, after: str | None = None) -> m.Page[m.QosVersion]:
        """List the versions of links, classes and calendars, newest first; `after` is `next` of the page before."""
        ...

    async def check_qos(self, text: m.QosText) -> m.QosCheck:
        """Say what stands against publishing these links, classes and calendars; nothing is stored."""
        ...

    async def propose_qos(self, text: m.QosText) -> m.QosVersion:
        """Store links, classes and calendars that could be published as a proposed version; as of the policy."""
        ...

    async def withdraw_qos(self, version: str) -> m.QosVersion:
        """Take an own proposal back: nobody publishes it any more."""
        ...

    async def publish_qos(self, version: str, proof: m.Proven | None = None) -> m.QosVersion:
        """Put a proposed version in force, or propose a retired one anew (roll back); never by its author alone."""
        ...

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
        """List audit events, oldest or newest first; `limit` is at most 1000.

        `after` is a sequence, `next` of the page before; `kinds` takes several of them, `person` is an id or a name,
        `subject` the id of what the event is about, and `since` (kept) and `until` (left out) are times. Without any of
        these, events come in the order of the chain, else in the order of time.
        """
        ...

    async def verify_audit(self, *, full: bool = False) -> m.AuditVerdict:
        """Check the audit chain to its head; `full` also reads again what was checked within the last day."""
        ...

    async def people(self, *, limit: int = 200, after: str | None = None) -> m.Page[m.Person]:
        """List people, oldest first, with their identities elsewhere; `after` is `next` of the page before."""
        ...

    async def invite(self, request: m.InvitationRequest) -> m.Invitation:
        """Invite a person by a one-time link, shown once."""
        ...

    async def create_service_account(self, request: m.ServiceAccountRequest) -> m.Person:
        """Make an account that owns tokens of pipelines and never signs in."""
        ...

    async def disable_person(self, person: str) -> m.Person:
        """Disable a person; their sessions and tokens end."""
        ...

    async def enable_person(self, person: str, proof: m.Proven | None = None) -> m.Person:
        """Let a disabled person who signs in elsewhere, or a service account, act again; what ended stays ended.

        A site may want a proof.
        """
        ...

    async def update_person(self, person: str, update: m.PersonUpdate) -> m.Person:
        """Replace the roles or groups that are granted to a person."""
        ...

    async def link_identity(self, person: str, link: m.IdentityLink) -> m.Person:
        """Make who somebody is at an issuer this person's; whose it was loses it, and is signed out."""
        ...

    async def unlink_identity(self, person: str, link: m.IdentityLink) -> m.Person:
        """Take an identity from a person, who is signed out."""
        ...

    async def group_bindings(self) -> m.GroupBindings:
        """List what the groups of issuers give here."""
        ...

    async def propose_group_bindings(self, request: m.GroupBindingsRequest) -> m.GroupBindings:
        """Propose what the groups of issuers give, for another administrator, or say whose rights that would change.

        It takes the place of what was proposed before; what holds already withdraws that.
        """
        ...

    async def publish_group_bindings(self, proposal: str, proof: m.Proven | None = None) -> m.GroupBindings:
        """Let the groups of issuers give what another administrator has proposed."""
        ...

    async def invite_again(self, person: str, proof: m.Proven | None = None) -> m.Invitation:
        """Give a person a new one-time link, good for three days: to join, to come back, or for another password."""
        ...

    async def change_password(self, change: m.PasswordChange) -> None:
        """Replace one's own password; one's other sessions end."""
        ...

    async def passkeys(self, *, person: str | None = None) -> m.Page[m.Passkey]:
        """List the caller's passkeys, or as an administrator a person's, oldest first: all, as nobody has over 20."""
        ...

    async def begin_passkey(self, proof: m.Proven | None = None) -> m.PasskeyChallenge:
        """Begin to add a passkey, with a proof that the person is there; a device answers the challenge."""
        ...

    async def add_passkey(self, request: m.PasskeyRequest) -> m.Passkey:
        """Add a passkey by a device's answer to the challenge."""
        ...

    async def remove_passkey(self, passkey: str, proof: m.Proven | None = None, *, person: str | None = None) -> None:
        """Remove one of the caller's passkeys, or as an administrator one of a person's, with a proof of presence."""
        ...

    async def use_passkey(self, proof: m.Proven | None = None) -> None:
        """Use a passkey in the session that calls: from then on policy sees its factors in what is asked there."""
        ...

    async def sessions(self, *, person: str | None = None) -> m.Page[m.OpenSession]:
        """List the caller's open sessions, or as an administrator a person's: the newest 1,000 that are still good."""
        ...

    async def end_session(self, session: str, *, person: str | None = None) -> None:
        """End one of the caller's sessions, or as an administrator one of a person's."""
        ...

    async def tokens(self, *, everybody: bool = False, limit: int = 200, after: str | None = None) -> m.Page[m.Token]:
        """List the caller's API tokens, or as an administrator everybody's, oldest first, without their secrets.

        `limit` and `after` as of `endpoints`.
        """
        ...

    async def create_token(self, request: m.TokenRequest) -> m.Token:
        """Make an API token, never with more than the caller's own scopes; its secret is shown once."""
        ...

    async def revoke_token(self, token: str) -> None:
        """End an API token at once."""
        ...
