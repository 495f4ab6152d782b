"""Messages name commands of the command line; for assistants, what a tool of theirs does is named as that tool."""

import pytest

from headrace.mcp_server.own_tools import TOOLS, told
from headrace.mcp_server.tools import SCOPE_OF_TOOL


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("no; `headrace status` lists those that you see", "no; `list_transfers` lists those that you see"),
        ("list them with `headrace endpoints`", "list them with `list_endpoints`"),
        ("`headrace browse ENDPOINT:/PATH` lists it", "`browse_endpoint` lists it"),
        ("`headrace why pl_1` says which rule", "`why_denied` says which rule"),
        ("use `headrace status`, or `headrace endpoints`", "use `list_transfers`, or `list_endpoints`"),
        ("its person runs `headrace confirm pl_1`", "its person runs `headrace confirm pl_1`"),
        ("`headrace endpoints remove lab`", "`headrace endpoints remove lab`"),
        ("a \u202e name", "a \\u{202E} name"),
    ],
)
def test_a_message_for_an_assistant_names_its_own_tool(message: str, said: str) -> None:
    assert told(message) == said


def test_every_tool_that_messages_name_is_one() -> None:
    assert set(TOOLS.values()) <= set(SCOPE_OF_TOOL)
