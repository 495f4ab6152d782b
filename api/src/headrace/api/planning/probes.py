"""What a probe may move, known before it runs: nothing is surveyed for it."""

from typing import Final

from headrace.api.signing.legs import LEGS
from headrace.client import models as m
from headrace.guardrails import Execution, SurveyCounts

_FILES: Final = 1000
"""Files of a leg, where its bytes do not need more: what a node makes is cut into files of 64 MiB."""
_MADE_BYTES: Final = 64 << 20


def probing(draft: Execution, bounds: m.ProbeBounds) -> tuple[Execution, SurveyCounts]:
    """Return what the nodes carry out, and what that moves at most: all legs together.

    So policy, budgets and deadlines count a probe as they count a copy of so much.
    """
    files = max(_FILES, -(-bounds.max_bytes // _MADE_BYTES))
    execution = draft.probing(files, bounds.max_bytes, bounds.max_seconds)
    counts = SurveyCounts(
        source_kind="dir",
        files=len(LEGS) * files,
        bytes=len(LEGS) * bounds.max_bytes,
        destination_free_bytes=0,
        destination_exists=True,
    )
    return execution, counts


def survey_view(counts: SurveyCounts) -> m.SurveyCounts:
    """Show it as a survey."""
    names = (name for name in m.SurveyCounts.model_fields if hasattr(counts, name))
    return m.SurveyCounts(**{name: getattr(counts, name) for name in names})
