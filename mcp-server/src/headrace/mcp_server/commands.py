"""The `headrace mcp` command. Heavy imports happen when it runs, not when commands are listed."""


def mcp() -> None:
    """Serve MCP over standard input and output, as the person who is signed in (or HEADRACE_TOKEN)."""
    from headrace.mcp_server.stdio import serve  # noqa: PLC0415 - listing commands must stay fast

    serve()
