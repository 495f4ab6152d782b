"""docs/security/guardrails.md says what the sets of sentences give today."""

import pytest
from tests.pure.language.report import PAGE, SETS, scored_sets

# Seven thousand sentences take half a minute of one processor, and minutes where it is shared.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def rows() -> list[str]:
    return scored_sets()[0]


def test_the_page_of_the_guardrails_has_todays_figures_of_every_set(rows: list[str]) -> None:
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert [row for row in rows if row not in page] == [], "run make nl-report"
    assert len(rows) == len(SETS)


def test_no_set_has_a_plan_that_is_not_what_the_words_say(rows: list[str]) -> None:
    assert [row for row in rows if row.split(" | ")[3] != "0"] == []
