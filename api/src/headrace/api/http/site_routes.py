"""Routes: endpoints, nodes, policies, quality of service, audit."""

from typing import Annotated

from fastapi import APIRouter, Query

from headrace.api.http.identity import Id, LastId, Port
from headrace.api.http.plan_routes import LongPage
from headrace.api.http.transfer_routes import After, From, To
from headrace.client import models as m
from headrace.client.port import Order

router = APIRouter(tags=["site"])


@router.get("/endpoints")
async def endpoints(  # noqa: PLR0913 - each narrows the page
    port: Port,
    *,
    limit: LongPage = 200,
    after: LastId = None,
    q: Annotated[
        str,
        Query(max_length=200, description="only those with this text in an id, an alias, the root or the node's name"),
    ] = "",
    label: Annotated[
        str, Query(max_length=250, description="only those with this label: `name=value`, or a name")
    ] = "",
    node: Annotated[str, Query(max_length=200, description="only those of this node (id, name or key)")] = "",
) -> m.Page[m.Endpoint]:
    """List the endpoints by id, page by page: `after` is `next` of the page before."""
    return await port.endpoints(limit=limit, after=after, q=q, label=label, node=node)


@router.patch("/endpoints/{endpoint}")
async def update_endpoint(port: Port, endpoint: Id, body: m.EndpointUpdate) -> m.Endpoint:
    """Change an endpoint's id, aliases or labels."""
    return await port.update_endpoint(endpoint, body)


@router.post("/endpoints/{endpoint}/remove")
async def remove_endpoint(port: Port, endpoint: Id, body: m.Proven | None = None) -> m.Endpoint:
    """Forget an endpoint whose node exports its root no longer: its names are free again."""
    return await port.remove_endpoint(endpoint, body)


@router.get("/endpoints/{endpoint}/browse")
async def browse(
    port: Port,
    endpoint: Id,
    path: Annotated[str, Query(max_length=5000)] = "/",
    after: Annotated[str | None, Query(max_length=1000)] = None,
    limit: LongPage = 200,
) -> m.FolderPage:
    """List one folder, ordered by name."""
    return await port.browse(endpoint, path, after=after, limit=limit)


@router.get("/nodes")
async def nodes(port: Port, limit: LongPage = 200, after: LastId = None) -> m.Page[m.Node]:
    """List the nodes by name, page by page, and whether they are attached."""
    return await port.nodes(limit=limit, after=after)


@router.get("/nodes/{node}/host")
async def node_host(port: Port, node: Id, to: Annotated[str | None, Query(max_length=45)] = None) -> m.NodeHost:
    """Ask a node what its host is like, and for its route to the IP address `to`."""
    return await port.node_host(node, to=to)


@router.get("/nodes/{node}/throughput")
async def node_throughput(
    port: Port, node: Id, *, direction: m.Direction = "received", since: From = None, until: To = None
) -> m.Throughput:
    """Show how fast a node sent or received over time: the last hour, unless a range is given."""
    return await port.node_throughput(node, direction=direction, since=since, until=until)


@router.post("/nodes/join-tokens", status_code=201)
async def create_join_token(port: Port, body: m.JoinTokenRequest) -> m.JoinToken:
    """Make a one-time token with which one node may join."""
    return await port.create_join_token(body)


@router.post("/nodes/{node}/drain")
async def drain_node(port: Port, node: Id) -> m.Node:
    """Give a node no new work; what runs there goes on."""
    return await port.drain_node(node, drain=True)


@router.post("/nodes/{node}/undrain")
async def undrain_node(port: Port, node: Id) -> m.Node:
    """Give a drained node work again."""
    return await port.drain_node(node, drain=False)


@router.post("/nodes/{node}/revoke")
async def revoke_node(port: Port, node: Id, body: m.Proven | None = None) -> m.Node:
    """End a node's membership for good; what runs there stops."""
    return await port.revoke_node(node, body)


@router.post("/nodes/{node}/rotate", status_code=201)
async def rotate_node(port: Port, node: Id, body: m.RotationRequest) -> m.JoinToken:
    """Make a one-time token with which a node takes another key; its endpoints stay."""
    return await port.rotate_node(node, body)


@router.post("/nodes/{node}/remove")
async def remove_node(port: Port, node: Id, body: m.Proven | None = None) -> m.Node:
    """Forget a revoked node: its names are free again, its key stays refused."""
    return await port.remove_node(node, body)


@router.post("/site/halt", status_code=201)
async def halt(port: Port, body: m.HaltRequest) -> m.Halt:
    """Halt a transfer, person, assistant, endpoint or node, or everything: what runs of it stops and waits."""
    return await port.halt(body)


@router.delete("/site/halt/{halt}", status_code=204)
async def release_halt(port: Port, halt: Id) -> None:
    """Release a halt; what waited for it goes on."""
    await port.release_halt(halt)


@router.get("/site/halts")
async def halts(port: Port) -> m.Page[m.Halt]:
    """List what is halted, the newest first: all of it, as people halt and release one by one."""
    return await port.halts()


@router.get("/quotas")
async def quotas(
    port: Port,
    limit: LongPage = 200,
    after: Annotated[str | None, Query(max_length=1200, description="`next` of the page before")] = None,
) -> m.Page[m.QuotaUse]:
    """List the quotas that concern the caller, and those of places; operators, auditors and administrators see all."""
    return await port.quotas(limit=limit, after=after)


@router.get("/policies")
async def policies(port: Port, after: LastId = None) -> m.Page[m.PolicyVersion]:
    """List the policy's versions, newest first, as many as fit an answer."""
    return await port.policies(after=after)


@router.post("/policies/check")
async def check_policy(port: Port, body: m.PolicyText) -> m.PolicyCheck:
    """Check a policy text and its examples; nothing is stored."""
    return await port.check_policy(body)


@router.post("/policies/simulate")
async def simulate_policy(port: Port, body: m.PolicyText) -> m.PolicySimulation:
    """Decide the newest 1,000 decided plans again under a text; nothing is stored."""
    return await port.simulate_policy(body)


@router.get("/policies/needs")
async def policy_needs(port: Port) -> m.Page[m.PolicyNeed]:
    """List what rules can be made for from a few values: all of it, which the program holds."""
    return await port.policy_needs()


@router.post("/policies/guide")
async def guided_rules(port: Port, body: m.GuidedRequest) -> m.GuidedRules:
    """Make the rules of a need, with examples that hold beside a text; nothing is stored."""
    return await port.guided_rules(body)


@router.post("/policies/who")
async def who_may(port: Port, body: m.WhoMayRequest) -> m.Page[m.WhoMay]:
    """Ask the active policy about every active person."""
    return await port.who_may(body)


@router.post("/policies", status_code=201)
async def propose_policy(port: Port, body: m.PolicyText) -> m.PolicyVersion:
    """Store a valid policy text as a proposed version."""
    return await port.propose_policy(body)


@router.post("/policies/{version}/withdraw")
async def withdraw_policy(port: Port, version: Id) -> m.PolicyVersion:
    """Take your own proposal back: nobody publishes it any more."""
    return await port.withdraw_policy(version)


@router.post("/policies/{version}/publish")
async def publish_policy(port: Port, version: Id, body: m.Proven | None = None) -> m.PolicyVersion:
    """Make a version active (a retired one: roll back); never by its author."""
    return await port.publish_policy(version, body)


@router.get("/qos")
async def qos(port: Port) -> m.Qos:
    """Show the links, classes and calendars in force, and what transfers get by them."""
    return await port.qos()


@router.get("/qos/versions")
async def qos_versions(port: Port, after: LastId = None) -> m.Page[m.QosVersion]:
    """List the versions of links, classes and calendars, newest first, as many as fit an answer."""
    return await port.qos_versions(after=after)


@router.post("/qos/check")
async def check_qos(port: Port, body: m.QosText) -> m.QosCheck:
    """Say what stands against publishing a text; nothing is stored."""
    return await port.check_qos(body)


@router.post("/qos/versions", status_code=201)
async def propose_qos(port: Port, body: m.QosText) -> m.QosVersion:
    """Store a text that could be published as a proposed version."""
    return await port.propose_qos(body)


@router.post("/qos/versions/{version}/withdraw")
async def withdraw_qos(port: Port, version: Id) -> m.QosVersion:
    """Take your own proposal back: nobody publishes it any more."""
    return await port.withdraw_qos(version)


@router.post("/qos/versions/{version}/publish")
async def publish_qos(port: Port, version: Id, body: m.Proven | None = None) -> m.QosVersion:
    """Put a version in force (a retired one: propose it anew); never by its author."""
    return await port.publish_qos(version, body)


@router.get("/audit")
async def audit(  # noqa: PLR0913 - each narrows the page
    port: Port,
    *,
    after: After = None,
    limit: LongPage = 200,
    order: Order = "oldest",
    kind: Annotated[str | None, Query(max_length=40)] = None,
    kinds: Annotated[
        str, Query(pattern="^([a-z_]+(,[a-z_]+)*)?$", max_length=400, description="several, with commas between")
    ] = "",
    person: Annotated[str | None, Query(max_length=60)] = None,
    subject: Annotated[str | None, Query(max_length=200)] = None,
    since: m.AwareMoment | None = None,
    until: m.AwareMoment | None = None,
) -> m.Page[m.AuditEvent]:
    """List audit events, oldest or newest first."""
    return await port.audit(
        after=after,
        limit=limit,
        order=order,
        kind=kind,
        kinds=kinds.split(",") if kinds else [],
        person=person,
        subject=subject,
        since=since,
        until=until,
    )


@router.get("/audit/verify")
async def verify_audit(port: Port, *, full: bool = False) -> m.AuditVerdict:
    """Check the audit chain to its head and against the last exported head.

    Events that the service found whole within the last day are not read again unless `full` asks for it.
    """
    return await port.verify_audit(full=full)
