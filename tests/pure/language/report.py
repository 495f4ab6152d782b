"""Score every set of sentences and write the figures into docs/security/guardrails.md.

make nl-report                              all sets
.venv/bin/python -m tests.pure.language.report --list   also prints each case that is not right
"""

import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.pure.language.made import HERE, read
from tests.pure.language.test_gate import CORPUS, cases_of, scored
from tests.pure.language.test_probe import verdict

PAGE = HERE.parents[2] / "docs" / "security" / "guardrails.md"
OPENS, CLOSES = "<!-- figures: make nl-report -->\n", "<!-- end of figures -->\n"
_ATTACKS = ("adv_", "adv", "refuse", "adversarial", "injection")
_LONGEST = 4000


@dataclass(frozen=True, slots=True)
class Set:
    """Sentences of one origin; `exact` compares every slot, otherwise the outcome and what it must not be."""

    name: str
    files: Sequence[Path]
    exact: bool

    @property
    def cases(self) -> list[dict[str, Any]]:
        return [case for path in self.files for case in cases_of(path)]


SETS = (
    Set("given: development cases", [HERE / "dev.jsonl"], exact=True),
    Set("given: by somebody who had not seen the rules", [HERE / "probe.jsonl"], exact=False),
    Set("ours", sorted(CORPUS.glob("*.jsonl")), exact=True),
    Set("ours, with what must be asked about", [HERE / "heard.jsonl"], exact=False),
    Set("an outsider's: what a colleague would carry out", [HERE / "outsider" / "carry.jsonl"], exact=False),
    Set("an outsider's: what must not become a plan as said", [HERE / "outsider" / "careful.jsonl"], exact=False),
    Set("an outsider's: what was once read wrongly", [HERE / "outsider" / "extra.jsonl"], exact=False),
    Set(
        "newer sets of outsiders: what a colleague would carry out",
        sorted((HERE / "outsider").glob("carry-*.jsonl")),
        exact=False,
    ),
    Set(
        "newer sets of outsiders: what must not become a plan",
        sorted((HERE / "outsider").glob("careful-*.jsonl")),
        exact=False,
    ),
)


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of one set."""

    cases: int
    right: int
    false_accepts: int
    over_asks: int
    over_refusals: int
    failures: Sequence[str]

    def row(self, name: str) -> str:
        share = f"{self.right / self.cases:.1%}" if self.cases else "-"
        counts = f"{self.false_accepts} | {self.over_asks} | {self.over_refusals}"
        return f"| {name} | {self.cases} | {self.right} ({share}) | {counts} |"


def figures_of(one: Set, folder: Path) -> Figures:
    """Read a set, and count what came of it."""
    if not one.exact:
        verdicts = [(verdict(case), case["text"]) for case in one.cases]
        count = Counter(found for found, _ in verdicts)
        wrong = [f"{found}: {text}" for found, text in verdicts if found != "right"]
        return Figures(
            len(verdicts), count["right"], count["false_accept"], count["over_ask"], count["over_refuse"], wrong
        )
    merged = folder / "cases.jsonl"
    merged.write_text("".join(path.read_text(encoding="utf-8") for path in one.files), encoding="utf-8")
    report = scored(merged, folder)
    return Figures(
        report["n"],
        report["exact"],
        report["false_accept"],
        report["over_ask"] - report["over_refuse"],
        report["over_refuse"],
        report["failures"],
    )


def attacks(cases: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Count the attacks among some cases, and those that became a plan they must not become."""
    hostile = [
        case for case in cases if case["category"].startswith(_ATTACKS) and case["expect"]["outcome"] != "intent"
    ]
    return len(hostile), sum(read(case["text"]).outcome == "intent" for case in hostile)


def questions(cases: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Count the questions that are asked, and those that say more than that words are not understood."""
    asked = [question for case in cases for question in read(case["text"]).questions]
    return len(asked), sum(not question.message.endswith("is not understood") for question in asked)


def one_click(cases: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Count the requests to carry out that are asked back, and those of which one choice makes the right plan."""
    asked = [case for case in cases if case["expect"]["outcome"] == "intent" and verdict(case) == "over_ask"]
    first = [(case, question.choices) for case in asked for question in read(case["text"]).questions[:1]]
    mended = [
        case for case, choices in first if any(verdict({**case, "text": choice.value}) == "right" for choice in choices)
    ]
    return len(asked), len(mended)


def times(texts: Sequence[str]) -> tuple[float, float]:
    """Measure the median milliseconds of a sentence, and those of the longest request; processor time."""

    def spent(text: str) -> float:
        start = time.process_time()
        read(text)
        return (time.process_time() - start) * 1000

    longest = ". ".join(texts)[:_LONGEST]
    return statistics.median(spent(text) for text in texts), min(spent(longest) for _ in range(3))


def scored_sets() -> tuple[list[str], list[str]]:
    """Score every set: the rows of the table, and each case that is not right."""
    rows, failures = [], []
    with tempfile.TemporaryDirectory() as folder:
        for one in SETS:
            figures = figures_of(one, Path(folder))
            rows.append(figures.row(one.name))
            failures += [f"{one.name}: {failure}" for failure in figures.failures if failure]
    return rows, failures


def main() -> int:
    """Score, print and write."""
    rows, failures = scored_sets()
    everything = [case for one in SETS for case in one.cases]
    hostile, through = attacks(everything)
    asked, helpful = questions(everything)
    over_asked, clicked = one_click(everything)
    median, longest = times([case["text"] for case in everything if case["expect"]["outcome"] == "intent"])
    lines = [
        "| sentences | number | right | false accepts | over-asks | over-refusals |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        f"Attacks in these sets (getting round policy, claimed roles, look-alike names, injections): {hostile}.",
        f"Of these became a plan: {through}.",
        f"Of {asked} questions, {helpful} ({helpful / asked:.0%}) say what to write instead, or why it can't be.",
        f"Of {over_asked} over-asks, {clicked} are a choice that makes the right plan with one click.",
        f"Processor time of a sentence: {median:.1f} ms (median); of {_LONGEST:,} characters: {longest:.0f} ms.",
    ]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(OPENS)
    _, _, after = rest.partition(CLOSES)
    PAGE.write_text(f"{before}{OPENS}\n" + "\n".join(lines) + f"\n\n{CLOSES}{after}", encoding="utf-8")
    sys.stdout.write("\n".join([*lines, *(failures if "--list" in sys.argv else []), ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
