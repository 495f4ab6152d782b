"""The verbs of transfers, as data."""

from __future__ import annotations

# Each verb as base, past participle and gerund; the last two only count with "be", "get", "start".
COPY = (
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
SYNC = (
    ("sync", "synced", "syncing"),
    ("synchronise", "synchronised", "synchronising"),
    ("synchronize", "synchronized", "synchronizing"),
    ("mirror", "mirrored", "mirroring"),
    ("rsync", "rsynced", "rsyncing"),
)
MOVE = (("move", "moved", "moving"), ("relocate", "relocated", "relocating"))
STREAM = (("stream", "streamed", "streaming"), ("livestream", "livestreamed", "livestreaming"))
# Copying, moving or deleting: each of these has been used for more than one.
UNSURE = (
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
TRANSFERS = {"copy": COPY, "sync": SYNC, "move": MOVE, "stream": STREAM}
ACTION_OF = {base: action for action, verbs in TRANSFERS.items() for base, _, _ in verbs}
