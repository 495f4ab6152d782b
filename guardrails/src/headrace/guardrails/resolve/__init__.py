"""Resolution: readings of words against the registry, the clock and the zone.

`resolve` takes a draft to an `Interpretation`; `check_intent` takes typed slots the same way, and
`disagreements` holds the two against each other.
"""

from headrace.guardrails.resolve.agreement import disagreements
from headrace.guardrails.resolve.request import resolve
from headrace.guardrails.resolve.typed_slots import apply_changes, check_intent

__all__ = ["apply_changes", "check_intent", "disagreements", "resolve"]
