"""Why a list is empty: what it was narrowed to may not be there, or be written otherwise."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from headrace.cli.command import Command
from headrace.cli.exits import Exit
from headrace.cli.whom import MOST
from headrace.client import models as m
from headrace.client import whole_list

_MOST: Final = 5
"""Labels that are named."""
_NAMED: Final = 20
"""Endpoints that are named."""


def say_why_empty(command: Command, *, endpoint: str, label: str, person: str) -> Exit | None:
    """Say of an empty list what was asked for that there is not; only those who administrate know who there is."""
    ended = None
    if endpoint and (said := _of_endpoint(command, endpoint)):
        command.out.note(said, "red")
        ended = Exit.FAILED
    if label and (said := _of_label(label, command.wait(whole_list(partial(command.headrace.endpoints, limit=MOST))))):
        command.out.note(said)
    if person:
        command.out.note(f"`{person}` may be nobody here, or somebody whose transfers you may not see.")
    return ended


def _of_endpoint(command: Command, endpoint: str) -> str:
    """Say that there is no such endpoint, and which there are; empty where there is one."""
    alike = command.wait(whole_list(partial(command.headrace.endpoints, limit=MOST, q=endpoint)))
    if endpoint.casefold() in {name.casefold() for one in alike for name in (one.id, *one.aliases)}:
        return ""
    first = command.wait(command.headrace.endpoints(limit=_NAMED))
    there = [name for one in first for name in (one.id, *one.aliases)]
    more = " and more (`headrace endpoints`)" if first.next is not None else ""
    return f"There is no endpoint `{endpoint}` that you may see; there are {', '.join(there) or 'none'}{more}."


def _of_label(label: str, endpoints: Iterable[m.Endpoint]) -> str:
    """Say that no endpoint has a label, and which have one that is written nearly so; empty where one has it."""
    wanted, is_value, _ = label.partition("=")
    had = {f"{name}={value}" if is_value else name: name for one in endpoints for name, value in one.labels.items()}
    if label in had:
        return ""
    none = f"No endpoint that you may see has the label `{label}`"
    if near := [one for one in had if one.casefold() == label.casefold()]:
        return f"{none}. There is {_listed(near)}: labels are told apart by upper and lower case."
    if values := [one for one, name in had.items() if is_value and name.casefold() == wanted.casefold()]:
        return f"{none}. There is {_listed(values)}."
    return f"{none}."


def _listed(labels: list[str]) -> str:
    more = f" and {len(labels) - _MOST:,} more" if len(labels) > _MOST else ""
    return " and ".join(f"`{one}`" for one in sorted(labels)[:_MOST]) + more
