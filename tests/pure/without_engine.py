"""A plugin for pytest: the engine cannot be imported, as in a clone where it is not built yet."""

import sys

sys.modules["headrace.engine"] = None  # type: ignore[assignment]
