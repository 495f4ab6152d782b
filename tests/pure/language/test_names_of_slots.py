"""The console has a name for each slot that words can fill, or shows the words plain: never a name of ours."""

import re
from pathlib import Path

from tests.pure.language.made import HERE, read
from tests.pure.language.test_gate import cases_of

CONSOLE = Path(__file__).parents[3] / "web/src"


def test_each_slot_of_all_known_sentences_has_a_name_in_the_console_or_is_plain_there() -> None:
    named = set(re.findall(r'"slot\.(\w+)"', (CONSOLE / "i18n/en/asking.ts").read_text(encoding="utf-8")))
    table = re.search(r"const PLAIN: .*?\]\);", (CONSOLE / "plan/reading.ts").read_text(encoding="utf-8"), re.DOTALL)
    assert table is not None
    plain = set(re.findall(r'"([\w-]+)"', table[0]))
    answers = [read(case["text"]) for name in ("probe", "heard", "dev") for case in cases_of(HERE / f"{name}.jsonl")]
    shown = {span.slot for answer in answers for span in answer.spans} - plain
    asked = {question.slot for answer in answers for question in answer.questions}
    assert shown | asked <= named
    assert not plain & named
