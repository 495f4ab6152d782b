"""Locations: a registered endpoint and an absolute path, or what to ask, or why it is refused."""

from __future__ import annotations

import re
import unicodedata

from headrace.guardrails.intents.answer import Choice, Refusal
from headrace.guardrails.intents.context import LOCAL_ENDPOINT, Context, Endpoint
from headrace.guardrails.intents.draft import Doubt, Place
from headrace.guardrails.intents.limits import MAX_PATH_BYTES
from headrace.guardrails.intents.text import shown
from headrace.guardrails.intents.values import Location
from headrace.guardrails.resolve.endpoint_names import deceives, resolve_name

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/]*)(?P<path>/.*)?", re.DOTALL)
_COMPONENTS = re.compile(r"[/\\]")
_HOME = re.compile(r"/?~(?P<user>[^/\\]*)")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]|\{)|^%[A-Za-z]+%")
_BIDI = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE = frozenset({"Cf", "Zl", "Zp"})


def resolve_place(place: Place, context: Context) -> Location | Doubt | Refusal:
    """Resolve a location as written against the registry."""
    if place.url is not None:
        return _url(place, context)
    if refusal := _path_refusal(place):
        return refusal
    if place.name is None:
        return _bare(place, context)
    endpoint = resolve_name(place.name, context, f":{place.path}" if place.path else "")
    if not isinstance(endpoint, Endpoint):
        return endpoint
    if place.path is None:
        return Doubt(f"`{shown(place.words)}` needs a path, such as {endpoint.id}:/data")
    return _path_doubt(place, place.path, context) or Location(endpoint.id, place.path)


def _bare(place: Place, context: Context) -> Location | Doubt:
    path = place.path or ""
    if doubt := _path_doubt(place, path, context):
        return doubt
    if context.endpoint(LOCAL_ENDPOINT) is None:
        return Doubt(
            f"`{shown(path)}` has no endpoint: write endpoint:/path, with the path below the folder that the endpoint "
            "offers"
        )
    return Location(LOCAL_ENDPOINT, path)


def _path_refusal(place: Place) -> Refusal | None:
    """Refuse what leaves the path, hides in it, or names other people's homes and hosts."""
    path = place.path or ""
    words = place.words
    if "\0" in path or any(unicodedata.category(character) == "Cc" for character in path):
        message = f"`{shown(path)}` holds a control character"
        return Refusal("control_character", f"{message}: no path may", words)
    if any(character in _BIDI for character in path):
        return Refusal(
            "direction_mark",
            f"`{shown(path)}` holds a character that reorders what is shown: no path may",
            words,
        )
    if ".." in _COMPONENTS.split(path):
        return Refusal(
            "parent_path", f"`{shown(path)}` leaves its folder by `..`: write the folder that you mean", words
        )
    home = _HOME.match(path) if not path.startswith("/") else None
    if home and home["user"]:
        return Refusal("home_of_user", f"`{shown(path)}` is the home of a user: write `endpoint:/path`", words)
    if place.name is None and path.startswith(("\\\\", "//")):
        return Refusal("unc_path", f"`{shown(path)}` names another host: write `endpoint:/path`", words)
    return None


def _path_doubt(place: Place, path: str, context: Context) -> Doubt | None:
    """Doubt what is no absolute path, and unless it was quoted, what may not mean what it says."""
    if not path.startswith("/"):
        name = f"{place.name}:" if place.name else ""
        choices: tuple[Choice, ...] = ()
        if place.name and path and path[0] not in "~$\\":
            choices = (Choice(f"{name}/{path}", "from the top of the endpoint"),)
        first, slash, below = path.partition("/")
        if place.name is None and slash and (meant := context.endpoint(first)):
            written = f"{meant.id}:/{below}"
            return Doubt(
                f"`{shown(place.words)}` has no colon behind its endpoint: write `{shown(written)}`",
                (Choice(written, "on that endpoint"),),
            )
        return Doubt(
            f"`{shown(place.words)}` is not an absolute path: it must start with /, such as /data/run42", choices
        )
    if path.startswith("//"):
        return Doubt(f"`{shown(place.words)}` starts with two slashes: write one")
    if len(path.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        return Doubt(f"a path may have {MAX_PATH_BYTES:,} bytes at most: shorten it")
    return None if place.literal else _unquoted_doubt(path, context)


def _unquoted_doubt(path: str, context: Context) -> Doubt | None:
    """Doubt what a shell would have replaced, and what nobody sees."""
    if ":/" in path and any(f"{name}:/" in path for endpoint in context.endpoints for name in endpoint.names):
        return Doubt(f"`{shown(path)}` holds another location: put spaces around each, or quotes if it is one name")
    if _VARIABLE.search(path):
        return Doubt(f"`{shown(path)}` holds a variable: write what it stands for")
    if path.endswith(".."):
        return Doubt(f"`{shown(path)}` ends in dots: quote it if they belong to the name")
    if "*" in path or "?" in path:
        return Doubt(
            f"`{shown(path)}` holds a wildcard: name the folder and say which files with only, "
            "or quote a name that really has the character"
        )
    if any(unicodedata.category(character) in _INVISIBLE for character in path):
        return Doubt(f"`{shown(path)}` holds a character that can't be seen: quote it if it is meant")
    return None


def _url(place: Place, context: Context) -> Location | Doubt | Refusal:  # noqa: PLR0911
    url = place.url or ""
    match = _URL.fullmatch(url)
    if match is None:
        return Doubt(f"`{shown(url)}` is not a location: write `endpoint:/path`")
    authority, path = match["authority"], match["path"]
    if "@" in authority:
        return Refusal(
            "user_in_url",
            f"`{shown(url)}` holds a user name before `@`: write it without, and sign in to Headrace as who you are",
            place.words,
        )
    if "\\" in authority or deceives(authority, context) or not authority.isascii():
        return Refusal(
            "deceptive_name",
            f"`{shown(url)}` has characters that look like others: type it again, in plain letters",
            place.words,
        )
    refusal = _path_refusal(Place(place.words, authority, path or ""))
    if refusal is not None:
        return refusal
    known = _registered(match["scheme"], authority, context)
    if known is None:
        return Doubt(
            f"`{shown(url)}` is at no registered endpoint; `headrace endpoints` lists them", _url_choices(context)
        )
    if path is None:
        return Doubt(f"`{shown(url)}` needs a path, such as {shown(url)}/data")
    return _path_doubt(place, path, context) or Location(known.id, path, url)


def _registered(scheme: str, authority: str, context: Context) -> Endpoint | None:
    for known in context.endpoints:
        found = _URL.fullmatch((known.url or "").rstrip("/"))
        if found and found["scheme"].lower() == scheme.lower() and found["authority"] == authority:
            return known
    return None


def _url_choices(context: Context) -> tuple[Choice, ...]:
    known = [endpoint for endpoint in context.endpoints if endpoint.url][:4]
    return tuple(Choice(f"{endpoint.url}/", f"the endpoint {endpoint.id}") for endpoint in known)
