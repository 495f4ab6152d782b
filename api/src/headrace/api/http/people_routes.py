"""Routes: signing in and out, people, tokens."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from sqlalchemy.exc import SQLAlchemyError

from headrace.api.access.health import PATIENCE_S
from headrace.api.errors import ServiceError
from headrace.api.http.identity import (
    Id,
    LastId,
    Port,
    TheGate,
    address_of,
    cookie_name,
    credentials_of,
    hand_out,
    port_of,
    secret_of,
)
from headrace.api.http.plan_routes import LongPage
from headrace.api.store_trouble import Trouble, trouble_of
from headrace.auth import AuthError
from headrace.client import models as m

router = APIRouter(tags=["people"])

PersonId = Annotated[str | None, Query(max_length=200, description="of whom; only administrators say that")]
PasskeyId = Annotated[str, Path(max_length=1400)]


@router.get("/health")
async def health(request: Request, gate: TheGate) -> m.Health:
    """Say whether the service can work; needs no sign-in, and tells operators and administrators the causes."""
    report = gate.use_cases.health.report
    asking = asyncio.ensure_future(port_of(request, gate))
    await asyncio.wait({asking}, timeout=PATIENCE_S)
    if not asking.done():
        asking.add_done_callback(lambda late: late.cancelled() or late.exception())
        return await report(None, unsure=Trouble.SILENT)
    try:
        port = asking.result()
    except SQLAlchemyError as error:
        return await report(None, unsure=trouble_of(error))
    except (AuthError, ServiceError):
        return await report(None)
    return await port.health()


@router.get("/me")
async def me(port: Port) -> m.Me:
    """Say who is calling, and what that caller may do."""
    return await port.me()


@router.post("/sessions", status_code=201)
async def sign_in(request: Request, response: Response, gate: TheGate, body: m.SignIn) -> m.Session:
    """Start an interactive session; a browser gets it as a cookie, and an empty `secret`."""
    session = await gate.use_cases.people.sign_in(body, address_of(request))
    return hand_out(request, response, session)


@router.post("/sessions/passkey/challenge", status_code=201)
async def ask_passkey(gate: TheGate) -> m.PasskeyChallenge:
    """Return a challenge with which a passkey signs in; needs no sign-in."""
    return gate.use_cases.people.ask_passkey()


@router.post("/sessions/passkey", status_code=201)
async def sign_in_by_passkey(request: Request, response: Response, gate: TheGate, body: m.PasskeyAnswer) -> m.Session:
    """Start an interactive session with a passkey."""
    session = await gate.use_cases.people.sign_in_by_passkey(body, address_of(request))
    return hand_out(request, response, session)


@router.delete("/sessions/current", dependencies=[Depends(credentials_of)])
async def sign_out(request: Request, response: Response, gate: TheGate) -> m.SignedOut:
    """End the session that this request is made with, and say where a browser ends the one at its provider."""
    secret, _ = secret_of(request)
    signed_out = await gate.use_cases.people.sign_out(secret, address_of(request))
    response.delete_cookie(cookie_name(request), path="/", secure=request.app.state.origins.tls, httponly=True)
    # Whatever the console kept in this browser goes, too; cookies of other services under this domain stay.
    response.headers["clear-site-data"] = '"storage"'
    return signed_out


@router.post("/invitations/accept", status_code=201)
async def accept_invitation(request: Request, response: Response, gate: TheGate, body: m.AcceptInvitation) -> m.Session:
    """Choose a password with a one-time link's token, and start a session."""
    session = await gate.use_cases.people.accept_invitation(body, address_of(request))
    return hand_out(request, response, session)


@router.post("/invitations/look")
async def look_at_invitation(request: Request, gate: TheGate, body: m.InvitationLook) -> m.Invited:
    """Say whom a one-time link invites; it can still be used."""
    return await gate.use_cases.people.invited(body, address_of(request))


@router.get("/people")
async def people(port: Port, limit: LongPage = 200, after: LastId = None) -> m.Page[m.Person]:
    """List people, oldest first, with their identities elsewhere."""
    return await port.people(limit=limit, after=after)


@router.post("/people/invitations", status_code=201)
async def invite(port: Port, body: m.InvitationRequest) -> m.Invitation:
    """Invite a person by a one-time link, shown once."""
    return await port.invite(body)


@router.post("/people/service-accounts", status_code=201)
async def create_service_account(port: Port, body: m.ServiceAccountRequest) -> m.Person:
    """Make an account that owns tokens of pipelines and never signs in."""
    return await port.create_service_account(body)


@router.post("/people/{person}/disable")
async def disable_person(port: Port, person: Id) -> m.Person:
    """Disable a person; their sessions and tokens end."""
    return await port.disable_person(person)


@router.post("/people/{person}/enable")
async def enable_person(port: Port, person: Id, body: m.Proven | None = None) -> m.Person:
    """Let a disabled person who signs in elsewhere, or a service account, act again; what ended stays ended."""
    return await port.enable_person(person, body)


@router.patch("/people/{person}")
async def update_person(port: Port, person: Id, body: m.PersonUpdate) -> m.Person:
    """Replace the roles or groups that are granted to a person."""
    return await port.update_person(person, body)


@router.post("/people/{person}/identities")
async def link_identity(port: Port, person: Id, body: m.IdentityLink) -> m.Person:
    """Make who somebody is at an issuer this person's; whose it was loses it, and is signed out."""
    return await port.link_identity(person, body)


@router.post("/people/{person}/identities/remove")
async def unlink_identity(port: Port, person: Id, body: m.IdentityLink) -> m.Person:
    """Take an identity from a person, who is signed out."""
    return await port.unlink_identity(person, body)


@router.get("/group-bindings")
async def group_bindings(port: Port) -> m.GroupBindings:
    """List what the groups of issuers give here."""
    return await port.group_bindings()


@router.post("/group-bindings/proposals")
async def propose_group_bindings(port: Port, body: m.GroupBindingsRequest) -> m.GroupBindings:
    """Propose what the groups of issuers give, for another administrator, or say whose rights that would change."""
    return await port.propose_group_bindings(body)


@router.post("/group-bindings/proposals/{proposal}/publish")
async def publish_group_bindings(port: Port, proposal: Id, body: m.Proven | None = None) -> m.GroupBindings:
    """Let the groups of issuers give what another administrator has proposed."""
    return await port.publish_group_bindings(proposal, body)


@router.post("/people/{person}/invitations", status_code=201)
async def invite_again(port: Port, person: Id, body: m.Proven | None = None) -> m.Invitation:
    """Give a person a new one-time link, shown once: to join, to come back, or for another password."""
    return await port.invite_again(person, body)


@router.post("/me/password")
async def change_password(port: Port, body: m.PasswordChange) -> m.Me:
    """Replace one's own password; one's other sessions end."""
    await port.change_password(body)
    return await port.me()


@router.get("/passkeys")
async def passkeys(port: Port, person: PersonId = None) -> m.Page[m.Passkey]:
    """List the caller's passkeys, or as an administrator a person's."""
    return await port.passkeys(person=person)


@router.post("/passkeys/challenge", status_code=201)
async def begin_passkey(port: Port, body: m.Proven | None = None) -> m.PasskeyChallenge:
    """Begin to add a passkey, with a proof that the person is there; `passkeys` are those that there are."""
    return await port.begin_passkey(body)


@router.post("/passkeys", status_code=201)
async def add_passkey(port: Port, body: m.PasskeyRequest) -> m.Passkey:
    """Add a passkey, with which the caller signs in and proves consent from then on."""
    return await port.add_passkey(body)


@router.post("/passkeys/use", status_code=204)
async def use_passkey(port: Port, body: m.Proven | None = None) -> None:
    """Use a passkey in the session that calls: from then on policy sees its factors in what is asked there."""
    await port.use_passkey(body)


@router.post("/passkeys/{passkey}/remove", status_code=204)
async def remove_passkey(port: Port, passkey: PasskeyId, body: m.Proven | None = None) -> None:
    """Remove one of the caller's passkeys, with a proof that the person is there."""
    await port.remove_passkey(passkey, body)


@router.post("/people/{person}/passkeys/{passkey}/remove", status_code=204)
async def remove_passkey_of(port: Port, person: Id, passkey: PasskeyId, body: m.Proven | None = None) -> None:
    """Remove one of a person's passkeys, as an administrator."""
    await port.remove_passkey(passkey, body, person=person)


@router.get("/sessions")
async def sessions(port: Port, person: PersonId = None) -> m.Page[m.OpenSession]:
    """List the caller's sessions, or as an administrator a person's."""
    return await port.sessions(person=person)


@router.delete("/sessions/{session}", status_code=204)
async def end_session(port: Port, session: Id) -> None:
    """End one of the caller's sessions."""
    await port.end_session(session)


@router.delete("/people/{person}/sessions/{session}", status_code=204)
async def end_session_of(port: Port, person: Id, session: Id) -> None:
    """End one of a person's sessions, as an administrator."""
    await port.end_session(session, person=person)


@router.get("/tokens")
async def tokens(
    port: Port, *, everybody: bool = False, limit: LongPage = 200, after: LastId = None
) -> m.Page[m.Token]:
    """List the caller's API tokens, or as an administrator everybody's, oldest first, without their secrets."""
    return await port.tokens(everybody=everybody, limit=limit, after=after)


@router.post("/tokens", status_code=201)
async def create_token(port: Port, body: m.TokenRequest) -> m.Token:
    """Make an API token; its secret is shown once."""
    return await port.create_token(body)


@router.delete("/tokens/{token}", status_code=204)
async def revoke_token(port: Port, token: Id) -> None:
    """End an API token at once."""
    await port.revoke_token(token)
