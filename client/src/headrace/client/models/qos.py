"""Quality of service: links of the network, classes of transfers, calendars, and what transfers get of links."""

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from headrace.client.models.base import Count, Model, Name, Rate, Reason, Zone
from headrace.client.models.policy import PolicyVersion, Rule

QosName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
"""Lower-case letters, digits and `-`."""
QosClock = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$")]
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


class QosLink(Model):
    """A bottleneck of the network at a set of nodes, such as a site's uplink; its rate holds for each direction."""

    name: QosName
    rate_bps: Rate | None = Field(default=None, description="its capacity; null: no cap, and nothing is shared there")
    rest_percent: Annotated[int, Field(ge=1, le=90)] = Field(
        default=10, description="what lower priorities keep of it, whatever higher ones want"
    )
    nodes: Annotated[list[Name], Field(max_length=200)] = Field(description="nodes behind it, by name")
    peers: Annotated[list[Name], Field(max_length=200)] = Field(
        default=[], description="nodes that are reached over it; none: every node that is not behind it"
    )


class QosClassLink(Model):
    """What a class has on one link."""

    link: QosName
    floor_bps: Annotated[int, Field(ge=0, le=10**14)] = Field(
        default=0, description="what it gets before others share, while it wants it"
    )
    ceiling_bps: Rate | None = None


class QosClass(Model):
    """A class of transfers."""

    name: QosName
    weight: Annotated[int, Field(ge=1, le=1000)] = 10
    links: Annotated[list[QosClassLink], Field(max_length=64)] = []
    priority: Annotated[int, Field(ge=0, le=7)] = Field(default=0, description="higher goes first")
    dscp: Annotated[int, Field(ge=0, le=63)] | None = Field(default=None, description="mark of its packets")
    congestion_control: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,14}$")] | None = None
    calendar: QosName | None = Field(default=None, description="in whose hours alone its transfers run")


class QosHours(Model):
    """Hours of some days of the week; over midnight when they close earlier than they open."""

    days: Annotated[list[Day], Field(min_length=1, max_length=7)]
    opens: QosClock = "00:00"
    closes: QosClock = "24:00"


class QosCalendar(Model):
    """When something is open."""

    name: QosName
    zone: Zone = "UTC"
    hours: Annotated[list[QosHours], Field(max_length=50)] = []
    closed: Annotated[list[date], Field(max_length=400)] = Field(default=[], description="days on which no hours begin")


def _unit(count: int) -> int:
    if count & (count - 1):
        message = f"{count} is not a power of two; give one from 262144 (256 KiB) to 1073741824 (1 GiB)"
        raise ValueError(message)
    return count


class Tuning(Model):
    """What is set of how a transfer uses the network and its nodes' memory, instead of what the nodes choose.

    Null is left to the next level (the transfer, its pair of endpoints, the site), and at last to the nodes.
    """

    streams: Annotated[int, Field(ge=1, le=64)] | None = Field(
        default=None, description="data connections; null at every level: as many as help"
    )
    unit_bytes: Annotated[int, Field(ge=1 << 18, le=1 << 30), AfterValidator(_unit)] | None = Field(
        default=None,
        description="into pieces of how much large files are cut, a power of two; null at every level: 4 MiB",
    )


class QosPair(Tuning):
    """What is set for transfers from one endpoint to another."""

    source: Name
    destination: Name


TuningLevel = Literal["transfer", "pair", "site"]


class Tuned(Model):
    """A value that was set, and where."""

    value: Count
    level: TuningLevel


class EffectiveTuning(Model):
    """What is set for one transfer; null: nowhere, so that its nodes choose."""

    streams: Tuned | None = None
    unit_bytes: Tuned | None = None

    def own(self) -> Tuning:
        """Return what of it was asked for with the plan itself."""
        parts = {"streams": self.streams, "unit_bytes": self.unit_bytes}
        return Tuning(**{name: one.value for name, one in parts.items() if one is not None and one.level == "transfer"})


class QosDocument(Model):
    """The links, classes and calendars of a site. Of two classes, the one that stands first is the lower."""

    tuning: Tuning = Tuning()
    pairs: Annotated[list[QosPair], Field(max_length=500)] = []

    links: Annotated[list[QosLink], Field(max_length=64)] = []
    classes: Annotated[list[QosClass], Field(max_length=64)] = []
    calendars: Annotated[list[QosCalendar], Field(max_length=64)] = []


class QosText(Model):
    """Links, classes and calendars as TOML."""

    text: Annotated[str, StringConstraints(max_length=200_000)]
    note: Reason = ""


class QosProblem(Model):
    """One thing wrong with a text: where, what, and what to do."""

    where: str = Field(description="such as `class bulk: weight`; empty for the whole text")
    message: str


class QosCheck(Model):
    """Whether a text could be published."""

    valid: bool
    problems: list[QosProblem] = []
    warnings: list[QosProblem] = Field(default=[], description="deadlines that can be kept now, and could not be then")
    document: QosDocument | None = None


class QosVersion(PolicyVersion):
    """One version of the site's links, classes and calendars; `text` is TOML."""

    document: QosDocument


class PlannedQuality(Model):
    """Of which class a plan is."""

    qos_class: str
    why: str = Field(description="which rule gives the class, or why it is a lower one")
    links: list[str] = Field(default=[], description="that it would take now")
    calendar: str | None = Field(default=None, description="in whose hours alone its class runs")
    opens: datetime | None = Field(default=None, description="when these are open first; never, if null")


class TransferShare(Model):
    """What a transfer gets of links."""

    transfer: str = Field(default="", description="empty for those of others")
    qos_class: str
    links: list[str] = []
    weight: Count = 1
    needed_bps: Count = Field(default=0, description="what its deadline needs")
    guaranteed_bps: Count = Field(default=0, description="that, as far as links have it left")
    kept_later: bool = Field(
        default=False, description="that is too little now, and enough comes before its deadline: earlier ones go first"
    )
    entitled_bps: Count | None = Field(default=None, description="its share of its tightest link; null: no cap there")
    actual_bps: Count = Field(default=0, description="what it takes now")
    ceiling_link: str = Field(default="", description="where the ceiling of its class holds it back; empty: nowhere")
    ceiling_bps: Count | None = Field(default=None, description="that ceiling, for all transfers of the class there")


class QosLinkUse(Model):
    """What runs over a link now in one direction, seen from the nodes behind it."""

    link: QosName
    way: Literal["out", "in"] = "out"
    transfers: list[TransferShare] = []


class Qos(Model):
    """What is in force, and what transfers get by it now."""

    version: str
    published: datetime | None = None
    document: QosDocument
    given_by: dict[str, list[Rule]] = Field(
        default={}, description="by class: the rules of the policy in force that give it"
    )
    calendars_open: dict[str, bool] = Field(default={}, description="whether each calendar is open now")
    use: list[QosLinkUse] = []
    unknown_nodes: list[str] = Field(default=[], description="names in links of nodes that there are no more")
