"""What stands against a start of the service: in words for whoever runs it, and whether it may pass by itself."""

import logging

from headrace.api.durable import place_in_words
from headrace.api.settings import Settings
from headrace.api.store.address import store_url
from headrace.api.store.words import remedy, trouble_in_words
from headrace.api.store_trouble import Trouble, said_by, store_error, trouble_of
from headrace.engine import EngineError

_log = logging.getLogger(__name__)


def in_words(settings: Settings, error: BaseException) -> str:
    """Say what is the matter, where, and what to do."""
    of_store = store_error(error)
    if of_store is not None:
        _log.debug("the store could not be used", exc_info=of_store)
        url, trouble = store_url(settings.database, settings.data), trouble_of(of_store)
        return f"{trouble_in_words(url, trouble)} ({said_by(of_store)}); {remedy(url, trouble)}"
    return place_in_words(error, settings.data) if isinstance(error, OSError) else str(error)


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
