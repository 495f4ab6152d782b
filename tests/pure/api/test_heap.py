"""Collections of garbage pass over what a process has when it has started, and seldom look at all the rest."""

import subprocess
import sys

PROGRAM = """
import gc
from headrace.api.app.heap import keep_for_good
class Kept: pass
a, b = Kept(), Kept()
a.other, b.other = b, a
keep_for_good()
kept, looked_at = gc.get_freeze_count(), len(gc.get_objects())
more = [[] for _ in range(1000)]
keep_for_good()
print(kept > 1000, looked_at < 100, gc.get_freeze_count() == kept)
whole = []
gc.callbacks.append(lambda phase, about: whole.append(phase) if about["generation"] == 2 else None)
pages = [[[[] for _ in range(10)] for _ in range(1000)] for _ in range(30)]
print(not whole)
"""


def test_collections_pass_over_what_was_there_at_the_start_and_seldom_look_at_all_that_came_later() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True"] * 4
