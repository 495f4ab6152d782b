"""What is said of a store that can't be used: which one it is, what is the matter, and what to do, where."""

import os
from pathlib import Path
from typing import Final

from sqlalchemy import URL

from headrace.api.store.address import shown
from headrace.api.store_trouble import Trouble

_END_SESSION: Final = (
    "look there which session holds a lock (`pg_stat_activity`, `pg_locks`) and end it (`pg_terminate_backend`), or, "
    "where the server has too many connections, those that are not needed"
)


def trouble_in_words(url: URL, trouble: Trouble, done: str = "used") -> str:
    """Say which store can't be `done`, and why."""
    kept = "store" if _is_file(url) else "database"
    return f"the service's {kept} `{shown(url)}` can't be {done}: {trouble}"


def remedy(url: URL, trouble: Trouble) -> str:
    """Say what to do, and on whose disk."""
    if trouble is Trouble.FULL:
        return f"make room on the disk of {_where(url)}"
    if trouble is Trouble.DISK:
        return f"look at the disk of {_where(url)}, and whether the account that writes there may"
    if trouble is Trouble.BUSY:
        return "end the program that has it open" if _is_file(url) else _END_SESSION
    return trouble.remedy


def _where(url: URL) -> str:
    if _is_file(url):
        return f"the folder `{Path(url.database or '').parent}` on this host, `{os.uname().nodename}`"
    return "the database server (its data folder, its log, or the tablespace)"


def _is_file(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"
