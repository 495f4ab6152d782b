"""The OpenID Connect providers of a site, as its operator declares them in one TOML file."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

MAX_ISSUERS: Final = 20
MAX_ACCESS_TOKEN_S: Final = 600
"""For how long a token counts whose provider has taken it back: nobody asks the provider about it."""
_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
_MAX_TEXT: Final = 300
_MAX_WAYS: Final = 10


class IssuerError(ValueError):
    """A declaration that can't be used; the message names the file, the issuer and the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """One provider. `id` is part of its redirect URI, `name` is what people read, `url` is what it calls itself."""

    id: str
    name: str
    url: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    groups_claim: str = "groups"
    ca_file: str | None = None
    access_tokens: bool = False
    """Whether its access tokens count at the API and at `/mcp`."""
    audience: str | None = None
    """What its access tokens call this service, beside the service's own URL."""
    untyped_access_tokens: bool = False
    """Whether it does not say `at+jwt` of its access tokens."""
    access_token_max_s: int = MAX_ACCESS_TOKEN_S
    watch_people: bool = False
    """Whether it is asked again and again if its people are still there, with the refresh tokens of their sign-ins."""
    device_sign_in: bool = False
    """Whether people may sign in without a browser of their own machine (RFC 8628)."""
    proof_acr: tuple[str, ...] = ()
    """In one of which ways a sign-in that proves consent must be done, in the provider's words (`acr`); any if none."""


def read_issuers(file: Path, read_secret: Callable[[Path], bytes]) -> tuple[Issuer, ...]:
    """Read the tables `[[issuer]]` of a file, at most 20; raises `IssuerError`.

    `read_secret` reads a file of a secret, and raises `OSError` or `ValueError` where it should not be used.
    """
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"`{file}` can't be read: {error.strerror}"
        raise IssuerError(message) from error
    except ValueError as error:
        message = f"`{file}` is not TOML: {error}"
        raise IssuerError(message) from error
    tables = document.get("issuer")
    if set(document) != {"issuer"} or not isinstance(tables, list) or not 0 < len(tables) <= MAX_ISSUERS:
        message = f"`{file}` holds 1 to {MAX_ISSUERS} tables `[[issuer]]` and nothing else"
        raise IssuerError(message)
    issuers = tuple(
        _issuer(table, f"`{file}`, issuer {number}", file.parent, read_secret) for number, table in enumerate(tables, 1)
    )
    for what in ("id", "url"):
        if len({getattr(issuer, what) for issuer in issuers}) < len(issuers):
            message = f"`{file}` declares one `{what}` twice"
            raise IssuerError(message)
    return issuers


def is_secure(url: str) -> bool:
    """Whether a URL is https, or http to a loopback address (nobody else can listen there)."""
    parts = urlsplit(url)
    if parts.scheme != "http":
        return parts.scheme == "https" and bool(parts.hostname)
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return parts.hostname == "localhost"


def _issuer(table: Mapping[str, object], where: str, folder: Path, read_secret: Callable[[Path], bytes]) -> Issuer:
    unknown = sorted(table.keys() - _KEYS.keys())
    if unknown:
        message = f"{where}: `{unknown[0]}` is unknown; known are {', '.join(sorted(_KEYS))}"
        raise IssuerError(message)
    for key, (needed, fits, expected) in _KEYS.items():
        if key in table and not fits(table[key]):
            message = f"{where}: `{key}` must be {expected}"
            raise IssuerError(message)
        if needed and key not in table:
            message = f"{where}: `{key}` is missing; it is {expected}"
            raise IssuerError(message)
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    if "client_secret_file" in values:
        values["client_secret"] = _secret(folder / str(values.pop("client_secret_file")), where, read_secret)
    if "ca_file" in values:
        values["ca_file"] = str(folder / str(values["ca_file"]))
    if values.get("audience") == values["client_id"]:
        message = f"{where}: `audience` can't be the `client_id`: that is the audience of ID tokens"
        raise IssuerError(message)
    return Issuer(**values)  # type: ignore[arg-type] # held to their types by the table below


def _secret(file: Path, where: str, read_secret: Callable[[Path], bytes]) -> str:
    try:
        secret = read_secret(file).decode().strip()
    except (OSError, ValueError) as error:
        message = f"{where}: `client_secret_file` can't be read: {error}. {_HOW_TO_GIVE}"
        raise IssuerError(message) from error
    if not secret:
        message = f"{where}: `client_secret_file`, `{file}`, is empty. {_HOW_TO_GIVE}"
        raise IssuerError(message)
    return secret


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_TEXT and value.isprintable()


def _is_url(value: object) -> bool:
    return _is_text(value) and is_secure(str(value)) and "?" not in str(value) and "#" not in str(value)


def _are_scopes(value: object) -> bool:
    return isinstance(value, list) and "openid" in value and _are_words(value)


def _are_ways(value: object) -> bool:
    return isinstance(value, list) and 0 < len(value) <= _MAX_WAYS and _are_words(value)


def _are_words(values: list[object]) -> bool:
    return all(_is_text(one) and " " not in str(one) for one in values)


def _is_choice(value: object) -> bool:
    return isinstance(value, bool)


def _is_seconds(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_ACCESS_TOKEN_S


_HOW_TO_GIVE: Final = (
    "Write the client's secret into a file that only the service's account and its group may read (chmod 600 or 640), "
    "and name it there: a whole path, or one from the folder of this file. A client without a secret has no such key"
)
_TEXT: Final = "a text of one line"
_FILE: Final = "the path of a file, from the folder of this one"
_KEYS: Final[Mapping[str, tuple[bool, Callable[[object], bool], str]]] = {
    "id": (True, lambda value: isinstance(value, str) and _ID.fullmatch(value) is not None, "1 to 32 of a-z, 0-9, -"),
    "name": (True, _is_text, _TEXT),
    "url": (True, _is_url, "an https URL without `?` and `#`, as the provider's discovery document says it"),
    "client_id": (True, _is_text, _TEXT),
    "client_secret_file": (False, _is_text, _FILE),
    "scopes": (False, _are_scopes, "a list of scopes with `openid` among them"),
    "groups_claim": (False, _is_text, _TEXT),
    "ca_file": (False, _is_text, _FILE),
    "access_tokens": (False, _is_choice, "true or false"),
    "audience": (False, _is_text, _TEXT),
    "untyped_access_tokens": (False, _is_choice, "true or false"),
    "watch_people": (False, _is_choice, "true or false"),
    "device_sign_in": (False, _is_choice, "true or false"),
    "proof_acr": (False, _are_ways, f"a list of 1 to {_MAX_WAYS} values of `acr`, without spaces"),
    "access_token_max_s": (False, _is_seconds, f"1 to {MAX_ACCESS_TOKEN_S} (s)"),
}
"""By key: whether it is needed, what it must be, and that in words."""
