"""Tables of people, nodes, endpoints, policies, audit and settings."""

from datetime import datetime
from typing import Final, Literal, cast

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    ForeignKey,
    Index,
    ScalarSelect,
    String,
    Text,
    UniqueConstraint,
    case,
    column,
    false,
    func,
    select,
    table,
)
from sqlalchemy.orm import Mapped, column_property, declared_attr, mapped_column

from headrace.api.store.base import Base, Names, Sequence, Utc

ELSEWHERE: Final = "identity:"
"""What the key of a name from elsewhere begins with; `:` is in no local name."""
DIRECTORY: Final = "ad:"
"""What issuers that are directories begin with: their administrators give the names, which hold the domain."""


def _shown(person: Mapped[str], name: Mapped[str], name_key: Mapped[str]) -> ColumnElement[str]:
    """Return a person's name as others read it.

    A name that its owner may have chosen at a provider stands with that provider: it is no other person's then.
    """
    at = table("identities", column("issuer", String), column("person", String))
    theirs = (at.c.person == person, at.c.issuer.not_like(f"{DIRECTORY}%"))
    provider = select(func.min(at.c.issuer)).where(*theirs).correlate_except(at).scalar_subquery()
    return func.coalesce(case((name_key.like(f"{ELSEWHERE}%"), name + " (" + provider + ")")), name)


class PersonRow(Base):
    """A person or service account. `name_key` is the name as it is compared (`auth.fold`).

    Names from elsewhere are compared with none: their key is `identity:` and the id, which no name can be. `roles` and
    `groups` are what counts, `granted_*` the part of it that administrators gave.
    """

    __tablename__ = "people"
    __table_args__ = (Index("ix_people_created", "created", "id"), Index("ix_people_name", "name"))

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(120))
    name_key: Mapped[str] = mapped_column(String(200), unique=True)
    kind: Mapped[Literal["person", "service"]] = mapped_column(String(16))
    state: Mapped[Literal["invited", "active", "suspended", "disabled"]] = mapped_column(String(16))
    roles: Mapped[tuple[str, ...]] = mapped_column(Names)
    groups: Mapped[tuple[str, ...]] = mapped_column(Names)
    granted_roles: Mapped[tuple[str, ...]] = mapped_column(Names, default=())
    granted_groups: Mapped[tuple[str, ...]] = mapped_column(Names, default=())
    password_hash: Mapped[str | None] = mapped_column(Text)
    created: Mapped[datetime] = mapped_column(Utc)
    shown_name: Mapped[str] = column_property(_shown(id, name, name_key))  # noqa: A003 - the column above

    @property
    def local(self) -> bool:
        """Whether the name is given here, and nobody else's."""
        return not self.name_key.startswith(ELSEWHERE)


def name_of(person: Mapped[str] | Mapped[str | None]) -> ScalarSelect[str]:
    """Return the name of the person whom a column holds, as others read it, with its row (one just made has none)."""
    shown = _shown(PersonRow.id, PersonRow.name, PersonRow.name_key)
    return select(shown).where(PersonRow.id == person).correlate_except(PersonRow).scalar_subquery()


def _column(of: object) -> Mapped[str] | Mapped[str | None]:
    """Return a column of an abstract table as what it is: SQLAlchemy's types take it for its value there."""
    return cast("Mapped[str] | Mapped[str | None]", of)


class SessionRow(Base):
    """An interactive session; only the hash of its secret is kept. `issuer` and `sid`: the provider's session."""

    __tablename__ = "sessions"

    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    person: Mapped[str] = mapped_column(ForeignKey("people.id"), index=True)
    created: Mapped[datetime] = mapped_column(Utc)
    expires: Mapped[datetime] = mapped_column(Utc)
    last_used: Mapped[datetime] = mapped_column(Utc)
    authenticated: Mapped[datetime] = mapped_column(Utc)
    method: Mapped[Literal["password", "passkey", "directory", "oidc"]] = mapped_column(String(16))
    factors: Mapped[tuple[str, ...]] = mapped_column(Names)
    issuer: Mapped[str | None] = mapped_column(String(300))
    sid: Mapped[str | None] = mapped_column(String(300))
    passkey: Mapped[str | None] = mapped_column(Text)


class PasskeyRow(Base):
    """A key on a device of a person; `id` is the device's, `public_key` a COSE key in base64."""

    __tablename__ = "passkeys"

    id: Mapped[str] = mapped_column(String(1400), primary_key=True)
    person: Mapped[str] = mapped_column(ForeignKey("people.id"), index=True)
    name: Mapped[str] = mapped_column(String(120))
    public_key: Mapped[str] = mapped_column(Text)
    seal: Mapped[str] = mapped_column(String(64), default="", server_default="")
    sign_count: Mapped[int] = mapped_column(BigInteger)
    created: Mapped[datetime] = mapped_column(Utc)
    last_used: Mapped[datetime | None] = mapped_column(Utc)


class UsedNonceRow(Base):
    """A nonce of a proof that was used, kept until the proof is too old anyway.

    And the hash of who has signed out at a provider, kept until a sign-in of before is too old anyway.
    """

    __tablename__ = "used_nonces"

    nonce: Mapped[str] = mapped_column(String(80), primary_key=True)
    until: Mapped[datetime] = mapped_column(Utc, index=True)


class SignInPlaceRow(Base):
    """From where somebody has signed in: the keyed hash of a person and a network, and whose it is."""

    __tablename__ = "sign_in_places"
    __table_args__ = (Index("ix_sign_in_places_person", "person", "seen"),)

    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    seen: Mapped[datetime] = mapped_column(Utc, index=True)
    person: Mapped[str] = mapped_column(String(40), server_default="")


class IdentityRow(Base):
    """Who a person is elsewhere, and what was said of them there last."""

    __tablename__ = "identities"

    issuer: Mapped[str] = mapped_column(String(300), primary_key=True)
    subject: Mapped[str] = mapped_column(String(300), primary_key=True)
    person: Mapped[str] = mapped_column(ForeignKey("people.id"), index=True)
    name: Mapped[str] = mapped_column(String(120))
    groups: Mapped[tuple[str, ...]] = mapped_column(Names)
    created: Mapped[datetime] = mapped_column(Utc)
    seen: Mapped[datetime | None] = mapped_column(Utc)
    gone: Mapped[datetime | None] = mapped_column(Utc)
    grant_hidden: Mapped[str | None] = mapped_column(Text)
    lost_role: Mapped[datetime | None] = mapped_column(Utc, index=True)
    """When its person lost the last role by signing in with it."""


class GroupBindingRow(Base):
    """What a group of an issuer gives: roles, and groups that policies speak of."""

    __tablename__ = "group_bindings"

    issuer: Mapped[str] = mapped_column(String(300), primary_key=True)
    group_name: Mapped[str] = mapped_column(String(300), primary_key=True)
    roles: Mapped[tuple[str, ...]] = mapped_column(Names)
    groups: Mapped[tuple[str, ...]] = mapped_column(Names)


class GroupProposalRow(Base):
    """What is proposed that groups give, as JSON, until another administrator publishes it; at most one row."""

    __tablename__ = "group_proposals"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    author: Mapped[str] = mapped_column(String(40))
    created: Mapped[datetime] = mapped_column(Utc)
    bindings: Mapped[str] = mapped_column(Text)


class InvitationRow(Base):
    """A one-time link for one invited person; only its hash is kept, until it is redeemed."""

    __tablename__ = "invitations"

    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    person: Mapped[str] = mapped_column(ForeignKey("people.id"), index=True)
    created: Mapped[datetime] = mapped_column(Utc)
    expires: Mapped[datetime] = mapped_column(Utc)
    made_by: Mapped[str | None] = mapped_column(String(40))


class TokenRow(Base):
    """An API token; only the hash of its secret is kept."""

    __tablename__ = "tokens"
    __table_args__ = (Index("ix_tokens_created", "created", "id"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    hash: Mapped[str] = mapped_column(String(64))
    person: Mapped[str] = mapped_column(ForeignKey("people.id"), index=True)
    name: Mapped[str] = mapped_column(String(120))
    scopes: Mapped[tuple[str, ...]] = mapped_column(Names)
    agent: Mapped[str | None] = mapped_column(String(120))
    created: Mapped[datetime] = mapped_column(Utc)
    expires: Mapped[datetime] = mapped_column(Utc)
    last_used: Mapped[datetime | None] = mapped_column(Utc)
    made_by: Mapped[str | None] = mapped_column(String(40))
    """Who made it for the service account that it acts as; nobody: the person whose it is."""


class NodeRow(Base):
    """An enrolled node; `key` is its identity, `roots` what it declared last."""

    __tablename__ = "nodes"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(120), unique=True)
    key: Mapped[str] = mapped_column(String(60), unique=True)
    state: Mapped[Literal["enrolled", "draining", "revoked"]] = mapped_column(String(16))
    version: Mapped[str] = mapped_column(String(40), default="")
    enrolled: Mapped[datetime] = mapped_column(Utc)
    last_seen: Mapped[datetime | None] = mapped_column(Utc)


class JoinTokenRow(Base):
    """A one-time permission for one node to join; only the hash of its secret is kept."""

    __tablename__ = "join_tokens"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(120))
    secret_hash: Mapped[str] = mapped_column(String(64), unique=True)
    made_by: Mapped[str | None] = mapped_column(ForeignKey("people.id"))
    created: Mapped[datetime] = mapped_column(Utc)
    expires: Mapped[datetime] = mapped_column(Utc)
    used_at: Mapped[datetime | None] = mapped_column(Utc)
    used_by: Mapped[str | None] = mapped_column(String(60))
    replaces: Mapped[str | None] = mapped_column(String(40))
    """Id of the node that takes another key with it; nothing: a node that is new."""


class RetiredKeyRow(Base):
    """A key that belonged to a node once. No node joins with it again: nobody knows who else holds it."""

    __tablename__ = "retired_keys"

    key: Mapped[str] = mapped_column(String(60), primary_key=True)
    node_name: Mapped[str] = mapped_column(String(120))
    reason: Mapped[Literal["rotated", "removed"]] = mapped_column(String(16))
    at: Mapped[datetime] = mapped_column(Utc)


class EndpointRow(Base):
    """What people name, bound for good to one root of one node key.

    `name_key` is that of its main name, by which lists are ordered; `searched` what a search looks at: its names, its
    root and its node's name, a line each, as they are compared.
    """

    __tablename__ = "endpoints"
    __table_args__ = (UniqueConstraint("node_key", "root"),)

    pk: Mapped[str] = mapped_column(String(40), primary_key=True)
    node_key: Mapped[str] = mapped_column(ForeignKey("nodes.key"))
    root: Mapped[str] = mapped_column(String(120))
    access: Mapped[Literal["read", "write", "delete"]] = mapped_column(String(8))
    labels: Mapped[str] = mapped_column(Text, default="{}")
    folder_labels: Mapped[str] = mapped_column(Text, default="{}", server_default="{}")
    created: Mapped[datetime] = mapped_column(Utc)
    name_key: Mapped[str] = mapped_column(String(200), default="", server_default="", index=True)
    searched: Mapped[str] = mapped_column(Text, default="", server_default="")


class EndpointNameRow(Base):
    """A name of an endpoint: its id (`main`) or an alias. Never shared, whatever the case."""

    __tablename__ = "endpoint_names"

    name_key: Mapped[str] = mapped_column(String(200), primary_key=True)
    name: Mapped[str] = mapped_column(String(120))
    endpoint: Mapped[str] = mapped_column(ForeignKey("endpoints.pk"), index=True)
    main: Mapped[bool]


class VersionRow(Base):
    """One version of a text that a second person publishes; `number` counts from 1, `digest` is the text's.

    `in_person`: whether its author proposed it in an own session, and not with a token; `base`: the number of the
    version that was in force then, which it is meant to replace.
    """

    __abstract__ = True

    number: Mapped[int] = mapped_column(primary_key=True)
    digest: Mapped[str] = mapped_column(String(64))
    state: Mapped[Literal["proposed", "active", "retired", "withdrawn"]] = mapped_column(String(16))
    author: Mapped[str] = mapped_column(String(40))
    publisher: Mapped[str | None] = mapped_column(String(40))
    note: Mapped[str] = mapped_column(Text)
    created: Mapped[datetime] = mapped_column(Utc)
    published: Mapped[datetime | None] = mapped_column(Utc)
    text: Mapped[str] = mapped_column(Text)
    in_person: Mapped[bool] = mapped_column(default=False, server_default=false())
    base: Mapped[int] = mapped_column(default=0, server_default="0")

    @declared_attr
    def author_name(cls) -> Mapped[str | None]:  # noqa: N805 - SQLAlchemy's
        """Who wrote it, by name."""
        return column_property(name_of(_column(cls.author)))

    @declared_attr
    def publisher_name(cls) -> Mapped[str | None]:  # noqa: N805 - SQLAlchemy's
        """Who published it, by name."""
        return column_property(name_of(_column(cls.publisher)))


class PolicyRow(VersionRow):
    """One version of the site's policy; `statement`: who published it, as the signer has signed it."""

    __tablename__ = "policies"

    statement: Mapped[str] = mapped_column(Text, default="", server_default="")


class QosRow(VersionRow):
    """One version of the site's links, classes and calendars."""

    __tablename__ = "qos_versions"


class HaltRow(Base):
    """Something that an operator has halted: `subject` is an id or key, empty for everything."""

    __tablename__ = "halts"
    __table_args__ = (UniqueConstraint("scope", "subject"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    scope: Mapped[Literal["everything", "transfer", "person", "agent", "endpoint", "node"]] = mapped_column(String(16))
    subject: Mapped[str] = mapped_column(String(120))
    subject_name: Mapped[str] = mapped_column(String(120))
    reason: Mapped[str] = mapped_column(Text)
    person: Mapped[str] = mapped_column(ForeignKey("people.id"))
    person_name: Mapped[str | None] = column_property(name_of(person))
    at: Mapped[datetime] = mapped_column(Utc)


class AuditRow(Base):
    """One link of the audit chain: `body` is its exact bytes (canonical JSON), `hash` their SHA-256.

    The other columns are there to be searched; a check compares them with the body.
    """

    __tablename__ = "audit"
    __table_args__ = (
        Index("ix_audit_at", "at", "sequence"),
        Index("ix_audit_kind", "kind", "at", "sequence"),
        Index("ix_audit_person", "person", "at", "sequence"),
        Index("ix_audit_subject", "subject", "at", "sequence"),
    )

    sequence: Mapped[int] = mapped_column(Sequence, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(Utc)
    kind: Mapped[str] = mapped_column(String(40))
    person: Mapped[str | None] = mapped_column(String(40))
    person_name: Mapped[str | None] = column_property(name_of(person))
    subject: Mapped[str] = mapped_column(String(200))
    body: Mapped[str] = mapped_column(Text)
    hash: Mapped[str] = mapped_column(String(64))


class AuditSentRow(Base):
    """One row: the last event of the audit chain that another host has."""

    __tablename__ = "audit_sent"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sequence: Mapped[int] = mapped_column(Sequence)
