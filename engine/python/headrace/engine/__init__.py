"""The bulk-transfer engine."""

from headrace.engine._native import __version__

__all__ = ["__version__"]
