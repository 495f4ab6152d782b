"""What all models stand on: the base class, limits of single values, and the problem document."""

from collections.abc import Iterator
from datetime import MAXYEAR, MINYEAR, datetime
from functools import partial
from typing import Annotated, Any, Final, Generic, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

MAX_REASON: Final = 500
"""Characters of a reason that somebody gives."""
MAX_UNKNOWN_FIELDS: Final = 20
"""So many unknown fields of an object are named one by one; more are refused at once."""
MAX_SIZE_BYTES: Final = 2**62 - 1
MAX_RATE_BPS: Final = 10**14

Words = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=120)]
Location = Annotated[str, StringConstraints(min_length=1, max_length=5000)]
Handle = Annotated[str, StringConstraints(max_length=120)]
Zone = Annotated[str, StringConstraints(max_length=64)]
Count = Annotated[int, Field(ge=0)]
Size = Annotated[int, Field(gt=0, le=MAX_SIZE_BYTES)]
Rate = Annotated[int, Field(gt=0, le=MAX_RATE_BPS)]
"""Bits per second."""
Glob = Annotated[str, StringConstraints(max_length=1024)]
Globs = Annotated[list[Glob], Field(max_length=100)]
ClockTime = Annotated[str, StringConstraints(max_length=40)]
Recurrence = Annotated[str, StringConstraints(max_length=500)]
PersonName = Annotated[str, StringConstraints(min_length=1, max_length=64)]
"""A name that somebody is given."""
GroupName = Annotated[str, StringConstraints(max_length=120, pattern=r"^\w[\w .:@+-]*$")]
"""A group that policies speak of."""
ProjectName = GroupName
"""A project that policies and quotas speak of: its name is written as that of a group."""
IssuerName = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""What an issuer calls itself, a person or a group: any text of one line."""
Secret = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Password = Annotated[Secret, Field(repr=False)]
Reason = Annotated[str, StringConstraints(max_length=MAX_REASON)]
Word = Annotated[str, StringConstraints(max_length=60)]
"""One of a few known words; what is not known is refused by name."""


def _in_range(moment: datetime) -> datetime:
    # In another zone, a moment of the first or last year that there is may have none.
    if not MINYEAR < moment.year < MAXYEAR:
        message = f"give a year from {MINYEAR + 1} to {MAXYEAR - 1}"
        raise ValueError(message)
    return moment


Moment = Annotated[datetime, AfterValidator(_in_range)]
"""A time that somebody asks for."""
AwareMoment = Annotated[AwareDatetime, AfterValidator(_in_range)]
"""One with its offset."""


def of_at_most(most: int, given: object) -> object:
    """Refuse an object of too many fields as a whole."""
    # An error for each of 100,000 fields takes half a second of everybody's time.
    if isinstance(given, dict) and len(given) > most:
        message = f"an object with {len(given):,} fields is too large for this place"
        raise ValueError(message)
    return given


_MAX_LABELS: Final = 32
Labels = Annotated[
    dict[Name, Name],
    Field(max_length=_MAX_LABELS),
    BeforeValidator(partial(of_at_most, _MAX_LABELS + MAX_UNKNOWN_FIELDS)),
]

MAX_LABELLED_FOLDERS: Final = 100
FolderLabels = Annotated[
    dict[Location, Labels],
    Field(max_length=MAX_LABELLED_FOLDERS),
    BeforeValidator(partial(of_at_most, MAX_LABELLED_FOLDERS + MAX_UNKNOWN_FIELDS)),
]
"""Labels of folders of an endpoint, by path."""


class Model(BaseModel):
    """Base: frozen, unknown fields refused (a typing mistake in a request must not be ignored)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_floods(cls, given: object) -> object:
        if not isinstance(given, dict) or len(given) <= MAX_UNKNOWN_FIELDS:
            return given  # Without a look at the fields of the class, which takes longer than most validations.
        return of_at_most(len(cls.model_fields) + MAX_UNKNOWN_FIELDS, given)


T = TypeVar("T")


class Page(Model, Generic[T]):
    """One page of a list. It is read like the list of its items.

    `next` is what to give as `after` for the next page, as it is; without it this page is the last.
    """

    items: list[T]
    next: str | None = None

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        """Call a page of transfers `TransferPage` in the schema of the API."""
        return f"{params[0].__name__}Page"

    def __iter__(self) -> Iterator[T]:  # type: ignore[override] # of the items; pydantic's own is of pairs
        """Go through the items."""
        return iter(self.items)

    def __len__(self) -> int:
        """Count the items."""
        return len(self.items)

    def __getitem__(self, index: int) -> T:
        """Return one item."""
        return self.items[index]


Base64Url = Annotated[str, StringConstraints(min_length=1, max_length=20_000, pattern=r"^[A-Za-z0-9_-]*$")]
"""Bytes, without padding."""
PasskeyId = Annotated[str, StringConstraints(min_length=1, max_length=1400, pattern=r"^[A-Za-z0-9_-]*$")]


ProviderAnswer = Annotated[str, StringConstraints(min_length=1, max_length=4000, pattern=r"^[A-Za-z0-9_.-]*$")]


class PasskeyChallenge(Model):
    """What a passkey signs, for one of `passkeys` (none named: for any); `kept` comes back with the answer.

    `party` is the relying party's id; passkeys work at `origin` and nowhere else.
    """

    challenge: str
    kept: Annotated[str, Field(repr=False)]
    party: str
    origin: str
    passkeys: list[str] = []
    expires: datetime


class PasskeyAnswer(Model):
    """What `navigator.credentials.get` gave for a challenge, its bytes in base64url."""

    id: PasskeyId
    client_data: Annotated[Base64Url, Field(repr=False)]
    authenticator_data: Annotated[Base64Url, Field(repr=False)]
    signature: Annotated[Base64Url, Field(repr=False)]
    kept: Annotated[Handle, Field(repr=False)]


class ProviderChallenge(Model):
    """At which provider a person signs in anew as a proof, in the browser at `origin` that has their session.

    The browser goes to `/api/v1/sign-in/{provider}?proof={kept}` and ends at `/proven?id={id}#answer`; `name` is what
    people call the provider.
    """

    provider: str
    name: str
    origin: str
    id: str
    kept: Annotated[str, Field(repr=False)]
    expires: datetime


class Proven(Model):
    """What a site may want proof for that a person means it: one proof, made for this and nothing else."""

    password: Secret | None = Field(default=None, repr=False, description="asked for by `proof_needed`")
    passkey: PasskeyAnswer | None = Field(
        default=None, description="the answer to the challenge that came with `proof_needed` for this same request"
    )
    provider: ProviderAnswer | None = Field(
        default=None, repr=False, description="what a fresh sign-in at the provider gave for this same request"
    )


ProofStrength = Literal["session", "password", "passkey"]
"""What comes with consent at least: each, or anything stronger, counts."""
ProofWay = Literal["password", "passkey", "provider"]


class ProofWanted(Model):
    """How a person can prove to mean this very request: repeat it with one of these."""

    ways: list[ProofWay]
    passkey: PasskeyChallenge | None = None
    provider: ProviderChallenge | None = None


class Problem(Model):
    """RFC 9457 problem document. `code` is stable and listed in docs/errors.md."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    instance: str | None = None
    fields: list[str] = []
    proof: ProofWanted | None = Field(default=None, description="with `proof_needed`: what is wanted")

    @classmethod
    def of_usage(cls, detail: str) -> Self:
        """Make the document of a command that was called wrongly."""
        return cls(title="Wrong usage", status=422, code="invalid_request", detail=detail)

    @classmethod
    def of_failure(cls, detail: str) -> Self:
        """Make the document of a command that ended without a result and without an answer of the service."""
        return cls(title="Failed", status=500, code="failed", detail=detail)
