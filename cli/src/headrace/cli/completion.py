"""What the shell completes of the service's own names: transfers, plans, endpoints, classes, projects, people, nodes.

Whoever presses Tab gets an answer within `LIMIT_S`, or none: nothing is asked, and nothing said of what went wrong.
Shells evaluate what they are given (zsh even twice), so text from outside loses every character that could mean
something to one, and a name that has such a character is not offered.
"""

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from threading import Thread
from typing import Final, NoReturn

import typer

from headrace.client import HeadraceError, HttpHeadrace, login
from headrace.client import models as m

LIMIT_S: Final = 1.0
"""Longest wait for the service, unless `HEADRACE_COMPLETION_S` says otherwise."""
_MOST_S: Final = 60.0
_MOST: Final = 100
"""Transfers and plans that are looked through, the newest."""
_MOST_IN_A_PAGE: Final = 1000
_HELP_CHARS: Final = 72
_ACTIONS: Final = ("copy", "sync", "move")
_VARIABLE: Final = "_HEADRACE_COMPLETE"
"""Set by the shell's script: the command line is to be completed, not run."""
_OUTSIDE: Final = re.compile(r"[^\w .,:/@+=>-]")
"""What a shell could read as more than text."""
_NAME: Final = re.compile(r"[\w.@+][\w .@+-]*")
"""Names that need no quotes but for spaces."""

_Found = tuple[str, str]
"""What is offered, and a few words of help."""
_Read = Callable[[HttpHeadrace], Awaitable[Iterable[_Found]]]


def complete(app: Callable[[], object]) -> NoReturn:
    """Complete a command line by a run of `app`, which typer makes a completion of; ends the process at once."""
    _mend_words()
    # Help that is wrapped at a terminal's width would be further offers.
    os.environ["COLUMNS"] = "1000"
    # Whatever is written to a terminal now stands in the middle of what somebody types.
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        app()
    except SystemExit:
        pass
    except Exception:  # noqa: BLE001 - nobody reads what went wrong
        os._exit(0)
    sys.stdout.flush()
    # Not by the interpreter's way, which waits for a look for an address that has no end.
    os._exit(0)


def transfers(ctx: typer.Context) -> list[_Found]:
    """Offer ids of transfers."""
    return _offered(ctx, _transfers)


def plans(ctx: typer.Context) -> list[_Found]:
    """Offer ids of plans."""
    return _offered(ctx, _plans)


def plans_and_transfers(ctx: typer.Context) -> list[_Found]:
    """Offer ids of plans, and of transfers."""

    async def both(headrace: HttpHeadrace) -> Iterable[_Found]:
        plans, transfers = await asyncio.gather(_plans(headrace), _transfers(headrace))
        return [*plans, *transfers]

    return _offered(ctx, both)


def receipts(ctx: typer.Context) -> list[_Found]:
    """Offer ids of receipts."""

    async def read(headrace: HttpHeadrace) -> Iterable[_Found]:
        return [(one.receipt, _said_of(one)) for one in await headrace.transfers(limit=_MOST) if one.receipt]

    return _offered(ctx, read)


def endpoints(ctx: typer.Context) -> list[_Found]:
    """Offer names and aliases of endpoints."""

    async def read(headrace: HttpHeadrace) -> Iterable[_Found]:
        return _named(await headrace.endpoints(limit=_MOST_IN_A_PAGE))

    return _offered(ctx, read)


def places(ctx: typer.Context, incomplete: str) -> list[_Found]:
    """Offer endpoints as places begin: `lab:`."""

    async def read(headrace: HttpHeadrace) -> Iterable[_Found]:
        found = await headrace.endpoints(limit=_MOST_IN_A_PAGE, q=incomplete)
        return [(f"{name}:", said) for name, said in _named(found)]

    if ":" in incomplete and _is_bash():
        return []  # bash puts what is offered behind the colon
    found = _offered(ctx, read)
    fitting = [one for one in found if one[0].startswith(incomplete)]
    # Shells end what alone is left with a space. A place goes on with its path, so the last one is offered as two.
    return [*fitting, (f"{fitting[0][0]}/", fitting[0][1])] if len(fitting) == 1 else fitting


def requests(ctx: typer.Context, incomplete: str) -> list[_Found]:
    """Offer what `headrace plan` takes: an action and then its places, or a plan."""
    before = ctx.params.get("request") or ()
    if not before:
        return [*((action, "") for action in _ACTIONS), *_offered(ctx, _plans)]
    return places(ctx, incomplete)


def words(ctx: typer.Context, incomplete: str) -> list[_Found]:
    """Offer the places that a sentence may name."""
    return places(ctx, incomplete) if ctx.params.get("words") else []


def subjects(ctx: typer.Context) -> list[_Found]:
    """Offer what a halt may be of."""
    of = {"transfer": transfers, "person": people, "endpoint": endpoints, "node": nodes}
    offer = of.get(str(ctx.params.get("scope") or ""))
    return offer(ctx) if offer is not None else []


def classes(ctx: typer.Context) -> list[_Found]:
    """Offer names of classes."""

    async def read(headrace: HttpHeadrace) -> Iterable[_Found]:
        return [(one.name, f"weight {one.weight}") for one in (await headrace.qos()).document.classes]

    return _offered(ctx, read)


def projects(ctx: typer.Context) -> list[_Found]:
    """Offer projects that newest transfers and plans are for; nobody keeps a list of all."""

    async def read(headrace: HttpHeadrace) -> Iterable[_Found]:
        transfers, plans = await asyncio.gather(headrace.transfers(limit=_MOST), headrace.plans(limit=_MOST))
        named = [one.project for one in transfers]
        named += [one.intent.project for one in plans if one.intent is not None]
        return [(name, "") for name in named if name]

    return _offered(ctx, read)


def people(ctx: typer.Context) -> list[_Found]:
    """Offer names of people: all to those who may list them, else of those whose transfers the caller sees."""

    async def read(headrace: HttpHeadrace) -> Iterable[_Found]:
        try:
            return [(one.name, one.id) for one in await headrace.people(limit=_MOST_IN_A_PAGE)]
        except HeadraceError:
            return [(one.requester_name or "", "") for one in await headrace.transfers(limit=_MOST)]

    return _offered(ctx, read)


def nodes(ctx: typer.Context) -> list[_Found]:
    """Offer names of nodes."""

    async def read(headrace: HttpHeadrace) -> Iterable[_Found]:
        return [(one.name, one.state) for one in await headrace.nodes(limit=_MOST_IN_A_PAGE)]

    return _offered(ctx, read)


def halts(ctx: typer.Context) -> list[_Found]:
    """Offer ids of halts."""

    async def read(headrace: HttpHeadrace) -> Iterable[_Found]:
        return [(one.id, f"{one.scope} {one.subject_name}: {one.reason}") for one in await headrace.halts()]

    return _offered(ctx, read)


async def _transfers(headrace: HttpHeadrace) -> list[_Found]:
    return [(one.id, _said_of(one)) for one in await headrace.transfers(limit=_MOST)]


async def _plans(headrace: HttpHeadrace) -> list[_Found]:
    return [(one.id, f"{one.transfer_state or one.state}: {_asked(one)}") for one in await headrace.plans(limit=_MOST)]


def _said_of(transfer: m.Transfer) -> str:
    return f"{transfer.state}: {transfer.source} -> {transfer.destination}"


def _asked(plan: m.Plan) -> str:
    if plan.intent is None:
        return plan.words or ""
    return f"{plan.intent.source} -> {plan.intent.destination}"


def _named(endpoints: Iterable[m.Endpoint]) -> Iterator[_Found]:
    for one in endpoints:
        state = "online" if one.online else "offline"
        yield one.id, f"{one.access}, {state}"
        yield from ((alias, f"also {one.id}") for alias in one.aliases)


def _limit_s() -> float:
    try:
        return min(max(float(os.environ.get("HEADRACE_COMPLETION_S", "")), 0.0), _MOST_S)
    except ValueError:
        return LIMIT_S


def _offered(ctx: typer.Context, read: _Read) -> list[_Found]:
    """Ask the service; nothing where it does not answer in time, or refuses."""
    found: list[_Found] = []
    limit_s = _limit_s()
    service = ctx.find_root().params.get("service")
    if service:
        # The command itself, which sets it, does not run.
        os.environ["HEADRACE_SERVICE"] = service

    async def ask() -> list[_Found]:
        if login.credentials()[1] is None:
            return []
        async with asyncio.timeout(limit_s), login.connect() as headrace:
            return list(await read(headrace))

    def work() -> None:
        try:
            found.extend(asyncio.run(ask()))
        except Exception:  # noqa: BLE001 - an error would stand in the middle of what somebody types
            found.clear()

    # In a thread, as the look for an address can't be given up; whoever waits for it no longer ends without it.
    asking = Thread(target=work, daemon=True)
    asking.start()
    asking.join(limit_s)
    return [] if asking.is_alive() else list(_safe(found))


def _safe(found: Iterable[_Found]) -> Iterator[_Found]:
    """Return what may be given to a shell, each once."""
    seen = set()
    for name, said in found:
        bare = name.rstrip(":")
        if name not in seen and _NAME.fullmatch(bare):
            seen.add(name)
            text = _OUTSIDE.sub("?", said).strip()
            # The other shells quote what they are given.
            short = text if len(text) <= _HELP_CHARS else f"{text[: _HELP_CHARS - 3]}..."
            yield name.replace(" ", "\\ ") if _is_bash() else name, short


def rejoined(words: list[str], current: int) -> tuple[list[str], int]:
    """Put places and options together that bash has cut at `:` and `=`; returns the words and which is typed now.

    What follows a colon belongs to it when it is a path, which begins with `/`.
    """
    joined: list[str] = []
    at = 0
    for index, word in enumerate(words):
        cut = index > 0 and (
            (word == ":" and len(joined) > 1) or (word.startswith("/") and words[index - 1] == ":" and index > 1)
        )
        if cut:
            joined[-1] += word
        elif word == "=" and index < current and joined and joined[-1].startswith("--"):
            pass  # the value of an option is a word of its own as well
        else:
            joined.append(word)
        if index <= current:
            at = len(joined) - 1
    return joined, at


def _mend_words() -> None:
    words, current = os.environ.get("COMP_WORDS", "").split("\n"), os.environ.get("COMP_CWORD", "")
    if _is_bash() and current.isdecimal() and int(current) < len(words):
        joined, at = rejoined(words, int(current))
        os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(joined), str(at)


def _is_bash() -> bool:
    return os.environ.get(_VARIABLE) == "complete_bash"
