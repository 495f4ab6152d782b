"""What to do about a file that did not arrive, by its code: the sentences of docs/errors-engine.md."""

import re
from collections.abc import Mapping
from typing import Final

from headrace.client.text import without_number

ADVICE: Final[Mapping[str, str]] = {
    "source_unreadable": "Let the account that the node works as read it, then retry the failed files.",
    "source_changed": "It kept changing while it was read: retry when it is complete.",
    "source_vanished": "It was there when it was listed: make a new plan if it should be copied.",
    "source_unsupported": "Sockets, fifos and devices are not copied: exclude them.",
    "no_space": "Free space or quota at the destination, then retry the failed files.",
    "read_only": "The destination file system is read-only: remount it writable, then retry.",
    "permission_denied": "Let the account that the node works as write there, then retry the failed files.",
    "name_too_long": "The destination cannot hold such a long name: rename it at the source.",
    "destination_is_directory": "A folder stands where a file should go: move it away or choose another destination.",
    "destination_not_directory": (
        "A file or symlink stands where a folder should go: move it away or choose another destination."
    ),
    "destination_exists": "A different file is there and the plan replaces nothing: make a plan that overwrites.",
    "not_on_overwrite_list": "It differs and was not on the confirmed overwrite list: make a new plan.",
    "destination_failed": "The destination storage answered with an error: check it, then retry the failed files.",
    "verify_failed": "What arrived is not what was sent: check memory and storage of both nodes, then retry.",
    "not_deleted": "It could not be deleted: see the message, then retry or make a new plan.",
    "same_place": (
        "Source and destination are the same file or folder under two names, or one lies in the other: choose another "
        "destination."
    ),
}
_RETRY: Final = "It may pass by itself: retry the failed files, and look at the logs of both nodes if it fails again."
_NO_RETRY: Final = "A retry does not help before what the reason names is changed; then retry, or make a new plan."


_KEY: Final = re.compile(r"ed25519:[\w-]+")
_AT_SOURCE: Final = re.compile(r"(`.*` in root `[^`]*`): ", re.DOTALL)


def told(code: str, message: str, names: Mapping[str, str] | None = None) -> str:
    """Say what a node said of an error; of a source it names the place and what its system said, with no verb.

    Nodes are called by the names that their keys have in `names`.
    """
    said = without_number(message)
    for key in _KEY.findall(said):
        if names and key in names:
            said = said.replace(key, f"`{names[key]}`")
    if code == "node_restarted":
        # The hub of an earlier build advises to resume, which is refused: the transfer goes on by itself.
        return said.removesuffix(": resume the transfer")
    place = _AT_SOURCE.match(said) if code == "source_unreadable" else None
    return f"{place[1]} can't be read: {said[place.end() :]}" if place else said


def advice_on(code: str, *, retry: bool) -> str:
    """Say what to do about a file with this code, which a retry may help or not; also for codes of other versions."""
    return ADVICE.get(code) or (_RETRY if retry else _NO_RETRY)
