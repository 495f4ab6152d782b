"""The MCP server inside this service."""
