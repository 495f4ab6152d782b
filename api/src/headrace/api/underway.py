"""What is under way now, as whoever runs it knows it."""

from collections.abc import Callable

from headrace.client import models as m


class Underway:
    """How far transfers are that run: the store hears of it some seconds later."""

    def __init__(self) -> None:
        """Know of none until `follow` says where to ask."""
        self._progress: Callable[[str], m.Progress | None] = lambda _: None

    def follow(self, progress: Callable[[str], m.Progress | None]) -> None:
        """Ask `progress` from now on, which returns nothing for what does not run."""
        self._progress = progress

    def progress(self, transfer: str, kept: str) -> m.Progress:
        """Return how far a transfer is; by its `kept` progress (JSON) if it does not run."""
        return self._progress(transfer) or m.Progress.model_validate_json(kept)

    def bytes_left(self, transfer: str, kept: str) -> int:
        """Return how many bytes of a transfer are not durable yet; by its `kept` progress (JSON) if it does not run."""
        progress = self.progress(transfer, kept)
        return max(0, progress.bytes_total - progress.bytes_durable)
