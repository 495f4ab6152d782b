"""One service for one data folder: who has the folder holds a lock on a file in it, which ends with its process."""

import fcntl
import os
from pathlib import Path
from typing import Self

from headrace.api.data_folder import LOCK
from headrace.api.errors import CannotStart

_PID_BYTES = 20


class DataLock:
    """The lock on a data folder."""

    def __init__(self, descriptor: int) -> None:
        """Use `DataLock.take`."""
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, data: Path) -> Self:
        """Take the folder for this process; raises `CannotStart` while another one has it."""
        descriptor = os.open(data / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        except BlockingIOError as error:
            # Empty between the holder's lock and its word.
            holder = os.pread(descriptor, _PID_BYTES, 0).decode("ascii", "replace") or "unknown"
            os.close(descriptor)
            message = (
                f"another service (process {holder}) has the data folder `{data}`; end that one first, or give this "
                "one a folder of its own with --data"
            )
            raise CannotStart(message) from error
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        """Let others have the folder."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
