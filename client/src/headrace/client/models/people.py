"""People, sessions and tokens."""

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from headrace.client.models.base import (
    Base64Url,
    GroupName,
    Handle,
    IssuerName,
    Model,
    Name,
    PasskeyId,
    Password,
    PersonName,
    Proven,
    Word,
)

_RULE_OF_NEW: Final = (
    "12 to 1,000 characters, at least 5 different ones, without the person's name, not easy to guess; "
    "a refusal says all that is wrong"
)


class Me(Model):
    """Who is calling, and what that caller may do."""

    id: str
    name: str
    roles: list[str]
    scopes: list[str]
    session: bool
    agent: str | None = None
    groups: list[str] = Field(default=[], description="as policies name them")
    method: str = Field(default="", description="`password`, `passkey`, `directory`, `oidc` or `token`")
    factors: list[str] = Field(default=[], description="what was shown at the sign-in, as RFC 8176 names it")
    issuer: str | None = Field(default=None, description="where the session was begun, unless here")
    console: str | None = Field(
        default=None, description="where people open this service in a browser; not said with a new session"
    )


class SignIn(Model):
    """A local person's name and password."""

    name: Name
    password: Password


class Provider(Model):
    """A provider at which people may sign in: `id` is how the API calls it, `name` is what people read."""

    id: str
    name: str
    device: bool = Field(default=False, description="whether people may sign in there on another device")


class SignInWays(Model):
    """How people sign in here, beside a local name and password."""

    providers: list[Provider] = []
    passkeys: str | None = Field(default=None, description="the origin at which passkeys work; none: nowhere")
    directory: bool = Field(
        default=False,
        description="whether people sign in with the name and password of a directory: name@domain or DOMAIN\\name",
    )


class Passkey(Model):
    """A passkey of a person, who gave it its name."""

    id: str
    name: str
    created: datetime
    last_used: datetime | None = None


class PasskeyRequest(Model):
    """What `navigator.credentials.create` gave for a challenge, its bytes in base64url, and a name for the passkey."""

    name: PersonName
    id: PasskeyId
    client_data: Annotated[Base64Url, Field(repr=False)]
    attestation_object: Annotated[Base64Url, Field(repr=False)]
    kept: Annotated[Handle, Field(repr=False)]


class Session(Model):
    """An interactive session; `secret` is shown once (browsers get it as a cookie instead)."""

    secret: Annotated[str, Field(repr=False)]
    expires: datetime
    me: Me


class DeviceSignIn(Model):
    """A sign-in on another device: open `uri` and type `user_code`, or open `whole_uri`; then ask with `kept`."""

    uri: str
    whole_uri: str | None = None
    user_code: str
    interval_s: int = Field(description="wait so long between two questions")
    kept: Annotated[str, Field(repr=False)]


class DeviceQuestion(Model):
    """Whether the person has signed in on another device."""

    kept: Annotated[str, StringConstraints(max_length=4000), Field(repr=False)]


class DeviceAnswer(Model):
    """The session, once the person has signed in on another device."""

    session: Session | None = None


class SignedOut(Model):
    """A session has ended here; `elsewhere` is where a browser ends the one at its provider, if it has one."""

    elsewhere: str | None = None


class InvitationRequest(Proven):
    """Invite a person by a one-time link."""

    name: PersonName
    roles: Annotated[list[Word], Field(min_length=1, max_length=10)]
    valid_s: Annotated[int, Field(ge=300, le=30 * 86400)] = 3 * 86400


class ServiceAccountRequest(Proven):
    """Make an account that owns tokens of pipelines and never signs in."""

    name: PersonName
    roles: Annotated[list[Word], Field(min_length=1, max_length=10)]


class Invitation(Model):
    """Shown once."""

    link: Annotated[str, Field(repr=False)]
    name: str
    roles: list[str]
    expires: datetime


class AcceptInvitation(Model):
    """The invited person's choice of password."""

    token: Annotated[str, StringConstraints(max_length=200), Field(repr=False)]
    password: Annotated[Password, Field(description=_RULE_OF_NEW)]
    name: PersonName | None = Field(
        default=None, description="only for the bootstrap link, whose person has no name yet"
    )


class InvitationLook(Model):
    """The token of a one-time link, whose name is asked for."""

    token: Annotated[str, StringConstraints(max_length=200), Field(repr=False)]


class Invited(Model):
    """Who is invited by a one-time link."""

    name: str | None = Field(description="what the person signs in with; none: the first administrator chooses it")


class PasswordChange(Model):
    """One's password, and the one to replace it."""

    password: Password
    new_password: Annotated[Password, Field(description=_RULE_OF_NEW)]


class OpenSession(Model):
    """A session that is still good; nobody signs in with its id."""

    id: str
    created: datetime
    expires: datetime
    last_used: datetime
    method: str = Field(description="how it was begun: `password`, `directory`, `oidc`")
    current: bool = Field(default=False, description="whether this answer was asked for with it")


class Identity(Model):
    """Who a person is elsewhere: `subject` at `issuer`; name and groups are as they were said there last."""

    issuer: str
    subject: str
    name: str = ""
    groups: list[str] = []
    seen: datetime | None = Field(default=None, description="the last sign-in there")
    gone: datetime | None = Field(default=None, description="since when nobody gets in with it there")


class Person(Model):
    """A person or service account: `roles` and `groups` are what counts, granted or given by identities' groups."""

    id: str
    name: str
    roles: list[str]
    groups: list[str] = []
    granted_roles: list[str] = []
    granted_groups: list[str] = []
    state: Literal["invited", "active", "suspended", "disabled"]
    kind: Literal["person", "service"] = "person"
    created: datetime
    identities: list[Identity] = []


class PersonUpdate(Proven):
    """Replace what is granted to a person; what is left out stays."""

    roles: Annotated[list[Word], Field(max_length=10)] | None = None
    groups: Annotated[list[GroupName], Field(max_length=100)] | None = None


class IdentityLink(Proven):
    """An identity to be made a person's, or to be taken away."""

    issuer: IssuerName
    subject: IssuerName


class GroupBinding(Model):
    """What a group of an issuer gives here: roles, and groups that policies speak of."""

    issuer: IssuerName
    group: IssuerName
    roles: Annotated[list[Word], Field(max_length=10)] = []
    groups: Annotated[list[GroupName], Field(max_length=100)] = []


class GroupBindingsRequest(Model):
    """Propose what all groups give; `dry_run` only answers whose rights that would change."""

    bindings: Annotated[list[GroupBinding], Field(max_length=500)]
    dry_run: bool = False


class RightsChange(Model):
    """A person whose roles or groups a change of bindings changes."""

    person: str
    name: str
    roles_before: list[str]
    roles: list[str]
    groups_before: list[str]
    groups: list[str]


class GroupProposal(Model):
    """What one administrator proposed that groups give, for another to publish, and whose rights that would change."""

    id: str
    author: str
    author_name: str
    created: datetime
    bindings: list[GroupBinding]
    changes: list[RightsChange] = []


class IssuerHere(Model):
    """A provider or directory of the service: its id (a directory's domain), and the issuer that bindings name."""

    id: str
    issuer: str


class GroupBindings(Model):
    """What groups give, and what is proposed; `changes`: whose rights the call has changed, or would change.

    `issuers`: whose groups can give anything here.
    """

    bindings: list[GroupBinding]
    changes: list[RightsChange] = []
    proposed: GroupProposal | None = None
    issuers: list[IssuerHere] = []


class TokenRequest(Proven):
    """An API token for a pipeline or an assistant; never more than its maker's own scopes."""

    name: Name
    scopes: Annotated[list[Word], Field(min_length=1, max_length=20)]
    valid_s: Annotated[int, Field(ge=300, le=366 * 86400)] = 30 * 86400
    agent: Name | None = Field(default=None, description="name of the assistant that will act with it")
    person: Name | None = Field(
        default=None, description="id of the service account whose it shall be; only administrators say that"
    )


class Token(Model):
    """`secret` is present only in the answer that makes the token."""

    id: str
    name: str
    scopes: list[str]
    agent: str | None = None
    created: datetime
    expires: datetime
    last_used: datetime | None = None
    person: str | None = Field(default=None, description="as whom it acts, who made it unless `made_by` did")
    made_by: str | None = Field(default=None, description="the administrator who made it for a service account")
    secret: str | None = Field(default=None, repr=False)
