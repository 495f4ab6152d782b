"""What the last start was protected by: a start that has lost such a setting says so, in the log and the audit log."""

import json
import logging
from pathlib import Path
from typing import Final

from headrace.api.data_folder import LAST_START
from headrace.api.durable import place_in_words, replace_file
from headrace.api.settings import Settings

_log = logging.getLogger(__name__)

_STRENGTHS: Final = ("session", "password", "passkey")
_MAX_BYTES: Final = 65_536
_NAMED: Final = {
    "audit_syslog": "the audit chain no longer leaves this host",
    "directories": "people of directories can't sign in, and the service does not look whether they have left",
    "oidc_issuers": "people of providers can't sign in, and the service does not look whether they have left",
    "quotas": "quotas no longer count",
    "signer": "this process signs, and not a process of its own",
}
"""Settings that protect something where they name anything, and what is the case without."""


def lost_since_last_start(settings: Settings) -> list[str]:
    """Say which protection the last start in this data folder had by a setting and this one has not."""
    before = _read(settings.data / LAST_START)
    said = [
        f"HEADRACE_{name.upper()} is not set, and was at the last start (`{before[name]}`): {meaning}"
        for name, meaning in _NAMED.items()
        if before.get(name) and not getattr(settings, name)
    ]
    former = before.get("consent_proof", "")
    if former in _STRENGTHS and _STRENGTHS.index(settings.consent_proof) < _STRENGTHS.index(former):
        said.append(
            f"HEADRACE_CONSENT_PROOF is `{settings.consent_proof}`, and was `{former}` at the last start: a "
            "person who agrees proves less now"
        )
    return said


def keep_for_next_start(settings: Settings) -> None:
    """Keep by what this start is protected, as a whole and durably; where that can't be written, what was kept stays.

    The service starts all the same: it is worse that nothing works than that the next start compares with an older one.
    """
    try:
        _keep(settings)
    except OSError as error:
        _log.warning("by what this start is protected can't be kept for the next one: %s", place_in_words(error))


def _keep(settings: Settings) -> None:
    kept = {name: str(getattr(settings, name)) for name in (*_NAMED, "consent_proof")}
    replace_file(settings.data / LAST_START, json.dumps(kept, indent=1).encode() + b"\n")


def _read(path: Path) -> dict[str, str]:
    """Read what was kept; a file that is missing or none tells nothing."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError):
        return {}
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}
