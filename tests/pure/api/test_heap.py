"""What a process has when it has started is passed over by later collections of garbage."""

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
"""


def test_collections_pass_over_what_was_there_at_the_start_and_look_at_what_came_later() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", "True", "True"]
