"""The bulk-transfer engine: the hub that nodes attach to, an embedded node, and the `headrace-node` program."""

from headrace.engine._native import (
    AttemptEnded,
    AttemptProgress,
    AttemptSide,
    EngineError,
    Hub,
    JoinRequested,
    Listing,
    ListingEntry,
    MissingRoot,
    Node,
    NodeAttached,
    NodeDetached,
    NodeRefused,
    NodeRoot,
    Survey,
    __version__,
    begin_hub_succession,
    log_to_stderr,
    main,
)

HubEvent = JoinRequested | NodeAttached | NodeRefused | NodeDetached | AttemptProgress | AttemptEnded

__all__ = [
    "AttemptEnded",
    "AttemptProgress",
    "AttemptSide",
    "EngineError",
    "Hub",
    "HubEvent",
    "JoinRequested",
    "Listing",
    "ListingEntry",
    "MissingRoot",
    "Node",
    "NodeAttached",
    "NodeDetached",
    "NodeRefused",
    "NodeRoot",
    "Survey",
    "__version__",
    "begin_hub_succession",
    "log_to_stderr",
    "main",
]
