"""What trying a configuration finds, in words for whoever wrote it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check has found."""

    good: bool
    said: str
