"""The service's messages in an assistant's terms: commands of the command line that a tool does are named as it."""

import re
from typing import Final

from headrace.client.text import visible

TOOLS: Final = {
    "status": "list_transfers",
    "status [^`]+": "transfer_status",
    "endpoints": "list_endpoints",
    "browse [^`]+": "browse_endpoint",
    "why [^`]+": "why_denied",
    "losses [^`]+": "list_losses",
    "diagnose [^`]+": "diagnose_transfer",
}
"""The tool that does what a command does, by what stands behind `headrace`; what only people do stays a command."""
_COMMAND: Final = re.compile("|".join(f"(`headrace {command}`)" for command in TOOLS))


def by_tools(text: str) -> str:
    """Return a message of the service with the assistant's own tools in it."""
    names = tuple(TOOLS.values())
    return _COMMAND.sub(lambda found: f"`{names[(found.lastindex or 1) - 1]}`", text)


def told(text: str) -> str:
    """Return a message of the service, visible, with the assistant's own tools in it."""
    return visible(by_tools(text))
