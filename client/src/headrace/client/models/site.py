"""Endpoints, nodes, halts and the state of the service."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from headrace.client.models.base import Count, FolderLabels, Handle, Labels, Model, Name, Page, Proven, Reason


class Endpoint(Model):
    """What people name. `online` says whether its node is attached."""

    id: str
    aliases: list[str] = []
    kind: str = "posix"
    node: str
    root: str
    access: Literal["read", "write", "delete"]
    labels: dict[str, str] = {}
    folder_labels: dict[str, dict[str, str]] = {}
    """Labels of folders in it, by path; shown to who may give them, and to no assistant."""
    version: str = ""
    """Another one after each change of its names and labels; shown like the labels of folders."""
    online: bool
    free_bytes: Count | None = Field(
        default=None, description="what was free when its node said so last (`free_at`); a plan measures anew"
    )
    total_bytes: Count | None = None
    free_at: datetime | None = Field(
        default=None, description="every minute and after transfers; of a node of the release before, when it attached"
    )


class EndpointUpdate(Proven):
    """Changes of an endpoint that a policy administrator may make; its root is declared on the node."""

    id: Name | None = None
    aliases: Annotated[list[Name], Field(max_length=16)] | None = None
    labels: Labels | None = None
    folder_labels: FolderLabels | None = None
    """Labels of some folders, by path (`/raw/phi`): all that each has, or none; other folders keep theirs."""
    version: Annotated[str, Field(max_length=64)] | None = None
    """The `version` that it had when it was read: refused with `endpoint_changed` if it has another by now."""


class Entry(Model):
    """One name in a folder."""

    name: str
    kind: Literal["file", "dir", "symlink", "other"]
    size_bytes: Count
    modified: datetime


class FolderPage(Page[Entry]):
    """One page of a folder. With restricted names, it has no items, and only `count` is given."""

    endpoint: str
    path: str
    count: Count
    names_withheld: bool = False


class Node(Model):
    """A mover process on a data transfer node."""

    id: str
    name: str
    key: str
    pin: str = Field(default="", description="SHA-256 of the key's SPKI as `sha256//...`: how other tools pin it")
    enrolled: datetime | None = None
    version: str = ""
    state: Literal["attached", "detached", "draining", "revoked"]
    detail: str = ""
    roots: list[str] = []
    data_addresses: list[str] = []
    accepts_connections: bool = True
    last_seen: datetime | None = None
    running_transfers: Count = 0


class HostRoot(Model):
    """A folder that a node exports, by its file system."""

    name: str
    file_system: str | None = None
    options: list[str] = []
    free_bytes: Count = 0
    total_bytes: Count = 0
    free_inodes: Count = 0
    inodes: Count = 0
    """0 where inodes are made as they are needed."""


class Descriptors(Model):
    """How many files a process may have open; none said: no limit."""

    soft: Count | None = None
    hard: Count | None = None


class HostInterface(Model):
    """A network interface, as its driver says; null is what could not be read."""

    card: bool = Field(default=False, description="whether a device is behind it, and so a ring")
    rx_ring: Count | None = Field(default=None, description="received packets that the card's ring holds")
    max_rx_ring: Count | None = Field(default=None, description="and could hold")
    offloads_off: list[str] | None = Field(default=None, description="which of tso, gso, gro is turned off")


class NodeHost(Model):
    """What the host of a node says of itself; `headrace doctor --node` judges it.

    `files` are of /proc and /sys, `tools` are what programs of iproute2 printed, by their words. What could not be read
    is in `unread`, with why.
    """

    files: dict[str, str]
    tools: dict[str, str]
    unread: dict[str, str] = {}
    page_bytes: Count
    usable_processors: list[int]
    descriptors: Descriptors = Descriptors()
    roots: list[HostRoot] = []
    interfaces: dict[str, HostInterface] | None = Field(
        default=None, description="all but loopback; null: the node is of a release that does not tell"
    )
    clock_synchronised: bool | None = None


_TokenValid = Annotated[int, Field(ge=60, le=7 * 86400)]


class JoinTokenRequest(Proven):
    """A one-time token with which one node may join."""

    name: Name
    valid_s: _TokenValid = 3600


class RotationRequest(Proven):
    """A one-time token with which a node that has joined takes another key."""

    valid_s: _TokenValid = 3600


class JoinToken(Model):
    """Shown once. `commands` are the lines to run on the other host: to join, and after each restart of the host."""

    token: Annotated[str, Field(repr=False)]
    name: str
    expires: datetime
    commands: Annotated[list[str], Field(repr=False)]
    only_here: str = Field(default="", description="what stands against nodes on other hosts; empty: nothing")


HaltScope = Literal["everything", "transfer", "person", "agent", "endpoint", "node"]


class HaltRequest(Model):
    """Halt something: what runs of it stops and waits until it is released."""

    scope: HaltScope
    subject: Handle = Field(
        default="", description="id or name of the transfer, person, assistant, endpoint or node; empty for everything"
    )
    reason: Annotated[Reason, Field(min_length=1)]


class Halt(Model):
    """Something that is halted."""

    id: str
    scope: HaltScope
    subject: str = ""
    subject_name: str = ""
    reason: str
    person: str | None = None
    person_name: str | None = None
    at: datetime | None = None


class HealthCode(StrEnum):
    """What can be wrong with a service; docs/errors.md says what to do."""

    ACCESS_LOST = "access_lost"
    AUDIT_UNSENT = "audit_unsent"
    AUDIT_UNWRITABLE = "audit_unwritable"
    CLOCK_DIFFERS = "clock_differs"
    CLOCK_DOUBTED = "clock_doubted"
    CLOCK_WRONG = "clock_wrong"
    KEY_UNUSABLE = "key_unusable"
    LEAVERS_UNSEEN = "leavers_unseen"
    POLICY_DIFFERS = "policy_differs"
    POLICY_UNPROVEN = "policy_unproven"
    QOS_UNREADABLE = "qos_unreadable"
    SIGN_IN_UNAVAILABLE = "sign_in_unavailable"
    STORE_BUSY = "store_busy"
    STORE_FAILED = "store_failed"
    STORE_FULL = "store_full"
    WORK_FAILING = "work_failing"
    NODE_CLOCK_SKEWED = "node_clock_skewed"
    NODE_REFUSED = "node_refused"
    NODE_STATE_FAILED = "node_state_failed"
    NODE_STRANGE = "node_strange"
    ROOT_MISSING = "root_missing"
    ROOTS_LEFT_OUT = "roots_left_out"


class HealthCause(Model):
    """One thing that is wrong."""

    code: HealthCode
    sentence: str = Field(description="what happened, and where")
    what_to_do: str
    since: datetime | None = None


class Health(Model):
    """Whether the service can work."""

    status: Literal["ok", "degraded"]
    version: str
    nodes_attached: Count
    nodes_away: list[str] = Field(
        default=[], description="names of nodes that have joined and are not attached; told to whoever may list nodes"
    )
    audit: Literal["ok", "unwritable"]
    key: str = Field(description="public key that signs tickets and receipts")
    halted: str = Field(
        default="",
        description="why everything is halted, empty when it is not; strangers learn that it is, and not why",
    )
    causes: list[HealthCause] = Field(
        default=[], description="why it is degraded; told to operators, administrators and auditors in person"
    )
