"""Tells those who must look again that what policy decides on has changed: the policy, a label, a person, a node.

The use case that changed it tells, once its change is stored; so no interface can forget to.
"""

from collections.abc import Callable


class Reactions:
    """Who is told of such a change."""

    def __init__(self) -> None:
        """Tell nobody yet."""
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every change; it may not wait."""
        self._listeners.append(listener)

    def tell(self) -> None:
        """Say that something was changed."""
        for listener in self._listeners:
            listener()
