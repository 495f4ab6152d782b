import json
from pathlib import Path

import pytest

GUIDE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text(encoding="utf-8")
TOOLS = json.loads((Path(__file__).parent / "golden_tools.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("tool", [tool["name"] for tool in TOOLS])
def test_each_tool_is_in_the_guide(tool: str) -> None:
    assert f"\n| `{tool}` | " in GUIDE
