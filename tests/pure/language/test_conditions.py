"""What is said of when something may begin is never passed over as news, however it is joined to the order."""

import pytest
from tests.pure.language.made import read

ORDER = "move krios2:/raw/s15 to archive:/s15"
JOINED_BY = (
    "once", "and once", "only once", "when", "whenever", "as soon as", "soon as", "just as", "after", "right after",
    "until", "unless", "if", "if and only if", "only if", "even if", "as long as", "so long as", "for as long as",
    "in case", "in the event", "in the event that", "provided", "providing", "provided that", "assuming",
    "supposing", "presuming", "given that", "the moment", "the day", "on the day", "at the point",
    "at the point where", "by the time", "next time", "anytime", "by then", "while", "whilst", "on condition that",
    "on the understanding that", "lest", "before", "depending on whether",
)  # fmt: skip
NEWS = (
    "the beam is back",
    "the session is over",
    "the microscope is finished with the session",
    "ada has left",
    "the disk is full",
)


@pytest.mark.parametrize("joined_by", JOINED_BY)
@pytest.mark.parametrize("news", NEWS)
def test_an_order_that_waits_for_something_is_asked_about(joined_by: str, news: str) -> None:
    for text in (
        f"{joined_by} {news}, {ORDER}",
        f"{ORDER} {joined_by} {news}",
        f"{ORDER}, {joined_by} {news}",
    ):
        assert read(text).outcome == "ask", text


@pytest.mark.parametrize("news", NEWS)
def test_the_same_without_such_a_word_is_news(news: str) -> None:
    assert read(f"{news}, {ORDER}").outcome == "intent"
