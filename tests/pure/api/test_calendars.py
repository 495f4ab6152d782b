"""Calendars of classes, and hours that hold together."""

from datetime import UTC, date, datetime, time

from headrace.api.policy.calendars import Calendar, Timeline, Together
from headrace.client import models as m
from headrace.client.models.qos import Day
from headrace.guardrails import OpenHours

WORKDAYS: list[Day] = ["mon", "tue", "wed", "thu", "fri"]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def calendar(*hours: m.QosHours, zone: str = "UTC", closed: tuple[date, ...] = ()) -> Calendar:
    return Calendar("nights", m.QosCalendar(name="nights", zone=zone, hours=list(hours), closed=list(closed)))


NIGHTS = m.QosHours(days=WORKDAYS, opens="20:00", closes="06:00")
WEEKEND = m.QosHours(days=["sat", "sun"])


def test_nights_go_over_midnight_and_touch_the_weekend() -> None:
    of = calendar(NIGHTS, WEEKEND)
    assert of.opening(at("2026-11-24T12:00")) == at("2026-11-24T20:00")  # a Tuesday
    assert of.closing(at("2026-11-24T12:00")) == at("2026-11-25T06:00")
    assert of.opening(at("2026-11-25T05:59")) == at("2026-11-25T05:59")
    # From Friday night through the weekend, which ends as Monday begins.
    assert of.closing(at("2026-11-27T21:00")) == at("2026-11-30T00:00")


def test_no_hours_begin_on_a_day_that_is_closed() -> None:
    of = calendar(NIGHTS, closed=(date(2026, 11, 24),))
    assert of.opening(at("2026-11-24T21:00")) == at("2026-11-25T20:00")
    assert of.opening(at("2026-11-24T01:00")) == at("2026-11-24T01:00"), "that night began the day before"


def test_hours_are_those_of_the_zone_also_when_its_clocks_change() -> None:
    of = calendar(m.QosHours(days=["sun"], opens="01:00", closes="04:00"), zone="Europe/Berlin")
    opens = of.opening(at("2026-10-24T12:00"))
    assert opens == at("2026-10-24T23:00")
    assert of.closing(opens) == at("2026-10-25T03:00"), "an hour more, as clocks go back"


def test_a_calendar_that_is_always_open_does_not_close_soon_and_one_that_is_always_closed_never_opens() -> None:
    now = at("2026-11-24T12:00")
    every = calendar(m.QosHours(days=[*WORKDAYS, "sat", "sun"]))
    assert every.opening(now) == now
    assert (every.closing(now) - now).days > 400
    assert calendar().opening(now) is None


def test_hours_together_are_open_while_all_are() -> None:
    evening = OpenHours(time(18), time(22), "UTC")
    both = Together((calendar(NIGHTS), evening))
    now = at("2026-11-24T12:00")
    assert both.opening(now) == at("2026-11-24T20:00")
    assert both.closing(at("2026-11-24T20:00")) == at("2026-11-24T22:00")
    assert both.seconds(now, at("2026-11-26T21:00")) == 5 * 3600
    assert Together(()).seconds(now, at("2026-11-24T13:00")) == 3600


def test_hours_that_are_never_open_together_never_open() -> None:
    both = Together((calendar(m.QosHours(days=["mon"])), calendar(m.QosHours(days=["tue"]))))
    assert both.opening(at("2026-11-24T12:00")) is None


def test_a_timeline_knows_how_long_hours_are_open_between_any_two_moments() -> None:
    evening = OpenHours(time(18), time(22), "UTC")
    both = Together((calendar(NIGHTS), evening))
    now = at("2026-11-24T12:00")
    line = Timeline(both, now, at("2027-11-24T12:00"))
    moments = [at(f"2026-11-{day}T{hour:02}:30") for day in (27, 24, 25, 30) for hour in (21, 12, 23, 20)]
    for begins in moments:
        for ends in moments:
            assert line.seconds(begins, ends) == both.seconds(begins, ends)
    assert list(line.spans())[:2] == list(both.spans(now, at("2026-11-26T00:00")))
