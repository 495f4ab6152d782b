"""What stands against a start of the service: in words for whoever runs it, and whether it may pass by itself."""

import logging
import re
from typing import Final

from headrace.api.durable import place_in_words, remedy_of
from headrace.api.settings import Settings
from headrace.api.store.address import store_url
from headrace.api.store.words import remedy, trouble_in_words
from headrace.api.store_trouble import Trouble, said_by, store_error, trouble_of
from headrace.engine import EngineError

_log = logging.getLogger(__name__)

_OF_SYSTEM: Final = re.compile(r"\(os error (?P<number>\d+)\)")
"""How the engine says what the system did not allow."""


def in_words(settings: Settings, error: BaseException) -> str:
    """Say what is the matter, where, and what to do."""
    of_store = store_error(error)
    if of_store is not None:
        _log.debug("the store could not be used", exc_info=of_store)
        url, trouble = store_url(settings.database, settings.data), trouble_of(of_store)
        return f"{trouble_in_words(url, trouble)} ({said_by(of_store)}); {remedy(url, trouble)}"
    if isinstance(error, OSError):
        return place_in_words(error, settings.data)
    of_system = _OF_SYSTEM.search(str(error)) if isinstance(error, EngineError) else None
    remedy_ = remedy_of(int(of_system["number"])) if of_system else ""
    return f"{error}; {remedy_}" if remedy_ else str(error)


def may_pass(error: BaseException) -> bool:
    """Whether it is a matter of the surroundings, which come back: the store, a file system, an address."""
    of_store = store_error(error)
    if of_store is not None:
        return trouble_of(of_store) not in {Trouble.DAMAGED, Trouble.OTHER}
    return isinstance(error, OSError | EngineError)


def of_former_leader(error: BaseException) -> bool:
    """Whether it may be that the process that led before is still about to end."""
    of_store = store_error(error)
    if of_store is not None:
        return trouble_of(of_store) in {Trouble.BUSY, Trouble.AWAY}
    return not isinstance(error, OSError)
