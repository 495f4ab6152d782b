"""Where things lie in the service's data folder."""

from pathlib import Path


def lists_dir(data: Path, plan: str) -> Path:
    """Where the lists that a plan's survey made are kept."""
    return data / "plans" / plan


def result_dir(data: Path, transfer: str, attempt: int) -> Path:
    """Where the lists that an attempt's nodes hand over are kept."""
    return results_dir(data, transfer) / str(attempt)


def results_dir(data: Path, transfer: str) -> Path:
    """Where the lists of all attempts of a transfer are kept."""
    return data / "transfers" / transfer
