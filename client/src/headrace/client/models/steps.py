"""What comes next for a plan or transfer, and what its caller may do to it."""

from typing import Literal

from headrace.client.models.base import Model

NextStepKind = Literal[
    "wait", "answer", "confirm", "approve", "submit", "follow", "plan_again", "retry", "resume", "none"
]
PlanAction = Literal["confirm", "decline", "approve", "refuse", "submit", "revise", "drop"]
"""What people do to a plan."""
ControlAction = Literal["pause", "resume", "cancel", "retry", "set_rate", "set_class", "set_deadline"]
"""How a transfer is steered: what `control` takes."""
TransferAction = Literal[ControlAction, "halt", "release", "run_again"]
"""What people do to a transfer."""


class NextStep(Model):
    """What happens next, and who does it. `you` is the caller."""

    kind: NextStepKind = "none"
    by: Literal["you", "others", "service", "nobody"] = "nobody"
    message: str = ""


class AllowedAction(Model):
    """Something that can be done to a plan or transfer, and why the caller may not."""

    action: Literal[PlanAction, TransferAction]
    allowed: bool
    reason: str = ""
