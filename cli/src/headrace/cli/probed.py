"""What a probe has measured, for people."""

from typing import Final

from headrace.cli.card import state_style
from headrace.cli.command import Command
from headrace.cli.exits import Exit, exit_of_end
from headrace.cli.tables import table
from headrace.client import models as m
from headrace.client.text import bit_rate, byte_size

_LEGS: Final[dict[m.LegName, str]] = {
    "memory_to_memory": "memory to memory",
    "storage_to_memory": "storage to memory",
    "memory_to_storage": "memory to storage",
    "storage_to_storage": "storage to storage",
}


def show_probed(command: Command, transfer: m.Transfer) -> Exit:
    """Show what a probe has measured, and where the difference goes."""
    found = command.wait(command.headrace.probed(transfer.id))
    rows = ((_LEGS[leg.name], *_measured(leg)) for leg in found.legs)
    command.out.show(table(("leg", "rate", "moved", "what limits it"), rows))
    if found.said:
        command.out.say(f"{found.said[:1].upper()}{found.said[1:]}.", "bold")
    for line in found.remedy:
        command.out.say(f"What helps: {line}")
    if transfer.error is not None:
        command.out.say(f"{transfer.error.detail} [{transfer.error.code}]", "red")
    elif len(found.legs) < len(_LEGS):
        command.out.say(f"Probe {transfer.id} is {transfer.state}.", state_style(transfer.state))
    command.out.document(found)
    return exit_of_end(transfer)


def _measured(leg: m.ProbeLeg) -> tuple[str, str, str]:
    if leg.rate_bps is None:
        return "not measured", "", leg.error
    limit = leg.diagnosis.said if leg.diagnosis else ""
    return bit_rate(leg.rate_bps), f"{byte_size(leg.bytes)} in {leg.seconds:.1f} s", limit
