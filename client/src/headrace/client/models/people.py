"""People, sessions and tokens."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from headrace.client.models.base import Model, Name, Password, PersonName, Word


class Me(Model):
    """Who is calling, and what that caller may do."""

    id: str
    name: str
    roles: list[str]
    scopes: list[str]
    session: bool
    agent: str | None = None


class SignIn(Model):
    """A local person's name and password."""

    name: Name
    password: Password


class Session(Model):
    """An interactive session; `secret` is shown once (browsers get it as a cookie instead)."""

    secret: Annotated[str, Field(repr=False)]
    expires: datetime
    me: Me


class InvitationRequest(Model):
    """Invite a person by a one-time link."""

    name: PersonName
    roles: Annotated[list[Word], Field(min_length=1, max_length=10)]
    valid_s: Annotated[int, Field(ge=300, le=30 * 86400)] = 3 * 86400


class Invitation(Model):
    """Shown once."""

    link: Annotated[str, Field(repr=False)]
    name: str
    roles: list[str]
    expires: datetime


class AcceptInvitation(Model):
    """The invited person's choice of password."""

    token: Annotated[str, StringConstraints(max_length=200), Field(repr=False)]
    password: Annotated[Password, Field(min_length=12)]
    name: PersonName | None = Field(
        default=None, description="only for the bootstrap link, whose person has no name yet"
    )


class Person(Model):
    """A local person."""

    id: str
    name: str
    roles: list[str]
    state: Literal["invited", "active", "disabled"]
    created: datetime


class TokenRequest(Model):
    """An API token for a pipeline or an assistant; never more than its maker's own scopes."""

    name: Name
    scopes: Annotated[list[Word], Field(min_length=1, max_length=20)]
    valid_s: Annotated[int, Field(ge=300, le=366 * 86400)] = 30 * 86400
    agent: Name | None = Field(default=None, description="name of the assistant that will act with it")


class Token(Model):
    """`secret` is present only in the answer that makes the token."""

    id: str
    name: str
    scopes: list[str]
    agent: str | None = None
    created: datetime
    expires: datetime
    last_used: datetime | None = None
    secret: str | None = Field(default=None, repr=False)
