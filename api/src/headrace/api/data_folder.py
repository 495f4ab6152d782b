"""Where things lie in the service's data folder, and which of them a backup holds.

Every name in the folder is here, and nowhere else in the program: `tests/pure/api/test_data_folder.py`.
"""

import errno
from pathlib import Path
from typing import Final

from headrace.api import durable

STORE: Final = "headrace.sqlite"
HEADS: Final = "audit-heads.jsonl"
AUTHORITY_KEY: Final = "authority.key"
NEXT_AUTHORITY_KEY: Final = "authority.next.key"
"""A key that a rotation has made; it takes the place of the other one after that has been kept."""
AUTHORITY_CHAIN: Final = "authority.pub"
PEPPER: Final = "pepper.key"
POLICY_PUBLISHED: Final = "policy.published"
PASSWORDS_SEALED: Final = "passwords.sealed"
LAST_START: Final = "last-start.json"
HALT: Final = "halt"
HUB: Final = "hub"
NODE: Final = "node"
PLANS: Final = "plans"
TRANSFERS: Final = "transfers"
LOCK: Final = "service.lock"
BOOTSTRAP_LINK: Final = "bootstrap-link"
LEADER: Final = "leader.json"
LAST_TIME: Final = "last-time"
"""The newest time that nobody doubted; one that a backup held would be older than the events in it."""
MOVED_STORE: Final = "headrace.sqlite.moved"

COPIED: Final = frozenset(
    {
        AUTHORITY_KEY,
        NEXT_AUTHORITY_KEY,
        AUTHORITY_CHAIN,
        PEPPER,
        POLICY_PUBLISHED,
        PASSWORDS_SEALED,
        LAST_START,
        HUB,
        NODE,
        PLANS,
        TRANSFERS,
    }
)
"""What a backup takes as it lies there; `STORE` and `HEADS` it takes each in its own way."""
LEFT_OUT: Final = frozenset({LOCK, BOOTSTRAP_LINK, LEADER, LAST_TIME, MOVED_STORE, HALT})
"""What belongs to one process or counts once, and would be wrong in a restored folder, which has its own `HALT`."""
_BESIDE_STORE: Final = frozenset({f"{STORE}-wal", f"{STORE}-shm", f"{STORE}-journal"})


def is_known(name: str) -> bool:
    """Whether the service itself puts something of this name into its data folder."""
    return name in COPIED | LEFT_OUT | _BESIDE_STORE | {STORE, HEADS} or name.endswith(durable.UNFINISHED)


class OwnFolder:
    """The data folder as it was when this process started.

    Where its disk is gone, a folder may be there still: the empty one that the disk was mounted over. What is read
    there is not what the service left, and what is written there comes into no backup.
    """

    def __init__(self, path: Path) -> None:
        """Note which folder `path` is; raises `OSError` where there is none."""
        self.path = path
        self._is = _identity(path)

    @property
    def is_here(self) -> bool:
        """Whether the path still leads to that folder."""
        try:
            return _identity(self.path) == self._is
        except OSError:
            return False

    def require(self) -> None:
        """Raise `OSError` where the path leads elsewhere, before anything is written there."""
        if not self.is_here:
            raise OSError(errno.ENODEV, "this is not the data folder that the service started with", str(self.path))

    def make(self, folder: Path) -> None:
        """Make a folder in it, with what lies between; raises `OSError`."""
        self.require()
        folder.mkdir(parents=True, exist_ok=True)


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def lists_dir(data: Path, plan: str) -> Path:
    """Where the lists that a plan's survey made are kept."""
    return data / PLANS / plan


def result_dir(data: Path, transfer: str, attempt: int) -> Path:
    """Where the lists that an attempt's nodes hand over are kept."""
    return results_dir(data, transfer) / str(attempt)


def results_dir(data: Path, transfer: str) -> Path:
    """Where the lists of all attempts of a transfer are kept."""
    return data / TRANSFERS / transfer
