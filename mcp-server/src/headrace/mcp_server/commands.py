"""The `headrace mcp` command. Heavy imports happen when it runs, not when commands are listed."""


def mcp() -> None:
    """Serve MCP over standard input and output, as the assistant that the token in HEADRACE_TOKEN names."""
    from headrace.mcp_server.stdio import serve  # noqa: PLC0415 - listing commands must stay fast

    serve()
