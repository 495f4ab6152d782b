"""Who this person is at which service, as remembered on this machine.

`HEADRACE_SERVICE` names the service (default `http://127.0.0.1:8470`); `HEADRACE_TOKEN`, when set, is used instead of a
remembered session. Sessions are kept per service in `session.json` (0600) in `$HEADRACE_CONFIG` or `~/.config/headrace`
(0700), so a secret is only ever sent to the service that gave it.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pydantic import Field, TypeAdapter, ValidationError

from headrace.client.http import HttpHeadrace
from headrace.client.models import Model, Session
from headrace.client.wire import Code, failure, is_loopback

DEFAULT_SERVICE: Final = "http://127.0.0.1:8470"


class SavedSession(Model):
    """A session as remembered."""

    secret: str = Field(repr=False)
    name: str
    expires: datetime


_SESSIONS: Final = TypeAdapter(dict[str, SavedSession])


def service_url() -> str:
    """Return the service's address, without a trailing slash."""
    return (os.environ.get("HEADRACE_SERVICE") or DEFAULT_SERVICE).rstrip("/")


def is_of_this_host(url: str) -> bool:
    """Whether an address leads to this host alone, on whichever host it is opened."""
    return is_loopback(urlsplit(url).hostname or "")


def config_folder() -> Path:
    """Return the folder of this person's settings; it may not exist yet."""
    given = os.environ.get("HEADRACE_CONFIG")
    return Path(given) if given else Path.home() / ".config" / "headrace"


def token() -> tuple[str, str | None]:
    """Return the service's address and the API token for it, if one is given; never a person's session."""
    return service_url(), os.environ.get("HEADRACE_TOKEN") or None


def bad_token(url: str) -> str:
    """Say that the service at `url` does not take the token."""
    return f"The token in HEADRACE_TOKEN is not good at {url}: it is revoked, too old, or of another service."


def credentials() -> tuple[str, str | None]:
    """Return the service's address and the secret for it: the token, else the remembered session's, else none."""
    url, given = token()
    if given:
        return url, given
    session = saved_sessions().get(url)
    return url, session.secret if session is not None and session.expires > datetime.now(UTC) else None


def connect() -> HttpHeadrace:
    """Return the person's own connection; anonymous when nobody is signed in."""
    return HttpHeadrace(*credentials())


def saved_sessions() -> dict[str, SavedSession]:
    """Return the remembered sessions by service address, expired ones included."""
    path = config_folder() / "session.json"
    try:
        return _SESSIONS.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not in the form this version writes"
        raise failure(
            Code.SESSION_FILE, f"cannot read `{path}` ({what}). Remove it and sign in again with `headrace login`."
        ) from error


def remember(url: str, session: Session) -> Path:
    """Keep `session` for the service at `url`; returns the file it is in."""
    saved = SavedSession(secret=session.secret, name=session.me.name, expires=session.expires)
    return _write({**saved_sessions(), url.rstrip("/"): saved})


def forget(url: str) -> None:
    """Forget the session at `url`, if there is one."""
    sessions = saved_sessions()
    if sessions.pop(url.rstrip("/"), None) is not None:
        _write(sessions)


def _write(sessions: dict[str, SavedSession]) -> Path:
    folder = config_folder()
    path = folder / "session.json"
    fresh = folder / f".session.json.{os.getpid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made 0600 from the start, and renamed, so that no other person and no half file is ever seen.
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_SESSIONS.dump_json(sessions, indent=1))
        fresh.replace(path)
    except OSError as error:
        raise failure(Code.SESSION_FILE, f"cannot write `{path}` ({error.strerror}).") from error
    return path
