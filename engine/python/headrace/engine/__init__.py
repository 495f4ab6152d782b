"""The bulk-transfer engine: the hub that nodes attach to, an embedded node, and the `headrace-node` program."""

from headrace.engine._native import (
    AttemptEnded,
    AttemptProgress,
    EngineError,
    Hub,
    JoinRequested,
    Listing,
    ListingEntry,
    Node,
    NodeAttached,
    NodeDetached,
    NodeRoot,
    Survey,
    __version__,
    main,
)

HubEvent = JoinRequested | NodeAttached | NodeDetached | AttemptProgress | AttemptEnded

__all__ = [
    "AttemptEnded",
    "AttemptProgress",
    "EngineError",
    "Hub",
    "HubEvent",
    "JoinRequested",
    "Listing",
    "ListingEntry",
    "Node",
    "NodeAttached",
    "NodeDetached",
    "NodeRoot",
    "Survey",
    "__version__",
    "main",
]
