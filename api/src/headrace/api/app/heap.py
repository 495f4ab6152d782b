"""How garbage is looked for: never in what the process keeps for as long as it lives, and in all else seldom."""

import gc
from typing import Final

_THRESHOLDS: Final = 5_000, 20, 100
"""A page of 200 transfers makes some 10,000 objects that live as long as its call: most are gone before they are looked
at. A look at all that is kept, caches of models included, holds everybody up for 10 to 40 ms; it comes after some
thousand pages now, and came after 30."""


def keep_for_good() -> None:
    """Let later collections pass over all that there is now: modules, tables, routes, what the service is made of.

    A full collection looked at each of some 300,000 objects, and everybody waited a quarter of a second for that.
    Call it when the process has started; again, it does nothing, since what has ended meanwhile would be kept, too.
    """
    if gc.get_freeze_count():
        return
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
