"""Whom a command is about: found by id, by a unique beginning of it, or by name."""

from collections import Counter
from collections.abc import Iterable
from functools import partial
from http import HTTPStatus
from typing import Annotated, Final

import typer

from headrace.cli import completion
from headrace.cli.command import Command
from headrace.client import HeadraceError, whole_list
from headrace.client import models as m

MOST: Final = 1000
"""As many as a page of a list of people, endpoints, nodes or tokens holds."""
_MAX_LISTED: Final = 10
_IDS: Final = "pn_"
"""What the ids of people begin with."""

Whom = Annotated[
    str,
    typer.Argument(
        metavar="PERSON",
        help="A person's id, a unique beginning of it, or the name.",
        autocompletion=completion.people,
    ),
]
Whose = Annotated[
    str | None,
    typer.Option(help="Whose, by id or name (administrators); without it, yours.", autocompletion=completion.people),
]


def everybody(command: Command) -> m.Page[m.Person]:
    """List all people and service accounts."""
    return command.wait(whole_list(partial(command.headrace.people, limit=MOST)))


def person_called(command: Command, text: str) -> m.Person | None:
    """Find a person or service account before a password is asked for; raises `not_found`.

    `None` for whoever may not list people: the service then says what stands against the command.
    """
    try:
        people = everybody(command)
    except HeadraceError as error:
        if error.problem.status != HTTPStatus.FORBIDDEN:
            raise
        return None
    found = [one for one in people if one.id == text] or [
        # A name that is also the beginning of somebody else's id means either: a guess could hit the wrong person.
        one for one in people if one.name == text or (text.startswith(_IDS) and one.id.startswith(text))
    ]  # fmt: skip
    match found:
        case [one]:
            return one
        case []:
            detail = f"No person has the name or id `{text}`; `headrace people` lists them."
        case _:
            listed = ", ".join(f"{one.id} ({one.name}, {where(one)}, {one.state})" for one in found[:_MAX_LISTED])
            more = f" and {len(found) - _MAX_LISTED} more" if len(found) > _MAX_LISTED else ""
            detail = f"`{text}` fits {len(found)} people; name one by id: {listed}{more}."
    problem = m.Problem(title="Not found", status=HTTPStatus.NOT_FOUND, code="not_found", detail=detail)
    raise HeadraceError(problem)


def where(person: m.Person) -> str:
    """Say at which issuers somebody is known, or that they are of this service."""
    return " and ".join(sorted({one.issuer for one in person.identities})) or "of this service"


def told_apart(people: Iterable[m.Person]) -> dict[str, str]:
    """Return the names of people by id; of those with one name, each with where they are known."""
    people = tuple(people)
    named = Counter(one.name.casefold() for one in people)
    return {one.id: f"{one.name} ({where(one)})" if named[one.name.casefold()] > 1 else one.name for one in people}


def id_of(command: Command, text: str) -> str:
    """Return the id of a person or service account; the text itself for whoever may not list people."""
    found = person_called(command, text)
    return found.id if found is not None else text
