"""The command `headrace interpret`: what a sentence means, without asking any service."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator  # noqa: TC003 (Typer reads annotations)
from datetime import datetime
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from headrace.guardrails.intents import Context, Endpoint, Interpretation
from headrace.guardrails.language.explain import explain
from headrace.guardrails.language.interpret import interpret as interpret_text

EXIT_CODES = {"intent": 0, "ask": 3, "refuse": 4}
MAX_LINE_BYTES = 1 << 20

_NO_SERVICE = (
    "This asks no service, so it knows no endpoint but `local` (others: --context FILE). With the endpoints of your "
    "service: headrace plan 'WORDS'"
)
_ZONE_FILES = Path("/usr/share/zoneinfo")


def interpret(
    text: Annotated[str | None, typer.Argument(help="The request, in quotes.")] = None,
    context: Annotated[
        Path | None,
        typer.Option(help="JSON file with now, timezone, endpoints, plans and transfers."),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option("--in", help="JSON lines with id and text; one answer a line."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where the answers to --in go (default: stdout).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,  # noqa: FBT002
) -> None:
    """Explain what a request means, without a service: words, slots, questions and refusals.

    It knows no endpoint but `local` and those of --context; `headrace plan` checks names at your service.

    Exit codes: 0 understood, 3 asked back, 4 refused, 2 usage. With --in always 0 when every line
    was answered.
    """
    known = _context(context)
    if cases is not None:
        if text is not None:
            _fail("give a sentence or --in, not both")
        _answer_all(cases, out, known)
        return
    if text is None:
        _fail('give a sentence, such as: headrace interpret "copy krios1:/raw to archive:/raw"')
    if out is not None:
        _fail("--out goes with --in")
    answer = interpret_text(text, known)
    typer.echo(json.dumps(_detailed(answer), ensure_ascii=False) if as_json else explain(answer))
    if context is None and not as_json and answer.outcome != "intent":
        typer.echo(_NO_SERVICE, err=True)
    raise typer.Exit(EXIT_CODES[answer.outcome])


def _fail(message: str) -> NoReturn:
    raise typer.BadParameter(message)  # `headrace` writes it as a document, too, where `--json` is typed


def _context(path: Path | None) -> Context:
    if path is None:
        return _default_context()
    try:
        form = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(form, dict):
            _fail(f"{path} must hold a JSON object")
        return Context.from_json(form)
    except OSError as error:
        _fail(f"{path} can't be read: {error.strerror}")
    except ValueError as error:
        _fail(f"{path}: {error}")


def _default_context() -> Context:
    """Know the clock, the zone and the endpoint `local`, and nothing else."""
    now = datetime.now().astimezone()
    try:
        return Context(now=now, timezone=_system_zone(), endpoints=(Endpoint("local"),))
    except ValueError:
        return Context(now=now, timezone="UTC", endpoints=(Endpoint("local"),))


def _system_zone() -> str:
    named = os.environ.get("TZ", "").removeprefix(":")
    if named:
        return named
    link = Path("/etc/localtime")
    if link.is_symlink():
        target = link.resolve()
        if target.is_relative_to(_ZONE_FILES):
            return str(target.relative_to(_ZONE_FILES))
    return "UTC"


def _answer_all(cases: Path, out: Path | None, context: Context) -> None:
    try:
        lines = _answers(cases, context)
        if out is None:
            for line in lines:
                typer.echo(line)
        else:
            with out.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}")


def _answers(cases: Path, context: Context) -> Iterator[str]:
    with cases.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                case = json.loads(line)
                name, text = case["id"], case["text"]
            except (ValueError, KeyError, TypeError):
                _fail(f"{cases}:{number}: needs a JSON object with id and text")
            if not isinstance(name, str) or not isinstance(text, str) or len(line) > MAX_LINE_BYTES:
                _fail(f"{cases}:{number}: id and text must be texts, on a line below 1 MiB")
            answer = interpret_text(text, context).to_json()
            yield json.dumps({"id": name, **answer}, ensure_ascii=False)


def _detailed(answer: Interpretation) -> dict[str, object]:
    """Add what the words bar of a console needs to the scored form."""
    return {
        **answer.to_json(),
        "questions": [
            {
                "slot": question.slot,
                "message": question.message,
                "words": question.words,
                "choices": [{"value": choice.value, "label": choice.label} for choice in question.choices],
            }
            for question in answer.questions
        ],
        "refusals": [
            {"rule": refusal.rule, "message": refusal.message, "words": refusal.words} for refusal in answer.refusals
        ],
        "spans": [
            {
                "start": span.start,
                "end": span.end,
                "text": span.text,
                "slot": span.slot,
                "reading": span.reading,
            }
            for span in answer.spans
        ],
    }


def main() -> None:
    """Run the command on its own: `python -m headrace.guardrails.commands`."""
    typer.run(interpret)


if __name__ == "__main__":
    main()
