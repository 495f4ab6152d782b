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


@pytest.mark.parametrize(
    "opening", ["FYI, ", "as you know, ", "for context: ", "because ", "Reason: ", "Ok ben ", "PS "]
)
@pytest.mark.parametrize("joined_by", ["once", "as soon as", "as long as", "so long as", "in the event", "insofar as"])
def test_what_introduces_news_makes_none_of_a_condition(opening: str, joined_by: str) -> None:
    assert read(f"{opening}{joined_by} the beam is back, {ORDER}").outcome == "ask"


@pytest.mark.parametrize(
    "text",
    [
        f"The visitors arrive tonight. After that {ORDER}.",
        "We are away until Monday. After that copy krios1:/a to archive:/a and delete the source.",
        f"The shift ended at 18:00. Then {ORDER}.",
        f"She will be back on Friday, {ORDER} afterwards",
    ],
)
def test_an_order_that_points_to_a_time_in_news_is_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"
