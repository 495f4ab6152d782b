"""What comes next for a plan or transfer, and what its caller may do to it."""

from typing import Literal

from headrace.client.models.base import Model


class NextStep(Model):
    """What happens next, and who does it. `you` is the caller."""

    kind: Literal[
        "wait", "answer", "confirm", "approve", "submit", "follow", "plan_again", "retry", "resume", "none"
    ] = "none"
    by: Literal["you", "others", "service", "nobody"] = "nobody"
    message: str = ""


class AllowedAction(Model):
    """Something that can be done to a plan or transfer, and why the caller may not."""

    action: Literal[
        "confirm", "decline", "approve", "refuse", "submit", "revise",
        "pause", "resume", "cancel", "retry", "set_rate", "hold", "release", "run_again",
    ]  # fmt: skip
    allowed: bool
    reason: str = ""
