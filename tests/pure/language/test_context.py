"""The same words in another place, at another time, or with nothing known."""

from dataclasses import replace
from datetime import datetime

import pytest
from tests.pure.language.made import CONTEXT, asked, intent_of, read, refused

from headrace.guardrails.language import Context, Endpoint, Registry

BARE = Context(now=CONTEXT.now, timezone="UTC")


def test_without_a_last_plan_nothing_stands_for_it() -> None:
    for text in ("yes", "cancel that", "make it 5 Gb/s", "resume it"):
        assert asked(text, BARE) == {"target"}
    assert asked("same thing for run43", BARE) == {"source", "destination"}


def test_without_endpoints_every_place_is_asked_about() -> None:
    assert asked("copy krios1:/a to /b", BARE) == {"source", "destination"}


def test_an_alias_stands_for_its_endpoint() -> None:
    known = replace(CONTEXT, endpoints=(Endpoint("olcf-dtn", aliases=("olcf", "Oak Ridge")), *CONTEXT.endpoints[:3]))
    assert intent_of("copy krios1:/a to olcf:/b", known)["destination"] == "olcf-dtn:/b"
    assert intent_of("copy krios1:/a to oak ridge:/b", known)["destination"] == "olcf-dtn:/b"


def test_every_letter_of_a_name_may_be_small_or_a_capital_among_many_names() -> None:
    letters = [chr(code) for code in range(0x21, 0x3000) if chr(code).lower() != chr(code).upper()]
    known = Registry(Endpoint(f"x{letter}y") for letter in letters)
    for letter in letters:
        for written in {letter, letter.lower(), letter.upper()}:
            alike = {spelled for spelled, _ in known.having(f"X{written}y")}
            assert {one.id for one in known if one.id == f"x{letter}y" and len(written) == 1} <= alike, (
                letter,
                written,
            )
    assert {one.id for _, one in known.having("xay")} == {"xay", "xAy"}


def test_a_name_that_two_endpoints_share_is_asked_about() -> None:
    twins = replace(
        CONTEXT, endpoints=(Endpoint("a1", aliases=("tape",)), Endpoint("b1", aliases=("Tape",)), Endpoint("local"))
    )
    assert asked("copy /a to TAPE:/b", twins) == {"destination"}
    assert intent_of("copy /a to tape:/b", twins)["destination"] == "a1:/b"


def test_an_endpoint_that_is_called_like_a_verb_is_read_by_where_it_stands() -> None:
    assert asked("archive /data/run42") == {"action", "destination"}
    assert asked("copy /data/run42 to archive") == {"destination"}


@pytest.mark.parametrize(
    ("now", "zone", "text", "slot", "moment"),
    [
        ("2026-03-07T12:00:00-06:00", "America/Chicago", "by 3am", "deadline", "2026-03-08T03:00:00-05:00"),
        ("2026-10-31T12:00:00-05:00", "America/Chicago", "by 3am", "deadline", "2026-11-01T03:00:00-06:00"),
        ("2026-12-31T23:00:00+00:00", "UTC", "by 6am", "deadline", "2027-01-01T06:00:00+00:00"),
        ("2026-12-30T12:00:00+01:00", "Europe/Prague", "on january 2 at 6am", "start", "2027-01-02T06:00:00+01:00"),
    ],
)
def test_times_follow_the_persons_zone_and_calendar(now: str, zone: str, text: str, slot: str, moment: str) -> None:
    there = replace(CONTEXT, now=datetime.fromisoformat(now), timezone=zone)
    assert intent_of(f"copy krios1:/a to archive:/a {text}", there)[slot] == moment


@pytest.mark.parametrize(
    ("now", "text"),
    [
        ("2026-03-07T12:00:00-06:00", "by 2:30am"),
        ("2026-10-31T12:00:00-05:00", "by 1:30am"),
        ("2026-10-31T12:00:00-05:00", "by tomorrow 01:15"),
    ],
)
def test_times_that_a_clock_change_skips_or_repeats_are_asked_about(now: str, text: str) -> None:
    there = replace(CONTEXT, now=datetime.fromisoformat(now))
    assert "deadline" in asked(f"copy krios1:/a to archive:/a {text}", there)


@pytest.mark.parametrize("words", ["by 9:00 today", "today by 9:00", "by 9:00"])
def test_an_hour_with_minutes_is_asked_about_today_though_it_is_still_ahead(words: str) -> None:
    there = replace(CONTEXT, now=datetime.fromisoformat("2026-11-25T07:00:00-06:00"))
    assert asked(f"copy krios1:/a to archive:/a {words}", there) == {"deadline"}


def test_the_first_day_of_the_week_decides_what_next_means() -> None:
    sunday = replace(CONTEXT, week_starts="sunday", now=datetime.fromisoformat("2026-11-24T12:00:00-06:00"))
    monday = replace(sunday, week_starts="monday")
    text = "copy krios1:/a to archive:/a by next sunday 6am"
    assert intent_of(text, sunday)["deadline"] == "2026-11-29T06:00:00-06:00"
    assert asked(text, monday) == {"deadline"}


def test_deceptive_endpoint_names_are_refused_whatever_the_registry_holds() -> None:
    assert refused("copy \u0440rod:/a to \u0430rchive:/b", BARE) == {"deceptive_name"}


def test_a_question_shows_what_a_screen_would_hide() -> None:
    answer = read("copy krios1:/a\u2060b to archive:/b")
    assert answer.ask == ("source",)
    assert "\u2060" not in answer.questions[0].message
