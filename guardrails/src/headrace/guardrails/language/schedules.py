"""Recognises when: start, deadline, hours of the day, repetition."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Day, Doubt, Hours, Length, Repeat, When
from headrace.guardrails.language.phrases import Hit, Reading, rule, say
from headrace.guardrails.resolve.recurrence import RRULE_DAYS, repeat_on, with_day

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RRULE = re.compile(r"(?:rrule:)?freq=[a-z]+(?:;[a-z]+=[a-z0-9,+-]+)*", re.IGNORECASE)
_WEEKDAYS = RRULE_DAYS[:5]
_WEEKEND = RRULE_DAYS[5:]
_FREQUENCIES = {
    "hour": "HOURLY", "hourly": "HOURLY",
    "day": "DAILY", "daily": "DAILY", "night": "DAILY", "nightly": "DAILY", "morning": "DAILY",
    "evening": "DAILY", "afternoon": "DAILY", "nights": "DAILY", "mornings": "DAILY", "evenings": "DAILY",
    "week": "WEEKLY", "weekly": "WEEKLY", "month": "MONTHLY", "monthly": "MONTHLY",
    "minute": "MINUTELY", "year": "YEARLY", "yearly": "YEARLY",
    "fortnight": "WEEKLY",
}  # fmt: skip
_MOST_TIMES = 24
_UNIT_FREQUENCIES = {
    "minute": "MINUTELY",
    "hour": "HOURLY",
    "day": "DAILY",
    "week": "WEEKLY",
    "month": "MONTHLY",
}
_PARTS = {"night": "night", "nightly": None, "morning": "morning", "evening": "evening", "afternoon": "afternoon"}
_ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": -1}
_PERIOD = "(hour|day|night|morning|evening|afternoon|week|month|minute|year|fortnight)"
_WINDOW_ONLY = """
    [and|but] [run] [only|just] [run|transfer|copy|move|send|go|start|sync|work|stream|active] [data|it|files|things
    |them|anything] [only] [during|in] [the] [window|hours|time window|maintenance window] [of|:]
    """


def _slot(slot: str) -> Callable[[Hit], Sequence[Reading]]:
    return lambda hit: ((slot, hit.one(When)),)


def _ahead(slot: str) -> Callable[[Hit], Sequence[Reading]]:
    def make(hit: Hit) -> Sequence[Reading]:
        length = hit.one(Length)
        return ((slot, When(hit.words, ahead=length)),)

    return make


def _day_then_clock(hit: Hit) -> Sequence[Reading]:
    day, clock = hit.all(When)
    if day.clock is None and clock.day is None:
        return (("deadline", replace(clock, day=day.day, words=hit.words)),)
    return (("start", day), ("deadline", clock))


def _in_days(hit: Hit) -> Sequence[Reading]:
    """Read "in two days at 09:00": a day that is so far away, and its clock."""
    length, when = hit.one(Length), hit.all(When)[-1]
    if length.exact is not None or length.doubt or when.day is not None or when.clock is None:
        return (("start", Doubt(f"`{hit.words}` is not one day and one time of day")),)
    return (("start", replace(when, words=hit.words, day=Day(offset=length.days))),)


def _outside(hit: Hit) -> Sequence[Reading]:
    """Read "outside 08:00-18:00" as the hours from 18:00 to 08:00."""
    hours = hit.all(Hours)
    opens, closes = (hours[0].opens, hours[0].closes) if hours else hit.all(When)
    return (("window", Hours(hit.words, closes, opens)),)


def _window(hit: Hit) -> Sequence[Reading]:
    opens, closes = hit.all(When)
    return (("window", Hours(hit.words, opens, closes)),)


def _night(hit: Hit) -> Sequence[Reading]:
    """Read "overnight (20:00-06:00)": the hours say what the word left open."""
    hours = hit.all(Hours)
    opens, closes = (hours[0].opens, hours[0].closes) if hours else hit.all(When)
    return (("window", Hours(hit.words, opens, closes)),)


def _ready_window(hit: Hit) -> Sequence[Reading]:
    return (("window", hit.one(Hours)),)


def _repeat(hit: Hit) -> Sequence[Reading]:
    word = next(item.symbol for item in hit.items if item.symbol in _FREQUENCIES)
    interval = 2 if hit.has("other", "second", "fortnight") else 1
    repeat = Repeat(hit.words, _FREQUENCIES[word], interval, part=_PARTS.get(word))
    return (("repeat", with_day(repeat, _clock(hit))),)


def _times_a_day(hit: Hit) -> Sequence[Reading]:
    words = {"twice": 2, "three times": 3, "four times": 4}
    lengths = hit.all(Length)
    numbers = [item.text for item in hit.items if item.symbol == "<num>"]
    named = [count for word, count in words.items() if f" {word} " in f" {hit.line}"]
    count = named[0] if named else int(numbers[0]) if numbers and numbers[0].isdecimal() else 0
    if not 1 <= count <= _MOST_TIMES or any(length.days != 1 for length in lengths):
        return (("repeat", Doubt(f"`{hit.words}` is no repetition that can be planned")),)
    return (("repeat", Repeat(hit.words, "DAILY", times=count)),)


def _clock(hit: Hit) -> When | None:
    found = hit.all(When)
    return found[-1] if found else None


def _repeat_length(hit: Hit) -> Sequence[Reading]:
    length = hit.one(Length)
    freq = _UNIT_FREQUENCIES.get(length.unit)
    if freq is None or length.count < 1 or (length.doubt and length.unit != "month"):
        doubt = Doubt(f"`{hit.words}` is no repetition that can be planned")
        return (("repeat", doubt),)
    return (("repeat", with_day(Repeat(hit.words, freq, length.count), _clock(hit))),)


def _named_days(days: tuple[str, ...]) -> Callable[[Hit], Sequence[Reading]]:
    return lambda hit: (("repeat", Repeat(hit.words, "WEEKLY", days=days, clock=_clock(hit))),)


def _on_days(hit: Hit) -> Sequence[Reading]:
    """Read "every Monday and Thursday at 6pm": days from each part, the clock from the one with it."""
    interval = 2 if hit.has("other", "second") else 1
    return (("repeat", repeat_on(hit.words, hit.all(When), interval)),)


def _days_or_starts(hit: Hit) -> Sequence[Reading]:
    """Read "Mondays and Thursdays at 6pm" as a repetition; anything else is two times."""
    whens = hit.all(When)
    if all(when.day is not None and when.day.plural for when in whens):
        return (("repeat", repeat_on(hit.words, whens)),)
    return tuple(("start", when) for when in whens)


def _monthly_weekday(hit: Hit) -> Sequence[Reading]:
    when = hit.all(When)[0]
    place = next((place for word, place in _ORDINALS.items() if hit.has(word)), None)
    if when.day is None or when.day.weekday is None or place is None:
        return (("repeat", Doubt(f"`{hit.words}` is no repetition that can be planned")),)
    code = f"{place}{RRULE_DAYS[when.day.weekday]}"
    clock = next((found for found in hit.all(When) if found.clock), None)
    return (("repeat", Repeat(hit.words, "MONTHLY", days=(code,), clock=clock)),)


def _monthly_day(hit: Hit) -> Sequence[Reading]:
    day = hit.all(When)[0].day if hit.all(When) else None
    if day is not None and day.weekday is not None and day.which == "last":
        code = f"-1{RRULE_DAYS[day.weekday]}"
        clock = next((found for found in hit.all(When) if found.clock), None)
        return (("repeat", Repeat(hit.words, "MONTHLY", days=(code,), clock=clock)),)
    if hit.has("last"):
        return (("repeat", Repeat(hit.words, "MONTHLY", monthdays=(-1,), clock=_clock(hit))),)
    if hit.has("first"):
        return (("repeat", Repeat(hit.words, "MONTHLY", monthdays=(1,), clock=_clock(hit))),)
    return (("repeat", repeat_on(hit.words, hit.all(When))),)


def _rrule(hit: Hit) -> Sequence[Reading]:
    text = next(str(item.value) for item in hit.items if item.symbol == "<rrule>")
    return (("repeat", Repeat(hit.words, "", rule=text.upper().removeprefix("RRULE:"))),)


_OPEN = "say it as a time of day or a date with one"
MOMENT_RULES = (
    *rule("deadline", _slot("deadline"), "({by}) [the] <when> [at the latest|latest|sharp]", "<when> at the latest"),
    *rule("deadline on a day", _day_then_clock, "[on] <when> [,] ({by}) <when>"),
    *rule(
        "deadline in a while",
        _ahead("deadline"),
        """
            [to finish|finish|done|finished|complete|it must finish|must finish|must be done|has to be done|be done
            |ready|have it done|and finish|get it done|finish it|get it there|completed] (within|in less than|in
            under|in at most|inside|in no more than|no later than) [the next] <dur> [from now]
            """,
        """
            (finish|done|finished|complete|must finish|must be done|has to be done|be done|ready|have it done|finish
            it|get it done|completed) in <dur>
            """,
        "({by}) <dur> from now",
    ),
    *rule("on some days", _days_or_starts, "[on] <when> (and|,|, and|&) [on] <when>"),
    *say(
        "a time with for",
        "deadline",
        Doubt("say at (it starts then) or by (it is done then)"),
        "for <when>",
    ),
    *rule("start", _slot("start"), "({begin}) [the] <when> [sharp|onwards|on|exactly|precisely]", "<when>"),
    *rule(
        "start in some days",
        _in_days,
        "[start|begin|run|starting|beginning|start it|run it|do it] in <dur> [time] [,] (at|from) <when>",
    ),
    *rule(
        "start in a while",
        _ahead("start"),
        """
            [start|begin|run|starting|beginning|start it|run it|kick off|kick it off|to start|do it|go|launch] in
            <dur> [from now|time]
            """,
        """
            (wait|wait for|delay {it} by|delay by|postpone {it} by|hold off for|delay it|start after|after waiting
            |delay {it} for|sleep) <dur> [before starting|first|and then start|then start]
            """,
    ),
    *say(
        "start left open",
        "start",
        Doubt(f"the start has no exact time: {_OPEN}"),
        """
            (soon|later|later today|later on|some time later|at some point|in a bit|in a while|in a moment|next time
            |tomorrow some time|sometime|eventually|when convenient|some other time|at a later time|at a convenient
            time|sometime <when>|some time <when>|shortly)
            """,
        "({begin}) [about|around|approximately|roughly] <num>",
        "({begin}) (about|around|approximately|roughly|circa) <when>",
        "(around|about|approximately|circa) <when>",
        "after <dur>",
        "as soon as (<any>|<ep>) (is|are) (free|up|available|idle|back|online)",
        "(when|once) (the|<any>|<ep>) [link|network|node|machine] (is|are) (free|up|available|back|online)",
    ),
    *say(
        "deadline left open",
        "deadline",
        Doubt(f"the deadline has no exact time: {_OPEN}"),
        "({by}) [about|around|approximately|roughly] <num>",
        "({by}) (about|around|approximately|roughly|circa) <when>",
        """
            ({by}) (then|the meeting|lunch|dinner|breakfast|dawn|sunrise|sunset|dusk|nightfall|the deadline|the
            weekend|the beamtime|the review|the next run|the night|the morning|the evening|the afternoon|the
            holidays|christmas|new year|easter|next shift|the next shift|lunchtime|bedtime|close|the end)
            """,
        "({by}) <dur>",
        "(until|till) <when>",
        "for <dur>",
        "(in|during|over|sometime in|some time in) the next <dur>",
        "(on time|in time)",
    ),
)

WINDOW_RULES = (
    *rule(
        "hours",
        _window,
        f"""
            {_WINDOW_ONLY} (between|from) <when> (and|to|until|till|-|through) <when> [only|every day|each day|daily
            |every night|each night]
            """,
        f"{_WINDOW_ONLY} <when> (-|to|until|till) <when> [only]",
        "(window|time window|hours) [:|is|=|of|to] [from|between] <when> (and|to|-|until) <when>",
    ),
    *rule(
        "hours",
        _ready_window,
        f"{_WINDOW_ONLY} [between|from] <hours> [only|every day|each day|daily]",
        "(window|time window|hours) [:|is|=|of|to] <hours>",
    ),
    *rule(
        "hours around",
        _outside,
        """
            [only] [run|run it|do it] (outside|outside of|not|never|except|avoid|avoiding|not during|but not)
            [between|from|the hours|of] (<hours>|<when> (and|to|-|until) <when>)
            """,
    ),
    *rule(
        "hours",
        _night,
        """
            [only] [run|run it|at|in|during] [the] (overnight|off-peak|off-peak hours|night|nights|quiet hours|night
            hours|nightly) [,|<open>|:|-|,|only] [that is|i.e.|so|so only] [between|from] (<hours>|<when>
            (and|to|until|till|-) <when>)
            [<close>]
            """,
    ),
    *say(
        "hours left open",
        "window",
        Doubt("say the hours as two clock times, such as between 22:00 and 05:00"),
        """
            [only] [run|run it|do it|transfer|do this|copy|start it|send it|schedule it|in|during] [in|during|at]
            [the] (off-peak|off peak|offpeak|overnight|night hours|quiet hours|off hours|off-hours|quiet period
            |quiet time|quiet times|off-peak hours|off peak hours|low-traffic hours|night-time|nighttime|slack hours
            |maintenance window|night window|after hours|after-hours|non-working hours)
            """,
        """
            [only] (during|outside|outside of|not during|avoid|avoiding|never during|except during|not in|out of)
            [the|our] (day|daytime|night|working hours|office hours|business hours|work hours|peak hours|peak
            |weekends|weekend|weekdays|working day|nights|peak times|busy hours|rush hour|week|evening|morning)
            """,
        """
            [only] (at night|by night|by day|at weekends|on weekends|at the weekend|on the weekend|over the weekend
            |nights only|weekends only|in the evening|in the evenings|in the mornings|in the morning|in the
            afternoon|at nighttime|at night time|during nights|on week days only|at off-peak times|at quiet times)
            [only]
            """,
        "when (the network|the link|nobody|it|no one|traffic) is (quiet|idle|working|low|free|not busy|less busy)",
        "(between|from) <num> (and|to|-|until) (<num>|<when>)",
        "(between|from) <when> (and|to|-|until) <num>",
    ),
    *say(
        "hours of some days",
        "window",
        Doubt("hours can't be limited to some days: leave the days out, or use a repetition"),
        f"{_WINDOW_ONLY} (between|from) <when> (and|to|until|-) <when> [on] (weekdays|weekends|<when>)",
        f"{_WINDOW_ONLY} <hours> [on] (weekdays|weekends)",
    ),
)

_EVERY = "every|each"
REPEAT_RULES = (
    *rule(
        "repetition",
        _repeat,
        f"({_EVERY}) [single|other|second] {_PERIOD} [at|from|on] [the] [<when>]",
        f"once (every|each|a|per) {_PERIOD} [at|on] [<when>]",
        """
            [repeat|repeating|run|run it|make it|recurring|repeat it|repeat this] (hourly|daily|nightly|weekly
            |monthly|yearly) [at|on] [<when>]
            """,
        f"({{begin}}) <when> ({_EVERY}) [single|other|second] {_PERIOD}",
        "[{begin}] <when> (daily|nightly|weekly|monthly|hourly)",
        f"<when> ({_EVERY}) [single|other|second] {_PERIOD}",
    ),
    *rule(
        "repetition in steps",
        _repeat_length,
        f"({_EVERY}|once every|repeat every|repeating every|once) <dur> [at|on|starting at] [<when>]",
        f"[at|on] <when> ({_EVERY}|once) <dur>",
    ),
    *rule(
        "on weekdays",
        _named_days(_WEEKDAYS),
        f"(({_EVERY}) (weekday|week day|workday|work day)|[on] weekdays|on workdays) [at|from] [<when>]",
        f"({{begin}}) <when> (({_EVERY}) (weekday|week day|workday)|on weekdays|weekdays)",
    ),
    *rule(
        "at weekends",
        _named_days(_WEEKEND),
        f"({_EVERY}) weekend [at] <when>",
        f"({{begin}}) <when> ({_EVERY}) weekend",
        f"({_EVERY}) weekend",
    ),
    *rule(
        "on some days",
        _on_days,
        f"({_EVERY}) [other|second] <when>",
        f"({_EVERY}) <when> (and|,|, and|&) [every|on] <when>",
        f"({_EVERY}) <when> , <when> (and|, and|,) <when>",
        f"({_EVERY}) <when> [,] at <when>",
        f"({{begin}}) <when> [on] ({_EVERY}) <when>",
        "(weekly|once a week) on <when> and <when>",
    ),
    *rule(
        "some weekday of the month",
        _monthly_weekday,
        f"""
            [on] ([the]|{_EVERY}) (first|1st|second|2nd|third|3rd|fourth|4th|last) <when> (of (every|each|the) month
            |each month|every month|monthly) [at] [<when>]
            """,
        "(monthly|every month|each month) [on] [the] (first|1st|second|2nd|third|3rd|fourth|4th|last) <when>",
    ),
    *rule(
        "some day of the month",
        _monthly_day,
        "[on] [the] <when> of (every|each|the) month [at] [<when>]",
        "[on] the (first|last) [day] of (every|each|the) month [at] [<when>]",
        "(monthly|every month|each month) on the (first|last) [day] [at] [<when>]",
    ),
    *rule("RRULE", _rrule, "[repeat|repeating|repeats|rrule|rrule :] <rrule>"),
    *rule(
        "several times a day",
        _times_a_day,
        "(twice|<num> times|three times|four times) (<dur>|(a|per|every|each) day)",
        "(twice|three times|four times|<num> times) daily",
    ),
    *say(
        "repetition left open",
        "repeat",
        Doubt("say how often and at what time, such as every day at 02:00"),
        """
            (regularly|periodically|repeatedly|often|frequently|from time to time|on a schedule|routinely|every now
            and then|repeat this|on a regular basis|as needed|every so often)
            """,
        f"(several times|a few times|many times) [a|per|every|each] ({_PERIOD}|<dur>)",
        f"""
            ({_EVERY}) (business day|working day|beamtime|shift|run|quarter|so often|hour or so|few days|few hours
            |couple of days|couple of hours|time|other weekend|full moon|monday morning|friday night|<num>)
            """,
        f"({_EVERY}) [other] {_PERIOD} at <num>",
        "(twice|three times|four times|<num> times) (a|per|every|each) (hour|night|week|month|year|minute|<when>)",
        "(quarterly|biweekly|bi-weekly|fortnightly|semiweekly|bimonthly|twice weekly|annually)",
        "every <when> (until|till|through) <when>",
        f"({_EVERY}) [other] {_PERIOD} [at|from] [<when>] (until|till|for) (<when>|<dur>|further notice)",
    ),
)

RULES = (*MOMENT_RULES, *WINDOW_RULES, *REPEAT_RULES)
