"""What every command has in hand: the port, a way to await its calls, and where to write what."""

import asyncio
import os
import sys
import webbrowser
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Annotated, Any, Final, NoReturn, TypeVar

import typer
from pydantic import BaseModel, TypeAdapter, ValidationError
from rich.console import Console, RenderableType
from rich.text import Text

from headrace.cli.exits import Exit, exit_of
from headrace.cli.spoken import mistake
from headrace.client import HeadraceError, HttpHeadrace, login
from headrace.client.models import PolicyVersion, Problem, Proven
from headrace.client.text import visible

Json = Annotated[bool, typer.Option("--json", help="Write one JSON document to standard output.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

T = TypeVar("T")
P = TypeVar("P", bound=Proven)

_PROOF_NEEDED = "proof_needed"
PROOF_REFUSED = "proof_refused"
"""The code of a wrong password."""
_WRONG = "red"
"""The style of what went wrong."""
PASSWORD_TRIES = 3
"""How often a person may type the password of one proof."""


class Out:
    """Where text goes: people's to standard output, notes to standard error; under `--json` only what went wrong.

    Text is never read as Rich markup, and what came from outside must pass through `visible` (or a function that does).
    """

    def __init__(self, *, as_json: bool) -> None:
        """Write for people, or with `as_json` for programs."""
        self.as_json = as_json
        self.documented = False
        """Whether a document was written."""
        self.noted = ""
        """The last line that is no result, also one that programs do not get."""
        self.notes = _console(to_stderr=True)
        quiet = Console(quiet=True)
        self.aside = quiet if as_json else self.notes
        """For what passes by, such as progress; quiet where programs read."""
        self.people = quiet if as_json else _console(to_stderr=False)

    @property
    def at_terminal(self) -> bool:
        """Whether a person is there, also one whose output goes to a program."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    @property
    def interactive(self) -> bool:
        """Whether a person is there to be asked what to do."""
        return self.at_terminal and not self.as_json

    def show(self, shown: RenderableType) -> None:
        """Write something for people."""
        self.people.print(shown)

    def say(self, text: str, style: str = "") -> None:
        """Write a line for people; unseen characters become visible."""
        self.people.print(Text(visible(text, 10_000), style=style), soft_wrap=True)

    def note(self, text: str, style: str = "") -> None:
        """Write a line that is no result: what happens, what to do next; under `--json` only what went wrong (red)."""
        self.noted = text
        if self.as_json and style != _WRONG:
            return
        self.tell(text, style)

    def tell(self, text: str, style: str = "") -> None:
        """Write a line to whoever is there: what went wrong, or what a person is asked about."""
        self.notes.print(Text(visible(text, 10_000), style=style), soft_wrap=True)

    def secret(self, about: str, text: str) -> None:
        """Write a secret and what it is, for people alone: under `--json` the document has it, and a log no copy."""
        if not self.as_json:
            self.note(about)
            self.say(text)

    def document(self, value: BaseModel | Sequence[BaseModel] | dict[str, object]) -> None:
        """Write the command's one JSON document, if JSON is wanted."""
        if self.as_json:
            self.line(value, indent=2)

    def line(self, value: BaseModel | Sequence[BaseModel] | dict[str, object], indent: int | None = None) -> None:
        """Write JSON to standard output."""
        content = TypeAdapter(Any).dump_json(value, indent=indent)
        sys.stdout.write(content.decode() + "\n")
        sys.stdout.flush()
        self.documented = True


class Command:
    """A command that runs: the port at the service, and where it writes."""

    def __init__(self, headrace: HttpHeadrace, out: Out, runner: asyncio.Runner) -> None:
        """Bind the three together."""
        self.headrace = headrace
        self.out = out
        self.on_interrupt: Callable[[], None] = lambda: out.note("Interrupted; nothing was started.")
        self._runner = runner

    def wait(self, call: Coroutine[Any, Any, T]) -> T:
        """Await a call. Between calls nothing runs, so questions to the person can simply block."""
        return self._runner.run(call)


def say_proposed(command: Command, made: PolicyVersion, publish: str) -> None:
    """Say what becomes of a version that was proposed: who publishes it, or what stands against that."""
    if made.against:
        command.out.say(f"Proposed as {made.version}.")
        command.out.note(made.against)
    else:
        command.out.say(f"Proposed as {made.version}. Another person publishes it: {publish} {made.version}")


def note_obstacles(command: Command, versions: Iterable[PolicyVersion]) -> None:
    """Say below a list of versions which proposals nobody can publish as they are, and why."""
    for one in versions:
        if one.state == "proposed" and one.against:
            command.out.note(one.against)


def proven(command: Command, request: P, call: Callable[[P], Coroutine[Any, Any, T]], *, page: str = "") -> T:
    """Make a call; where the service wants a proof that the person is there, ask for the password at the terminal.

    A wrong password is asked for again, up to `PASSWORD_TRIES` in all.

    A terminal has no passkeys, and no session at a provider: where only these count, it says where in the console
    (`page`: a path) the person can do this, and opens it where there is a browser to open.
    """
    try:
        return command.wait(call(request))
    except HeadraceError as error:
        if error.problem.code != _PROOF_NEEDED:
            raise
        wanted = error.problem.proof
        asked = (wanted.passkey or wanted.provider) if wanted is not None and "password" not in wanted.ways else None
        if asked is not None:
            _to_console(command.out, asked.origin + page)
            raise
        if wanted is None:
            raise
        if not command.out.at_terminal:
            command.out.tell("There is no terminal to type a password: run this at a terminal, or use the console.")
            raise
        command.out.tell(error.problem.detail)
    for _ in range(PASSWORD_TRIES - 1):
        try:
            return _with_password(command, request, call)
        except HeadraceError as error:
            if error.problem.code != PROOF_REFUSED:
                raise
            command.out.tell(f"{error.problem.detail} Type it again.")
    return _with_password(command, request, call)


def _with_password(command: Command, request: P, call: Callable[[P], Coroutine[Any, Any, T]]) -> T:
    password = str(typer.prompt("Your password", hide_input=True, err=True))
    return command.wait(call(request.model_copy(update={"password": password})))


def agreed(out: Out, question: str) -> bool:
    """Ask a person a question; where nobody can be asked, that is a no."""
    if out.interactive and typer.confirm(question, err=True):
        return True
    out.note("Nothing was done." if out.interactive else "Nothing was done: give --yes, or run this at a terminal.")
    return False


def _to_console(out: Out, address: str) -> None:
    out.tell(f"A terminal can't give this proof. Do this in the console: {address}")
    # Where there is no desktop, `webbrowser` would start a browser of text in this terminal.
    if out.interactive and any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")):
        webbrowser.open(address)


def run(work: Callable[[Command], Exit | None], *, as_json: bool) -> NoReturn:
    """Do a command's work and end with its exit code; problems and Ctrl-C are told and have codes of their own.

    `work` makes the requests, too: one beyond the limits of its model is a usage mistake.
    """
    out = Out(as_json=as_json)
    try:
        with asyncio.Runner() as runner:
            headrace = login.connect()
            command = Command(headrace, out, runner)
            try:
                code = work(command) or Exit.DONE
            except (KeyboardInterrupt, typer.Abort):
                command.on_interrupt()
                code = Exit.INTERRUPTED
            finally:
                runner.run(headrace.aclose())
    except HeadraceError as error:
        code = tell(out, error)
    except ValidationError as error:
        code = tell(out, HeadraceError(_mistake(error)))
    except OSError as error:
        if error.filename is None:  # a closed pipe is the caller's wish, anything else a fault of ours
            raise
        out.note(f"headrace: {error.filename}: {error.strerror}", _WRONG)
        code = Exit.FAILED
    if code != Exit.DONE and not out.documented:
        out.document(_stopped(out.noted, code))
    raise typer.Exit(code)


def tell(out: Out, error: HeadraceError) -> Exit:
    """Say what went wrong, for people or as the JSON document; returns the exit code."""
    problem = error.problem
    code = exit_of(problem)
    if problem.code == "not_signed_in":
        problem = problem.model_copy(update={"detail": _not_signed_in()})
    out.note(f"headrace: {problem.detail} [{problem.code}]", _WRONG)
    out.document(problem)
    return code


def misused(out: Out, said: str) -> Exit:
    """Say what is wrong with how a command was called, for people or as the JSON document; returns the exit code."""
    out.note(said, _WRONG)
    return Exit.USAGE


_STOPPED: Final = {
    Exit.NEEDS_YES: ("Needs a yes", "needs_yes"),
    Exit.INTERRUPTED: ("Interrupted", "interrupted"),
}
"""Title and code of what a person ends, or would have to allow."""


def _stopped(said: str, code: Exit) -> Problem:
    """Make the document of a command that ended without a result and without a refusal of the service."""
    if code in _STOPPED:
        title, name = _STOPPED[code]
        return Problem(title=title, status=409, code=name, detail=said)
    return Problem.of_usage(said) if code == Exit.USAGE else Problem.of_failure(said)


def _not_signed_in() -> str:
    """Say what is not good, the token or the session: only one of them was sent."""
    url, token = login.token()
    if token is None:
        return f"You are not signed in at {url}, or your session is no longer good. Sign in with `headrace login`."
    return (
        f"{login.bad_token(url)} Put another one there, or act as yourself: `unset HEADRACE_TOKEN`, and "
        "`headrace login` if you are not signed in."
    )


def _mistake(error: ValidationError) -> Problem:
    """Say which value of a request is beyond its limits, in the words of the service, which would refuse it as well."""
    where, detail = mistake(error)
    return Problem(title="Invalid request", status=422, code="invalid_request", detail=detail, fields=[where])


def _console(*, to_stderr: bool) -> Console:
    console = Console(stderr=to_stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console = Console(stderr=to_stderr, markup=False, emoji=False, highlight=False, width=200)
    return console
