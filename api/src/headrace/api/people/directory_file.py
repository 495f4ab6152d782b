"""The file that names the site's directories (`HEADRACE_DIRECTORIES`); docs/operations/identity.md describes it."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from headrace.api.people.secret_file import read_secret
from headrace.api.settings import SettingError
from headrace.api.tables_file import read_tables
from headrace.auth import LEAST_ATTEMPTS, DirectoryConfig

_Text = Annotated[str, Field(min_length=1, max_length=1000)]


class _Table(BaseModel):
    """One `[[directory]]`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    domain: _Text
    netbios: _Text
    suffixes: list[_Text] = []
    servers: Annotated[list[_Text], Field(min_length=1, max_length=10)]
    ca: _Text
    account: _Text
    secret_file: _Text
    base: str = ""
    timeout_s: Annotated[int, Field(ge=1, le=60)] = 5
    connections: Annotated[int, Field(ge=1, le=64)] = 8
    waiting: Annotated[int, Field(ge=0, le=1000)] = 200
    attempts: Annotated[int, Field(ge=LEAST_ATTEMPTS, le=300)] = 9
    attempts_window_s: Annotated[int, Field(ge=60, le=86_400)] = 1800

    @field_validator("servers")
    @classmethod
    def _with_tls(cls, servers: list[str]) -> list[str]:
        for server in servers:
            parts = urlsplit(server)
            if parts.scheme not in {"ldap", "ldaps"} or not parts.hostname or parts.path or parts.query:
                message = f"`{server}` is not `ldaps://host[:port]`, or `ldap://host[:port]` for StartTLS"
                raise ValueError(message)
        return servers


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    directory: Annotated[list[_Table], Field(min_length=1, max_length=20)]


def read_directories(file: str) -> tuple[DirectoryConfig, ...]:
    """Read the site's directories; none without a file. Raises `SettingError` that says what is wrong where."""
    if not file:
        return ()
    path = Path(file)
    tables = read_tables("HEADRACE_DIRECTORIES", path, _File).directory
    try:
        configs = tuple(_config(table, path.parent) for table in tables)
    except (OSError, ValueError) as error:
        message = f"`HEADRACE_DIRECTORIES`: `{path}` can't be used: {error}"
        raise SettingError(message) from error
    names = [name.casefold() for one in configs for name in {one.domain, one.netbios} | one.suffixes]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        message = f"`HEADRACE_DIRECTORIES`: `{path}`: `{twice[0]}` is a name of two directories; whose is it?"
        raise SettingError(message)
    return configs


def _secret_of(table: _Table) -> str:
    return f"`secret_file` of the directory `{table.domain}`"


def _how_to_give(table: _Table, folder: Path) -> str:
    return (
        f"Write the password of `{table.account}` into a file that only the service's account and its group may read "
        f"(chmod 600 or 640), and name it in `secret_file`: a whole path, or one from `{folder}`"
    )


def _config(table: _Table, folder: Path) -> DirectoryConfig:
    try:
        secret = read_secret(folder / table.secret_file).decode().rstrip("\r\n")
    except (OSError, ValueError) as error:
        message = f"{_secret_of(table)} can't be read: {error}. {_how_to_give(table, folder)}"
        raise ValueError(message) from error
    if not secret:
        message = f"{_secret_of(table)}, `{folder / table.secret_file}`, is empty. {_how_to_give(table, folder)}"
        raise ValueError(message)
    return DirectoryConfig(
        domain=table.domain,
        netbios=table.netbios,
        suffixes=frozenset(table.suffixes),
        servers=tuple(table.servers),
        ca=str(folder / table.ca),
        account=table.account,
        secret=secret,
        base=table.base or ",".join(f"DC={part}" for part in table.domain.split(".")),
        timeout_s=table.timeout_s,
        connections=table.connections,
        waiting=table.waiting,
        attempts=table.attempts,
        attempts_window_s=table.attempts_window_s,
    )
