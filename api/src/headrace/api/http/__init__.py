"""The HTTP door: thin routes over the port, and what guards them."""

from headrace.api.http.app import create_app

__all__ = ["create_app"]
