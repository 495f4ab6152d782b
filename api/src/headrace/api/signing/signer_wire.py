"""What service and signer say to each other over a Unix socket: one request and one answer for each connection.

Each is a JSON document after its length (4 bytes, big-endian), 8 MiB at most.
"""

import socket
import struct
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from headrace.client import models as m

MAX_BYTES: Final = 8 << 20
MAX_APPROVALS: Final = 64
SIGNED_AS_WRITTEN: Final = frozenset({"audit-head", "hub-succession", "permit", "plan", "probe", "receipt"})
"""Types of documents that are signed as they come; never tickets, and never statements of consent."""
_LENGTH: Final = struct.Struct(">I")
_Text = Annotated[str, Field(max_length=MAX_BYTES)]
_Short = Annotated[str, Field(max_length=4096)]


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Hello(_Message):
    """Ask whose key that is, and by which policy the signer decides."""

    ask: Literal["hello"] = "hello"


class SignBody(_Message):
    """Sign a body as it is written."""

    ask: Literal["sign"] = "sign"
    type: _Short
    body: _Text


class ProofOf(_Message):
    """What a person has agreed to, and the passkey's answer that says so."""

    person: _Short
    agreed: _Text
    passkey: m.PasskeyAnswer
    public_key: _Short = Field(description="of the passkey, base64url: what is offered where it is not known yet")


class TermsOf(_Message):
    """As `consents.Terms`."""

    requester: _Short
    policy_version: _Short
    expires: datetime
    roles: Sequence[_Short]
    groups: Sequence[_Short]


class MakeConsent(_Message):
    """Check a proof and seal a statement of it."""

    ask: Literal["consent"] = "consent"
    proved: ProofOf
    terms: TermsOf | None


class MakeTicket(_Message):
    """Check a plan with all that was said of it, and seal a ticket for one attempt."""

    ask: Literal["ticket"] = "ticket"
    document: _Text
    digest: _Short
    confirmation: _Text
    approvals: Annotated[Sequence[_Text], Field(max_length=MAX_APPROVALS)]
    transfer: _Short
    number: int
    only_failed: bool
    rate_ceiling_bps: int | None
    leg: tuple[Literal["memory", "storage"], Literal["memory", "storage"]] | None = None


class TakePolicy(_Message):
    """Decide by this policy from now on, whose publication a person has agreed to."""

    ask: Literal["policy"] = "policy"
    proved: ProofOf
    text: _Text


Request = Annotated[Hello | SignBody | MakeConsent | MakeTicket | TakePolicy, Field(discriminator="ask")]
REQUEST: Final[TypeAdapter[Hello | SignBody | MakeConsent | MakeTicket | TakePolicy]] = TypeAdapter(Request)


class Answer(_Message):
    """What came of a request: a signature, a document, or why not (`code`)."""

    public: str
    policy: str = ""
    """Version of the policy by which it decides."""
    successions: Sequence[str] = ()
    """Which key came after which, oldest first; told to a `Hello`."""
    signature: str = ""
    document: str = ""
    code: str = ""
    detail: str = ""


def send(connection: socket.socket, message: BaseModel) -> None:
    """Send one message; raises `OSError`."""
    # A signer of before knows no legs, and needs none for what is no probe.
    no_leg = isinstance(message, MakeTicket) and message.leg is None
    content = message.model_dump_json(exclude={"leg"} if no_leg else None).encode()
    connection.sendall(_LENGTH.pack(len(content)) + content)


def receive(connection: socket.socket, patience_s: float) -> bytes:
    """Receive one message; raises `OSError` when it is too long, cut off or not whole in time."""
    until = time.monotonic() + patience_s
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size, until))
    if length > MAX_BYTES:
        message = f"a message of {length:,} bytes; at most {MAX_BYTES:,} are read"
        raise OSError(message)
    return _exactly(connection, length, until)


def _exactly(connection: socket.socket, count: int, until: float) -> bytes:
    content = bytearray()
    while len(content) < count:
        left_s = until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        part = connection.recv(min(count - len(content), 1 << 16))
        if not part:
            message = "the connection was cut off"
            raise OSError(message)
        content += part
    return bytes(content)
