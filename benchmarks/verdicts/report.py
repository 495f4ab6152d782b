"""Verdicts against what was planted, as a table and as data."""

from collections import Counter
from dataclasses import dataclass

from benchmarks.verdicts.house import Seen
from benchmarks.verdicts.plants import Plant

_BETTER = 1.2
"""How many times faster a transfer is that followed a remedy which helped."""


@dataclass(frozen=True, slots=True)
class Result:
    """One run: what was planted, what was said, and what became of it once the advice was followed."""

    plant: Plant
    seen: Seen
    then: Seen | None = None

    @property
    def is_right(self) -> bool:
        """Whether the verdict is one of the right ones."""
        return self.seen.live.limit in self.plant.right

    @property
    def was_right(self) -> bool:
        """Whether that of the whole attempt, after its end, is."""
        return self.seen.after.limit in self.plant.right

    @property
    def helped(self) -> bool | None:
        """Whether the remedy took the verdict away or made it faster; `None` where there was nothing to do."""
        if self.then is None:
            return None
        return self.then.live.limit is not self.seen.live.limit or self.then.bps >= _BETTER * self.seen.bps

    def line(self) -> str:
        """Say in a line what came of it."""
        then = f"; then {self.then.live.limit} {self.then.bps / 1e6:.1f} Mb/s" if self.then else ""
        return (
            f"{'right' if self.is_right else 'WRONG'} {self.plant.name}: {self.seen.live.limit} "
            f"{self.seen.bps / 1e6:.1f} Mb/s, after its end {self.seen.after.limit}{then}; "
            + ", ".join(f"{one.name} {one.value:g} {one.unit}" for one in self.seen.live.evidence)
        )

    def data(self) -> dict[str, object]:
        """Everything, for the record."""
        return {
            "planted": self.plant.name,
            "values": {name: float(f"{value:.4g}") for name, value in self.plant.values.items()},
            "right": sorted(self.plant.right),
            "said": self.seen.live.limit,
            "sentence": self.seen.live.said,
            "evidence": [one.model_dump(mode="json") for one in self.seen.live.evidence],
            "remedy": self.seen.live.remedy,
            "looks": list(self.seen.looks),
            "after": self.seen.after.limit,
            "after_sentence": self.seen.after.said,
            "bps": self.seen.bps,
            "then": {"said": self.then.live.limit, "bps": self.then.bps} if self.then else None,
            "is_right": self.is_right,
            "was_right": self.was_right,
            "helped": self.helped,
        }


def table(results: list[Result]) -> str:
    """Draw the confusion matrix: a row for what was planted, and how often each verdict was given."""
    lines = [
        "| planted | runs | right | after its end | verdicts | remedy helped |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    names = dict.fromkeys(result.plant.name if "+" not in result.plant.name else "two at once" for result in results)
    for name in names:
        own = [one for one in results if one.plant.name == name or (name == "two at once" and "+" in one.plant.name)]
        verdicts = Counter(one.seen.live.limit for one in own)
        told = ", ".join(f"`{limit}` {count}" for limit, count in verdicts.most_common())
        advised = [one.helped for one in own if one.helped is not None]
        helped = f"{sum(advised)} of {len(advised)}" if advised else ""
        right, after = sum(one.is_right for one in own), sum(one.was_right for one in own)
        lines.append(f"| {name} | {len(own)} | {right} | {after} | {told} | {helped} |")
    right, after = sum(one.is_right for one in results), sum(one.was_right for one in results)
    share = right / max(1, len(results))
    lines.append(f"| all | {len(results)} | {right} ({share:.1%}) | {after} | | |")
    return "\n".join(lines)


def wrong(results: list[Result]) -> str:
    """Say of each wrong verdict what was planted and what was seen."""
    return "\n".join(
        f"WRONG {one.plant.name} {dict(one.plant.values)}: said {one.seen.live.limit} ({one.seen.live.said}); "
        f"{', '.join(f'{piece.name} {piece.value:g} {piece.unit}' for piece in one.seen.live.evidence)}; "
        f"after its end: {one.seen.after.said}; looks {' '.join(one.seen.looks)}"
        for one in results
        if not one.is_right
    )
