"""Recognises what to do: verbs and command names. Verbs with two meanings are doubts."""

from __future__ import annotations

from headrace.guardrails.intents.draft import Place
from headrace.guardrails.language.phrases import Rule, rule, say

# Each verb as base, past participle and gerund; the last two only count with "be", "get", "start".
_COPY = (
    ("copy", "copied", "copying"),
    ("transfer", "transferred", "transferring"),
    ("send", "sent", "sending"),
    ("ship", "shipped", "shipping"),
    ("ferry", "ferried", "ferrying"),
    ("fetch", "fetched", "fetching"),
    ("pull", "pulled", "pulling"),
    ("push", "pushed", "pushing"),
    ("upload", "uploaded", "uploading"),
    ("download", "downloaded", "downloading"),
    ("bring", "brought", "bringing"),
    ("get", "gotten", "getting"),
    ("put", "put", "putting"),
    ("deliver", "delivered", "delivering"),
    ("clone", "cloned", "cloning"),
    ("replicate", "replicated", "replicating"),
    ("ingest", "ingested", "ingesting"),
    ("stash", "stashed", "stashing"),
    ("backup", "backed up", "backing up"),
    ("duplicate", "duplicated", "duplicating"),
    ("grab", "grabbed", "grabbing"),
    ("transmit", "transmitted", "transmitting"),
    ("transport", "transported", "transporting"),
    ("store", "stored", "storing"),
    ("haul", "hauled", "hauling"),
    ("deposit", "deposited", "depositing"),
    ("place", "placed", "placing"),
    ("retrieve", "retrieved", "retrieving"),
)
_SYNC = (
    ("sync", "synced", "syncing"),
    ("synchronise", "synchronised", "synchronising"),
    ("synchronize", "synchronized", "synchronizing"),
    ("mirror", "mirrored", "mirroring"),
    ("rsync", "rsynced", "rsyncing"),
)
_MOVE = (("move", "moved", "moving"), ("relocate", "relocated", "relocating"))
_STREAM = (("stream", "streamed", "streaming"), ("livestream", "livestreamed", "livestreaming"))
# Copying, moving or deleting: each of these has been used for more than one.
_UNSURE = (
    ("archive", "archived", "archiving"),
    ("offload", "offloaded", "offloading"),
    ("evacuate", "evacuated", "evacuating"),
    ("migrate", "migrated", "migrating"),
    ("drain", "drained", "draining"),
    ("shift", "shifted", "shifting"),
    ("export", "exported", "exporting"),
    ("import", "imported", "importing"),
    ("publish", "published", "publishing"),
    ("share", "shared", "sharing"),
    ("rename", "renamed", "renaming"),
    ("restore", "restored", "restoring"),
    ("merge", "merged", "merging"),
    ("swap", "swapped", "swapping"),
    ("unload", "unloaded", "unloading"),
    ("dump", "dumped", "dumping"),
    ("vault", "vaulted", "vaulting"),
    ("stage", "staged", "staging"),
)
_COMMANDS = {
    "copy": """
        cp|scp|pscp|bbcp|rclone copy|rclone copyto|aws s3 cp|s3 cp|gsutil cp|mc cp|azcopy copy|azcopy cp|globus
        transfer|globus-url-copy|gfal-copy|xrdcp|headrace copy|headrace cp|s3cmd put|s3cmd get|fdt|rcp|back up
        """,
    "sync": """
        aws s3 sync|s3 sync|rclone sync|gsutil rsync|mc mirror|azcopy sync|headrace sync|s3cmd sync|lftp mirror
        |bring in sync
        """,
    "move": "mv|rclone move|rclone moveto|aws s3 mv|s3 mv|mc mv|headrace move|gsutil mv",
    "stream": "live stream|live-stream",
}
_OVER = "[over|across|out|up|down|off|back]"
_BEING = """
    to be|be|gets|get|have it|have them|get it|get them|must be|should be|needs to be|need to be|has to be|have to
    be|is to be|are to be|ought to be|wants to be|shall be|can be|needs|need|needs being
    """
_STARTING = "start|begin|kick off|try|would you mind|do you mind|mind|consider|please start|start by|help me with"


_DOING = """
    schedule|do|run|start|make|set up|perform|kick off|begin|launch|queue|queue up|create|i need|i want|we need|we
    want|plan|initiate|trigger|i'd like|we'd like|submit|request|prepare|arrange
    """


def _forms(verbs: tuple[tuple[str, str, str], ...]) -> tuple[str, ...]:
    bases = "|".join(base for base, _, _ in verbs)
    participles = "|".join(participle for _, participle, _ in verbs)
    gerunds = "|".join(gerund for _, _, gerund in verbs)
    return (
        f"({bases}) {_OVER}",
        f"({_BEING}) ({participles}) {_OVER}",
        f"({_STARTING}) ({gerunds}) {_OVER}",
        f"({_DOING}) (a|an|another|one) [recurring|scheduled|one-off|quick] ({bases}) [of|from|job]",
        f"[a|an|the] [recurring|scheduled] ({bases}) of",
    )


TRANSFER_VERBS = frozenset(base for verbs in (_COPY, _SYNC, _MOVE, _STREAM, _UNSURE) for base, _, _ in verbs) | {
    "cp",
    "mv",
    "scp",
}
UNSURE_VERBS = frozenset(base for base, _, _ in _UNSURE)


def _wanted(action: str, verbs: tuple[tuple[str, str, str], ...]) -> list[Rule]:
    """Rules for "I want X copied": the verb with its object before it."""
    participles = "|".join(participle for _, participle, _ in verbs)
    return rule(
        f"wanted: {action}",
        lambda hit: (("action", action), ("place", hit.one(Place))),
        f"[i|we] (want|need|would like|get|have|like) {{place}} [to be] ({participles}) {_OVER}",
    )


RULES = (
    *_wanted("copy", _COPY),
    *_wanted("sync", _SYNC),
    *_wanted("move", _MOVE),
    *_wanted("stream", _STREAM),
    *say("copy", "action", "copy", *_forms(_COPY), f"({_COMMANDS['copy']}) {_OVER}"),
    *say("sync", "action", "sync", *_forms(_SYNC), f"({_COMMANDS['sync']})"),
    *say("move", "action", "move", *_forms(_MOVE), f"({_COMMANDS['move']})"),
    *say("stream", "action", "stream", *_forms(_STREAM), f"({_COMMANDS['stream']})"),
    *say(
        "verb with two meanings",
        "action",
        "unclear verb",
        *_forms(_UNSURE),
    ),
    *say(
        "while it is written",
        "live",
        "",
        """
            (as|while|when|whenever) (it's|it is|they are|they're|files are|the files are|data is|the data is|new
            files are|new data is|frames are|files) [being] (written|produced|created|recorded|acquired|generated
            |arriving|appear|arrive|coming in|captured|taken|collected)
            """,
        """
            (live|in real time|in realtime|in real-time|real time|real-time|continuously|as they appear|as it
            appears|as they come in|as it comes in|as they arrive|as it arrives|as data arrives|on the fly|as it
            lands|as they land)
            """,
    ),
)
