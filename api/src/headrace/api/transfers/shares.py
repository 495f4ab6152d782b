"""What each transfer gets of links, and that its nodes know it: when it begins, and as anything changes.

Nodes schedule; this says by what: classes and links to nodes, a share to each transfer. It is worked out anew every two
seconds, when a transfer begins, and when another version comes in force, and sent where it is another than before.
That is arithmetic and never waits; who is told waits for nobody else (`Telling`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.jobs.turns import InLine
from headrace.api.policy.grants import Grants
from headrace.api.policy.links import WAYS, Divided, Moving, Way, divide, path_of
from headrace.api.policy.promises import AHEAD
from headrace.api.policy.qos import InForce, QosVersions, node_keys
from headrace.api.policy.share_texts import NO_LINKS, node_text, rates_of, share_text
from headrace.api.transfers.guarantees import Guarantees, guarantees, order_of
from headrace.api.transfers.run_state import Run
from headrace.api.transfers.telling import Telling, settle
from headrace.auth import Scope
from headrace.client import models as m
from headrace.guardrails import PolicySet

RENEW_S: Final = 2
"""Time between looks at what is used and what is not."""
_PROMISED_ANEW: Final = timedelta(seconds=10)
"""How old what a deadline needs may be, far from it."""
_NEAR: Final = 4
"""And near it: this part of the time that is left."""
_SETTLED: Final = timedelta(seconds=5)
"""How long an attempt has run before what it takes says what it can use."""
PATIENCE_S: Final = 2.0
"""How long an attempt waits at its beginning for its own nodes to say that they know their links."""
_SEES_ALL: Final = (Scope.NODE_WRITE, Scope.ADMIN, Scope.AUDIT_READ)


class Shares:
    """Shares of what runs."""

    def __init__(self, core: Core, qos: QosVersions, is_here: Callable[[str], bool]) -> None:
        """Go by what is in force of `qos`, and tell the nodes over the hub; `is_here`: whether a node is attached."""
        self._core = core
        self._qos = qos
        self._runs: Mapping[str, Run] = {}
        self._keys: dict[str, str] = {}
        self._nodes: dict[str, Telling] = {}
        self._is_here = is_here
        self._grants = Grants()
        self._heard: dict[str, str] = {}
        """What nodes said last that they go by."""
        core.jobs.every("renew shares", RENEW_S, self.renew)

    def follow(self, runs: Mapping[str, Run]) -> None:
        """Look after these transfers."""
        self._runs = runs

    @property
    def in_force(self) -> InForce:
        """The links, classes and calendars in force."""
        return self._qos.in_force

    @property
    def unreadable(self) -> str:
        """Why what is in force is not known; nothing begins then."""
        return self._qos.unreadable

    def require_readable(self) -> None:
        """Refuse what needs to know what is in force, when the store can't be read."""
        self._qos.require_readable()

    def place_of(self, run: Run) -> InLine:
        """Return where a transfer waits: in the line of what links have promised, if one has promised its deadline."""
        if run.deadline is None or not run.is_promised:
            return run.place
        held = self.in_force
        path = path_of(held.document, self._keys, run.source_node, run.destination_node)
        guarded = any(link.rate_bps is not None and link.name in path.links for link in held.document.links)
        return replace(run.place, promised=run.deadline) if guarded else run.place

    async def begin(self, run: Run) -> str:
        """Return the share with which an attempt begins; its nodes know their links by then, if they answer soon."""
        telling = self._telling(run, known="")
        if not self.in_force.document.links:
            telling.bring("")
            return ""
        if not self._keys:
            await self._read_keys()
        self._reckon(run)
        await settle((self._nodes[key] for key in run.nodes if key in self._nodes), PATIENCE_S)
        return telling.wanted or ""

    def refused(self, run: Run, text: str) -> None:
        """Note that a transfer's nodes do not take its share: it runs without."""
        telling = self._telling(run, known="")
        telling.refuse(text)
        telling.bring("")

    @staticmethod
    def end(run: Run) -> None:
        """Note that an attempt has ended: its share is nobody's any more."""
        run.share = run.guarantee = run.settles = None
        if run.telling is not None:
            run.telling.bring("")

    async def renew(self) -> None:
        """Work out everybody's share anew, and let those be told whose share is another now, without waiting."""
        if self.unreadable:
            return  # Nodes go on with what they know.
        if self.in_force.document.links or not self._knows_nothing():
            await self._read_keys()
            self._reckon(None)

    def show(self, caller: Caller, policies: PolicySet | None) -> m.Qos:
        """Show what is in force, and what runs over links; who others are is for operators, auditors and admins."""
        now, held, known = self._core.clock(), self.in_force, self._keys.keys()
        sees_all = any(map(caller.principal.may, _SEES_ALL))
        use: dict[tuple[str, Way], list[m.TransferShare]] = {
            (link.name, way): [] for link in held.document.links for way in WAYS
        }
        for run in self._runs.values():
            if run.share is None or not run.moves:
                continue
            mine = sees_all or run.place.person == caller.principal.id
            shown = run.share.model_copy(update={"transfer": run.transfer if mine else ""})
            for at in path_of(held.document, self._keys, run.source_node, run.destination_node).ways:
                use[at].append(shown)
        return m.Qos(
            version=held.version,
            published=held.published,
            document=held.document,
            calendars_open={name: one.opening(now) == now for name, one in held.calendars.items()},
            given_by=_given_by(held, policies),
            unknown_nodes=sorted({name for link in held.document.links for name in (*link.nodes, *link.peers)} - known)
            if known
            else [],
            use=[m.QosLinkUse(link=link, way=way, transfers=found) for (link, way), found in use.items()],
        )

    async def _read_keys(self) -> None:
        async with self._core.database.read() as tx:
            self._keys = await node_keys(tx)

    def _knows_nothing(self) -> bool:
        """Whether every node, and every transfer that runs, is known to go by no link: also after a restart."""
        moving = (run for run in self._runs.values() if run.moves)
        nodes = [self._nodes.get(key) for key in self._keys.values()]
        return bool(self._keys) and (
            all(one is not None and one.known == NO_LINKS for one in nodes)
            and all(run.telling is not None and run.telling.known == "" for run in moving)
        )

    def _telling(self, run: Run, known: str | None) -> Telling:
        """Return what is told of a transfer's share; `known` where nothing was told of it in this life."""
        if run.telling is None:
            send = partial(self._send_share, run.transfer)
            run.telling = Telling(f"transfer {run.transfer}", send, known)
        return run.telling

    async def _send_share(self, transfer: str, text: str) -> None:
        await self._core.hub.set_share(transfer=transfer, share=text)

    async def _send_links(self, node: str, text: str) -> None:
        was_here = self._is_here(node)
        await self._core.hub.set_shares(node=node, shares=text)
        # One that is away hears it when it attaches: until then it goes by what it had.
        if was_here and self._is_here(node):
            self._heard[node] = text
            telling = self._nodes.get(node)
            if telling is not None and telling.wanted == text:
                self._grants.heard(node, rates_of(text))
            if self._grants.is_short:
                self._reckon(None)

    def _reckon(self, begins: Run | None) -> None:
        """Work out what everybody gets, and let those be told whose share is another now."""
        runs = [run for run in self._runs.values() if run.moves and run is not begins]
        runs = sorted([*runs, begins] if begins else runs, key=lambda run: run.order)
        held = self.in_force
        moving, found = self._moving(held, runs)
        divided = divide(held.document, self._keys, moving)
        self._tell_nodes(self._grants.limit(divided, self._is_here, self._core.steady()))
        for run, one in zip(runs, moving, strict=True):
            text = share_text(held.document, one)
            run.share = _share_view(run, one, divided, kept_later=one.transfer in found.later) if text else None
            # What runs since before this service started may know anything.
            telling = self._telling(run, known=None)
            if run is begins:
                telling.bring(text)
            else:
                telling.want(text)

    def _tell_nodes(self, divided: Divided) -> None:
        """Let each node that is enrolled know its links, also that it has none: nobody knows what it did before."""
        for gone in self._nodes.keys() - set(self._keys.values()):
            del self._nodes[gone]
            self._heard.pop(gone, None)
        for node in self._keys.values():
            if node not in self._nodes:
                self._nodes[node] = Telling(f"node {node}", partial(self._send_links, node), None)
            telling = self._nodes[node]
            if self._is_here(node) and telling.under_way is None and telling.known != self._heard.get(node):
                telling.doubt()
            text = node_text(divided.nodes[node]) if node in divided.nodes else NO_LINKS
            self._grants.told(node, rates_of(text))
            telling.want(text)

    def _moving(self, held: InForce, runs: Sequence[Run]) -> tuple[list[Moving], Guarantees]:
        """Say who runs over which links, with what deadlines are guaranteed, in the order of `runs`."""
        over = [(run, path_of(held.document, self._keys, run.source_node, run.destination_node)) for run in runs]
        needs = {run.transfer: need for run, path in over if path.links and (need := self._need(held, run)) > 0}
        found = guarantees(held, over, needs, self._core.clock())
        moving = [
            Moving(
                transfer=run.transfer,
                qos_class=run.qos_class,
                order=order_of(run),
                source=run.source_node,
                destination=run.destination_node,
                path=path,
                guaranteed_bps=found.bps.get(run.transfer, 0),
                took_bps=self._took(run),
                entitled_bps=run.share.entitled_bps if run.share else None,
            )
            for run, path in over
        ]
        return moving, found

    def _took(self, run: Run) -> float | None:
        """Return what a transfer took of late; nothing while it has just begun."""
        if run.first is None:
            return None
        since = run.settles = run.settles or self._core.steady() + _SETTLED
        return run.progress.rate_bps if self._core.steady() >= since else None

    def _need(self, held: InForce, run: Run) -> float:
        """Return what a deadline needs: what is left over the time that is left, worked out anew now and then."""
        now, steady = self._core.clock(), self._core.steady()
        timeline, due = run.timeline(held, now), run.due(now)
        if timeline is None or due is None or run.deadline is None:
            return 0
        if now >= run.deadline:
            return run.guarantee[1] if run.guarantee else 0
        most = min(_PROMISED_ANEW, (run.deadline - now) / _NEAR)
        if run.guarantee is None or steady - run.guarantee[0] >= most:
            seconds = timeline.seconds(now, due)
            run.guarantee = steady, run.promised_bytes_left * 8 / max(1.0, seconds) * AHEAD
        return run.guarantee[1]


def _given_by(held: InForce, policies: PolicySet | None) -> dict[str, list[m.Rule]]:
    rules = policies.rules if policies is not None else ()
    return {
        name: [m.Rule(id=rule.id, reason=rule.reason) for rule in rules if rule.qos_class == name]
        for name in held.classes
    }


def _share_view(run: Run, one: Moving, divided: Divided, *, kept_later: bool) -> m.TransferShare:
    entitled = divided.entitled_bps.get(run.transfer)
    ceiling_link, ceiling = divided.capped.get(run.transfer, ("", None))
    return m.TransferShare(
        transfer=run.transfer,
        qos_class=run.qos_class,
        links=list(one.path.links),
        needed_bps=int(run.guarantee[1]) if run.guarantee else 0,
        guaranteed_bps=int(one.guaranteed_bps),
        kept_later=kept_later,
        entitled_bps=None if entitled is None else int(entitled),
        actual_bps=run.progress.rate_bps,
        ceiling_link=ceiling_link,
        ceiling_bps=None if ceiling is None else int(ceiling),
    )
