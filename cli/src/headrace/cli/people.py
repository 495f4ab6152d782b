"""Commands about people: login, logout, whoami, invite, people, token."""

import asyncio
import sys
import unicodedata
from collections.abc import Callable, Coroutine
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

import typer

from headrace.cli import completion
from headrace.cli.beginnings import begun_by
from headrace.cli.card import age, local_time
from headrace.cli.command import Command, Json, agreed, misused, proven, run
from headrace.cli.exits import Exit
from headrace.cli.quantities import as_flag, span_s
from headrace.cli.tables import table
from headrace.cli.whom import MOST, Whom, Whose, everybody, id_of, person_called, told_apart
from headrace.client import HeadraceError, HttpHeadrace, whole_list
from headrace.client import login as saved
from headrace.client import models as m
from headrace.client.text import visible

T = TypeVar("T")

LEAST_PASSWORD = 12
"""Characters of a new password at least, as every service wants them."""

Issuer = Annotated[
    str, typer.Argument(help="The provider, by its id or `url`; or the directory, by its domain or `ad:` and that.")
]


def login(
    *,
    name: Annotated[str | None, typer.Option(help="Your name; asked for when needed and not given.")] = None,
    link: Annotated[
        str | None,
        typer.Option(
            help="A one-time link: an invitation, or the first start's; `-` reads it, so that nobody else sees it."
        ),
    ] = None,
    password_stdin: Annotated[
        bool,
        typer.Option(
            "--password-stdin", help="Read the password from standard input's first line, at a terminal, too."
        ),
    ] = False,
    provider: Annotated[
        str | None, typer.Option(help="Sign in at this provider of the site, in a browser on any device.")
    ] = None,
    json: Json = False,
) -> None:
    """Sign in and remember the session; with --link, choose your password first."""

    def work(command: Command) -> Exit:
        if provider is not None:
            session, url = _at_provider(command, provider), command.headrace.url
            return _signed_in(command, session, url)
        if not command.out.at_terminal and name is None and link is None:
            return misused(command.out, "There is no terminal to ask at: give --name, and pipe in the password.")
        from_stdin = password_stdin or not command.out.at_terminal
        if link is not None:
            given = _typed_link(command) if link == "-" else link
            session, url, called = _accepted(command, given, name, from_stdin=from_stdin)
            if called is not None and unicodedata.normalize("NFC", called) != session.me.name:
                command.out.note(f"You were invited as {session.me.name}: that is your name here.")
        else:
            if command.out.at_terminal:
                command.wait(command.headrace.health())  # whoever answers nothing gets no password typed
            person = name or str(typer.prompt("Name", err=True))
            password = _password(from_stdin=from_stdin, new=False)
            url = command.headrace.url
            session = _by_password(command, person, password)
        return _signed_in(command, session, url)

    run(work, as_json=json)


def _by_password(command: Command, name: str, password: str) -> m.Session:
    try:
        return command.wait(command.headrace.sign_in(m.SignIn(name=name, password=password)))
    except HeadraceError as error:
        if error.problem.code == _NOT_LET_IN:
            detail = f"{error.problem.detail} {_FORGOTTEN}"
            raise HeadraceError(error.problem.model_copy(update={"detail": detail})) from error
        raise


def _signed_in(command: Command, session: m.Session, url: str) -> Exit:
    """Remember a session, and say so."""
    path = saved.remember(url, session)
    command.out.say(f"Signed in to {url} as {session.me.name} until {local_time(session.expires)}.")
    command.out.note(f"The session is kept in {path}.")
    if url != saved.service_url():
        command.out.note(
            f"Other commands still talk to {saved.service_url()}; to talk to this one: HEADRACE_SERVICE={url}"
        )
    command.out.document({"service": url, "me": session.me.model_dump(), "expires": session.expires.isoformat()})
    return Exit.DONE


_NOT_LET_IN = "sign_in_refused"
_PASSWORD_REFUSED = "password_refused"  # noqa: S105 - a code, not a password
_NEW_PASSWORDS = 20
"""How many refused passwords somebody may choose anew."""
_FORGOTTEN = (
    "Password forgotten, or no access any more? Ask an administrator of this site for a new one-time link (`headrace "
    "people reinvite NAME`). An account of the site's directory signs in as name@domain or DOMAIN\\name."
)
_CODE_LIMIT_S = 600
"""No service asks longer than this whether somebody has typed a code."""
_LONGEST_PAUSE_S = 60


def _at_provider(command: Command, provider: str) -> m.Session:
    """Show the code to type at a provider, and wait until that is done; the service says when it is too late."""
    try:
        begun = command.wait(command.headrace.begin_device_sign_in(provider))
    except HeadraceError as error:
        if error.problem.status == HTTPStatus.NOT_FOUND:
            command.out.note(f"In a browser, people sign in at {command.headrace.url}/sign-in")
        raise
    command.out.tell(f"Open {begun.whole_uri or begun.uri} in a browser; the code is {begun.user_code}")
    question = m.DeviceQuestion(kept=begun.kept)

    async def asked() -> m.Session:
        loop = asyncio.get_running_loop()
        pause_s, waits, until = begun.interval_s, False, loop.time() + _CODE_LIMIT_S
        while True:
            try:
                answer = await command.headrace.ask_device_sign_in(provider, question)
            except HeadraceError as error:
                # The code is still good, and the person is typing it: what may pass is waited for.
                if error.problem.status < HTTPStatus.INTERNAL_SERVER_ERROR or loop.time() > until:
                    raise
                if not waits:
                    command.out.tell(f"{error.problem.detail} Still waiting; the code stays good.")
                pause_s, waits = min(2 * pause_s, _LONGEST_PAUSE_S), True
            else:
                if answer.session is not None:
                    return answer.session
                pause_s, waits = begun.interval_s, False
            await asyncio.sleep(pause_s)

    return command.wait(asked())


def logout(*, json: Json = False) -> None:
    """End the session at the service and forget it."""

    def work(command: Command) -> None:
        url = command.headrace.url
        session = saved.saved_sessions().get(url)
        said = f"Signed out of {url}." if session else f"You are not signed in at {url}; there is nothing to end."
        if session is not None:
            try:
                command.wait(_ended(url, session.secret))
            finally:
                saved.forget(url)
        command.out.say(said)
        command.out.document({"service": url})

    run(work, as_json=json)


async def _ended(url: str, secret: str) -> None:
    """End this session, and not what a token in the environment acts for."""
    async with HttpHeadrace(url, secret) as service:
        await service.sign_out()


ROLES_HELP = (
    "requester (plans and runs transfers), viewer (looks), approver (agrees to plans of others), policy_admin (changes "
    "policy, links and labels), operator (nodes and halts), auditor (reads the audit log), admin (people and rights)."
)
"""What each role is for; docs/security/access.md has every route."""
SCOPES_HELP = (
    "transfer:read (looks), transfer:plan (plans), transfer:run (runs and steers), transfer:delete (runs what "
    "deletes), transfer:read:all and transfer:run:all (an assistant's: also what others planned), policy:write, "
    "node:write, audit:read. May be given again."
)
"""What each scope of a token is for."""


def whoami(*, json: Json = False) -> None:
    """Say who you are at the service, and what you may do."""

    def work(command: Command) -> None:
        me = command.wait(command.headrace.me())
        how = "in a session" if me.session else "with a token"
        agent = f" for {me.agent}" if me.agent else ""
        command.out.say(f"{me.name} ({me.id}) at {command.headrace.url}, {how}{agent}")
        where = f" at {me.issuer}" if me.issuer else ""
        command.out.say(f"signed in by: {me.method}{where} ({', '.join(me.factors) or 'nothing more'})")
        command.out.say(f"roles: {', '.join(me.roles)}")
        command.out.say(f"groups: {', '.join(me.groups) or 'none'}")
        command.out.say(f"may: {', '.join(me.scopes)}")
        command.out.document(me)

    run(work, as_json=json)


def invite(
    name: Annotated[str, typer.Argument(help="The person's name.")],
    *,
    role: Annotated[list[str], typer.Option(help=ROLES_HELP)],
    valid: Annotated[
        int,
        typer.Option(
            parser=as_flag(span_s),
            metavar="TIME",
            show_default=False,
            help="How long the link is good, like 12h. [default: 3 d]",
        ),
    ] = 3 * 86400,
    json: Json = False,
) -> None:
    """Invite a person by a one-time link, with roles."""

    def work(command: Command) -> None:
        request = m.InvitationRequest(name=name, roles=role, valid_s=valid)
        made = proven(command, request, command.headrace.invite)
        _give(command, made)
        command.out.document(made)

    run(work, as_json=json)


def _give(command: Command, made: m.Invitation) -> None:
    """Show a link once, and say what to do with it."""
    command.out.secret(f"Give {made.name} this link before {local_time(made.expires)} (shown once):", made.link)
    command.out.note(
        f"{made.name} opens it in a browser, or runs `headrace login --link -` and pastes it, and chooses a password."
    )
    if saved.is_of_this_host(made.link):
        command.out.note(
            "This link opens only on the host of the service, which listens there alone. For other machines, start it "
            "with --listen and a certificate (docs/operations/deploy.md), then invite again.",
            "yellow",
        )


people = typer.Typer(
    invoke_without_command=True, rich_markup_mode=None, help="List people, change their rights, disable or enable one."
)


@people.callback()
def people_list(ctx: typer.Context, *, json: Json = False) -> None:
    """List people."""
    if ctx.invoked_subcommand is not None:
        return

    def work(command: Command) -> None:
        found = everybody(command)
        names = told_apart(found)
        rows = (
            (names[p.id], p.id, p.kind, ", ".join(p.roles), ", ".join(p.groups), p.state, local_time(p.created))
            for p in found
        )
        command.out.show(table(("name", "id", "kind", "roles", "groups", "state", "made"), rows))
        command.out.document(found)

    run(work, as_json=json)


@people.command("service")
def people_service(
    name: Annotated[str, typer.Argument(help="What the account is called.")],
    *,
    role: Annotated[list[str], typer.Option(help="viewer, requester, operator, auditor.")],
    json: Json = False,
) -> None:
    """Make a service account: it owns tokens of pipelines (`token create --for ACCOUNT`) and never signs in."""

    def work(command: Command) -> None:
        made = proven(command, m.ServiceAccountRequest(name=name, roles=role), command.headrace.create_service_account)
        command.out.say(f"{made.name} is {made.id}.")
        command.out.document(made)

    run(work, as_json=json)


@people.command("disable")
def people_disable(
    person: Whom,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Disable a person; password, sessions, tokens and passkeys are gone."""

    def work(command: Command) -> Exit:
        found = person_called(command, person)
        name, whom = (found.name, found.id) if found is not None else (person, person)
        if not yes and not agreed(command.out, f"Disable {visible(name)}?"):
            return Exit.NEEDS_YES
        after = command.wait(command.headrace.disable_person(whom))
        gone = "tokens" if after.kind == "service" else "password, sessions, tokens and passkeys"
        if after.identities:
            gone = "sessions, tokens, passkeys and any password here"
        command.out.say(f"{after.name} is {after.state}; {gone} are gone. To let them back: {_way_back(after)}")
        command.out.document(after)
        return Exit.DONE

    run(work, as_json=json)


def _way_back(person: m.Person) -> str:
    enable, reinvite = f"`headrace people enable {person.id}`", f"`headrace people reinvite {person.id}`"
    if person.kind == "service" or person.name == person.id:
        return enable
    # Who has identities elsewhere may have a password here besides, and needs a link for another then.
    return f"{enable}, or {reinvite} if they signed in with a password here" if person.identities else reinvite


@people.command("enable")
def people_enable(person: Whom, *, json: Json = False) -> None:
    """Let a disabled person who signs in elsewhere, or a service account, act again; what ended stays ended."""

    def work(command: Command) -> None:
        after = proven(command, m.Proven(), partial(command.headrace.enable_person, id_of(command, person)))
        command.out.say(f"{after.name} is {after.state}.")
        command.out.document(after)

    run(work, as_json=json)


@people.command("reinvite")
def people_reinvite(person: Whom, *, json: Json = False) -> None:
    """Give a person a new one-time link: to join, to come back after `disable`, or for another password."""

    def work(command: Command) -> None:
        made = proven(command, m.Proven(), partial(command.headrace.invite_again, id_of(command, person)))
        _give(command, made)
        command.out.document(made)

    run(work, as_json=json)


@people.command("password")
def people_password(
    *,
    password_stdin: Annotated[
        bool,
        typer.Option("--password-stdin", help="Read your password and the new one, a line each, at a terminal, too."),
    ] = False,
    json: Json = False,
) -> None:
    """Change your own password: asked for at a terminal, else read from standard input. Your other sessions end."""

    def work(command: Command) -> None:
        from_stdin = password_stdin or not command.out.at_terminal
        present = _password(from_stdin=from_stdin, new=False)

        async def change(new: str) -> None:
            await command.headrace.change_password(m.PasswordChange(password=present, new_password=new))

        _with_new_password(command, change, from_stdin=from_stdin)
        command.out.say("Your password is changed. Your other sessions are ended.")
        command.out.document({"changed": True})

    run(work, as_json=json)


@people.command("sessions")
def people_sessions(
    *,
    person: Whose = None,
    end: Annotated[
        str | None, typer.Option(metavar="ID", help="End this one, by its id or a unique beginning of it.")
    ] = None,
    json: Json = False,
) -> None:
    """List your sessions, or end one."""

    def work(command: Command) -> None:
        whose = id_of(command, person) if person is not None else None
        if end is not None:
            ended = begun_by(command.wait(command.headrace.sessions(person=whose)), end, "sessions")
            command.wait(command.headrace.end_session(ended, person=whose))
            command.out.say(f"Session {ended} is ended.")
            command.out.document({"ended": ended})
            return
        found = command.wait(command.headrace.sessions(person=whose))
        rows = (
            (one.id, one.method, local_time(one.created), age(one.last_used), "this one" if one.current else "")
            for one in found
        )
        command.out.show(table(("id", "begun by", "at", "used", ""), rows))
        command.out.document(found)

    run(work, as_json=json)


@people.command("passkeys")
def people_passkeys(
    *,
    person: Whose = None,
    remove: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Remove this one, such as a lost one, by its id or a unique beginning of it."),
    ] = None,
    json: Json = False,
) -> None:
    """List your passkeys, or remove one; the console adds them."""

    def work(command: Command) -> None:
        whose = id_of(command, person) if person is not None else None
        if remove is not None:
            removed = begun_by(command.wait(command.headrace.passkeys(person=whose)), remove, "passkeys")
            gone = partial(command.headrace.remove_passkey, removed, person=whose)
            proven(command, m.Proven(), gone, page="/account" if whose is None else f"/people/{whose}")
            command.out.say(f"Passkey {removed} is removed.")
            command.out.document({"removed": removed})
            return
        found = command.wait(command.headrace.passkeys(person=whose))
        rows = ((one.id, one.name, local_time(one.created), age(one.last_used)) for one in found)
        if found:
            command.out.show(table(("id", "name", "added", "used"), rows))
        elif whose is None:
            command.out.say(f"You have no passkeys. Add one in the console, in a browser: {_console(command)}/account")
        else:
            command.out.say(f"{person} has no passkeys. People add theirs in the console: {_console(command)}/account")
        command.out.document(found)

    run(work, as_json=json)


def _console(command: Command) -> str:
    return command.wait(command.headrace.me()).console or command.headrace.url


@people.command("set")
def people_set(  # noqa: PLR0913 - one parameter each option
    person: Whom,
    *,
    role: Annotated[
        list[str] | None, typer.Option(help="A role to grant; together they replace those granted.")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="A group to grant, as policies name it; together they replace those granted."),
    ] = None,
    no_roles: Annotated[bool, typer.Option("--no-roles", help="Grant no role any more.")] = False,
    no_groups: Annotated[bool, typer.Option("--no-groups", help="Grant no group any more.")] = False,
    json: Json = False,
) -> None:
    """Replace the roles or groups that are granted to a person; what is not given stays."""

    def work(command: Command) -> Exit:
        if (role and no_roles) or (group and no_groups) or not (role or no_roles or group or no_groups):
            return misused(command.out, "Give --role or --no-roles, or --group or --no-groups.")
        update = m.PersonUpdate(roles=[] if no_roles else role or None, groups=[] if no_groups else group or None)
        after = proven(command, update, partial(command.headrace.update_person, id_of(command, person)))
        command.out.say(f"{after.name}: roles {_listed(after.roles)}; groups {_listed(after.groups)}")
        command.out.document(after)
        return Exit.DONE

    run(work, as_json=json)


@people.command("link")
def people_link(
    person: Whom,
    issuer: Issuer,
    subject: Annotated[
        str,
        typer.Argument(help="The person's id there: the provider's `sub`, or in a directory the objectGUID."),
    ],
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Take the identity from the person instead.")] = False,
    json: Json = False,
) -> None:
    """Give an identity at an issuer to this person; whoever had it before loses it and is signed out."""

    def work(command: Command) -> None:
        whom = id_of(command, person)
        here = command.wait(command.headrace.group_bindings())
        link = m.IdentityLink(issuer=_called(here, issuer), subject=subject)
        act = command.headrace.unlink_identity if remove else command.headrace.link_identity
        after = proven(command, link, partial(act, whom))
        command.out.say(f"{after.name}: {_listed([f'{one.subject} at {one.issuer}' for one in after.identities])}")
        command.out.document(after)

    run(work, as_json=json)


@people.command("groups")
def people_groups(*, json: Json = False) -> None:
    """List what the groups of issuers give here, and what is proposed that they give."""

    def work(command: Command) -> None:
        found = command.wait(command.headrace.group_bindings())
        _show_bindings(command, found.bindings)
        if found.proposed is not None:
            _show_proposal(command, found.proposed)
        command.out.document(found)

    run(work, as_json=json)


@people.command("bind")
def people_bind(  # noqa: PLR0913 - one parameter each option
    issuer: Issuer,
    its_group: Annotated[
        str,
        typer.Argument(metavar="GROUP", help="A group there: as the provider calls it, or in a directory its SID."),
    ],
    *,
    role: Annotated[list[str] | None, typer.Option(help="A role that the group gives.")] = None,
    group: Annotated[list[str] | None, typer.Option(help="A group of policies that it gives.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say whose rights would change.")] = False,
    json: Json = False,
) -> None:
    """Propose all that a group of an issuer gives here (without options: nothing), beside what is proposed already.

    Another administrator publishes it.
    """

    def work(command: Command) -> None:
        found = command.wait(command.headrace.group_bindings())
        where = _called(found, issuer)
        before = found.proposed.bindings if found.proposed else found.bindings
        kept = [one for one in before if (one.issuer, one.group) != (where, its_group)]
        fresh = m.GroupBinding(issuer=where, group=its_group, roles=role or [], groups=group or [])
        wanted = [*kept, fresh] if role or group else kept
        request = m.GroupBindingsRequest(bindings=wanted, dry_run=dry_run)
        found = command.wait(command.headrace.propose_group_bindings(request))
        if dry_run:
            _show_changes(command, found.changes, "would change")
        elif found.proposed is not None:
            _show_proposal(command, found.proposed)
        else:
            command.out.say("It already gives that; nothing is proposed.")
        command.out.document(found)

    run(work, as_json=json)


def _called(here: m.GroupBindings, text: str) -> str:
    """Return the issuer of a provider's id or a directory's domain; any other text is the issuer itself."""
    found = [one.issuer for one in here.issuers if one.id == text]
    return found[0] if len(found) == 1 else text


@people.command("publish")
def people_publish(
    proposal: Annotated[str, typer.Argument(help="What `people groups` shows as proposed: its id, or a beginning.")],
    *,
    json: Json = False,
) -> None:
    """Let the groups of issuers give what another administrator has proposed."""

    def work(command: Command) -> None:
        known = command.wait(command.headrace.group_bindings()).proposed
        whole = begun_by([known] if known else [], proposal, "proposals")
        found = proven(command, m.Proven(), partial(command.headrace.publish_group_bindings, whole))
        _show_changes(command, found.changes, "changed")
        command.out.document(found)

    run(work, as_json=json)


def _show_bindings(command: Command, bindings: list[m.GroupBinding]) -> None:
    if not bindings:
        command.out.say(
            "No group of an issuer gives anything. To propose one: headrace people bind ISSUER GROUP --role ROLE"
        )
        return
    rows = ((one.issuer, one.group, ", ".join(one.roles), ", ".join(one.groups)) for one in bindings)
    command.out.show(table(("issuer", "its group", "roles", "groups"), rows))


def _show_proposal(command: Command, proposed: m.GroupProposal) -> None:
    command.out.say(f"Proposed by {proposed.author_name}, for another administrator to publish:")
    command.out.say(f"  headrace people publish {proposed.id}")
    _show_bindings(command, proposed.bindings)
    _show_changes(command, proposed.changes, "would change")


def _show_changes(command: Command, changes: list[m.RightsChange], verb: str) -> None:
    command.out.say(f"The rights of {'1 person' if len(changes) == 1 else f'{len(changes)} people'} {verb}.")
    rows = (
        (one.name, one.person, f"{_listed(one.roles_before)} -> {_listed(one.roles)}",
         f"{_listed(one.groups_before)} -> {_listed(one.groups)}")
        for one in changes
    )  # fmt: skip
    if changes:
        command.out.show(table(("name", "id", "roles", "groups"), rows))


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


token = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Make, list and revoke API tokens.")


@token.command("create")
def token_create(  # noqa: PLR0913 - one parameter each option
    name: Annotated[str, typer.Argument(help="What it is for.")],
    *,
    scope: Annotated[list[str], typer.Option(help=SCOPES_HELP)],
    agent: Annotated[str | None, typer.Option(help="The name of the assistant that will act with it.")] = None,
    owner: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="ACCOUNT",
            help="The service account that owns it, by id or name.",
            autocompletion=completion.people,
        ),
    ] = None,
    valid: Annotated[
        int,
        typer.Option(
            parser=as_flag(span_s),
            metavar="TIME",
            show_default=False,
            help="How long it is good, like 90d. [default: 30 d]",
        ),
    ] = 30 * 86400,
    json: Json = False,
) -> None:
    """Make an API token for a pipeline or an assistant; its secret is shown once."""

    def work(command: Command) -> None:
        account = id_of(command, owner) if owner is not None else None
        wanted = m.TokenRequest(name=name, scopes=scope, valid_s=valid, agent=agent, person=account)
        made = proven(command, wanted, command.headrace.create_token)
        command.out.secret(f"Token {made.id}, until {local_time(made.expires)}. Shown once:", made.secret or "")
        command.out.document(made)

    run(work, as_json=json)


@token.command("list")
def token_list(
    *,
    everybody: Annotated[bool, typer.Option("--all", help="Everybody's (administrators).")] = False,
    json: Json = False,
) -> None:
    """List your API tokens."""

    def work(command: Command) -> None:
        found = command.wait(whole_list(partial(command.headrace.tokens, everybody=everybody, limit=MOST)))
        rows = (
            (t.id, t.name, ", ".join(t.scopes), t.agent or "", local_time(t.expires), age(t.last_used)) for t in found
        )
        if found:
            command.out.show(table(("id", "name", "scopes", "agent", "until", "used"), rows))
        else:
            command.out.say("There are no tokens. To make one: headrace token create NAME --scope SCOPE")
        command.out.document(found)

    run(work, as_json=json)


@token.command("revoke")
def token_revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Its id, or a unique beginning of it.")],
    *,
    json: Json = False,
) -> None:
    """End an API token at once."""

    def work(command: Command) -> None:
        whole = _token_begun_by(command, token_id)
        command.wait(command.headrace.revoke_token(whole))
        command.out.say(f"Token {whole} is revoked.")
        command.out.document({"revoked": whole})

    run(work, as_json=json)


def _token_begun_by(command: Command, text: str) -> str:
    """Return the id of one's own token that begins so, or for administrators of anybody's."""
    own = command.wait(whole_list(command.headrace.tokens))
    whole = begun_by(own, text, "tokens")
    called = [one.id for one in own if one.name == text]
    if whole == text and called:
        detail = f"`{text}` is the name of {' and '.join(called)}: revoking takes the id, which nothing else has."
        raise HeadraceError(m.Problem(title="A name", status=422, code="invalid_request", detail=detail))
    if whole == text:
        try:
            everybodys = command.wait(whole_list(partial(command.headrace.tokens, everybody=True, limit=MOST)))
            return begun_by(everybodys, text, "tokens")
        except HeadraceError as error:
            if error.problem.status != HTTPStatus.FORBIDDEN:
                raise
    return whole


def _accepted(command: Command, link: str, name: str | None, *, from_stdin: bool) -> tuple[m.Session, str, str | None]:
    parts = urlsplit(link.strip())
    if parts.scheme not in {"http", "https"} or not parts.netloc or not parts.fragment:
        message = "this is not a one-time link: copy all of it, from http to the end, like https://host/accept#TOKEN"
        raise HeadraceError(m.Problem(title="Invalid link", status=422, code="invalid_request", detail=message))
    url = f"{parts.scheme}://{parts.netloc}"
    named = _invited_name(command, url, parts.fragment, name)

    async def accept(password: str) -> m.Session:
        acceptance = m.AcceptInvitation(token=parts.fragment, password=password, name=named)
        async with HttpHeadrace(url) as service:
            return await service.accept_invitation(acceptance)

    return _with_new_password(command, accept, from_stdin=from_stdin), url, name


def _typed_link(command: Command) -> str:
    """Read the link from the terminal or from standard input's first line, where nobody else sees it."""
    if command.out.at_terminal:
        return str(typer.prompt("Link", hide_input=True, err=True))
    return sys.stdin.readline().strip()


def _invited_name(command: Command, url: str, token: str, name: str | None) -> str | None:
    """Look at the link before a password is chosen, so that a bad one is found first; returns the name to choose.

    The first start's link needs one, which is asked for; an invitation has one already, and says it.
    """
    if not command.out.at_terminal:
        return name

    async def look() -> m.Invited:
        async with HttpHeadrace(url) as service:
            return await service.invited(token)

    invited = command.wait(look())
    if name is not None:
        return name
    if invited.name is None:
        return str(typer.prompt("Choose the name that you sign in with", err=True))
    command.out.tell(f"You are invited as {invited.name}; you sign in with this name.")
    return None


def _with_new_password(command: Command, use: Callable[[str], Coroutine[Any, Any, T]], *, from_stdin: bool) -> T:
    """Let somebody choose a password; at a terminal, one that the service refuses can be chosen anew.

    Nothing is guessed here, so that the refusals of several rules, one after the other, end nothing.
    """
    for _ in range(_NEW_PASSWORDS - 1):
        try:
            return command.wait(use(_password(from_stdin=from_stdin, new=True)))
        except HeadraceError as error:
            if from_stdin or error.problem.code != _PASSWORD_REFUSED:
                raise
            command.out.tell(error.problem.detail)
    return command.wait(use(_password(from_stdin=from_stdin, new=True)))


def _password(*, from_stdin: bool, new: bool) -> str:
    """Ask for a password without showing it, for a new one twice; or read a line of standard input."""
    which = "New password" if new else "Password"
    if not from_stdin:
        asked = f"{which} (at least {LEAST_PASSWORD} characters)" if new else which
        return str(typer.prompt(asked, hide_input=True, confirmation_prompt=new, err=True))
    given = sys.stdin.readline().rstrip("\n")
    if not given:
        line = "next" if new else "first"
        message = f"standard input has no {which.lower()}: write it as the {line} line, or run this at a terminal"
        raise typer.BadParameter(message)
    return given
