"""The typed slots of a copy, sync or move, as a person or program asked for it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from headrace.guardrails.seal.execution import Action, Compare, OnConflict


class TransferSlots(Protocol):
    """What guardrails read of a request; the API's `TransferIntent` fits. Times are aware."""

    @property
    def action(self) -> Action:
        """What to do."""
        ...

    @property
    def include(self) -> Sequence[str]:
        """Globs of which a file must match one; none means every file."""
        ...

    @property
    def exclude(self) -> Sequence[str]:
        """Globs of which a file must match none."""
        ...

    @property
    def min_size_bytes(self) -> int | None:
        """Smallest size, inclusive."""
        ...

    @property
    def max_size_bytes(self) -> int | None:
        """Largest size, inclusive."""
        ...

    @property
    def modified_after(self) -> datetime | None:
        """Earliest modification time, inclusive."""
        ...

    @property
    def modified_before(self) -> datetime | None:
        """Modification times from here on are left out."""
        ...

    @property
    def start(self) -> datetime | None:
        """When to start."""
        ...

    @property
    def deadline(self) -> datetime | None:
        """When to be done."""
        ...

    @property
    def window(self) -> tuple[str, str] | None:
        """Hours of the day in which to run."""
        ...

    @property
    def repeat(self) -> str | None:
        """Recurrence rule."""
        ...

    @property
    def rate_limit_bps(self) -> int | None:
        """Ceiling in bits per second."""
        ...

    @property
    def priority(self) -> str:
        """`low`, `normal` or `high`."""
        ...

    @property
    def encryption(self) -> bool:
        """Whether the bytes are encrypted on their way."""
        ...

    @property
    def verify(self) -> str:
        """How to verify: `default`, `in-transit`, `at-rest`, `none` or a checksum's name."""
        ...

    @property
    def on_conflict(self) -> OnConflict | None:
        """What to do with a file that differs at the destination."""
        ...

    @property
    def compare(self) -> Compare:
        """How files are compared."""
        ...

    @property
    def delete_extraneous(self) -> bool:
        """Whether a sync deletes what the source does not hold."""
        ...

    @property
    def preserve(self) -> Sequence[str]:
        """What of a file's metadata to keep."""
        ...
