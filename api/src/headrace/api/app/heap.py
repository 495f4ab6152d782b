"""What the process keeps for as long as it lives is passed over when garbage is looked for."""

import gc


def keep_for_good() -> None:
    """Let later collections pass over all that there is now: modules, tables, routes, what the service is made of.

    A full collection looked at each of some 300,000 objects, and everybody waited a quarter of a second for that.
    Call it when the process has started; again, it does nothing, since what has ended meanwhile would be kept, too.
    """
    if gc.get_freeze_count():
        return
    gc.collect()
    gc.freeze()
