"""What is said of arguments that a tool does not take, lacks or can't read."""

from typing import Any, Final

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from headrace.client.text import visible

_MOST_SAID: Final = 5
"""A union names what is wrong with each of its kinds."""


class PlainTool(Tool):
    """A tool that says in plain words, with a code, what is wrong with its arguments."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - the SDK's
        """Run the tool; wrong arguments are refused with `invalid_request`."""
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            # What a tool itself answers with is the SDK's other error, so this is about the arguments.
            if type(error) is ToolError and isinstance(error.__cause__, ValidationError):
                said = wrong_arguments(self.name, list(self.parameters["properties"]), error.__cause__)
                raise ToolError(said) from error
            raise


def wrong_arguments(tool: str, takes: list[str], error: ValidationError) -> str:
    """Say what is wrong with a tool's arguments; `takes` are the names that it has."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    missing = [one for one in found if one["type"] == "missing" and len(one["loc"]) == 1]
    strange = [one for one in found if one["type"] == "extra_forbidden" and len(one["loc"]) == 1]
    said = []
    if missing and strange:
        said.append(f"`{tool}` takes {_names(missing)}, not {_names(strange)}")
    elif missing:
        said.append(f"`{tool}` needs {_names(missing)}")
    elif strange:
        said.append(f"`{tool}` does not take {_names(strange)}; it takes {', '.join(f'`{name}`' for name in takes)}")
    said += [_said(one) for one in found if one not in missing and one not in strange]
    return f"{'; '.join(said[:_MOST_SAID])}. (code: invalid_request)"


def _names(found: list[ErrorDetails]) -> str:
    return ", ".join(f"`{visible(str(one['loc'][0]), 60)}`" for one in found)


def _said(one: ErrorDetails) -> str:
    *within, last = (visible(str(part), 60) for part in one["loc"]) if one["loc"] else ("arguments",)
    match one["type"]:
        case "missing":
            return f"`{'.'.join(within)}` needs `{last}`"
        case "extra_forbidden":
            return f"`{'.'.join(within)}` does not take `{last}`"
        case _:
            message = one["msg"].removeprefix("Value error, ")
            return f"`{'.'.join([*within, last])}`: {visible(message[:1].lower() + message[1:], 200)}"
