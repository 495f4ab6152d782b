"""Recognises rate limits: how fast a transfer may go, and ways of saying so that settle nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Amount, Doubt
from headrace.guardrails.language.phrases import Hit, Reading, rule, say

if TYPE_CHECKING:
    from collections.abc import Sequence

SLOT = "rate_limit_bps"
_PART_OF_DAY = """
    ((during|in|at|on|over|throughout|within|outside|outside of) [the] (day|daytime|night|nighttime|night time
    |working hours|office hours|business hours|work hours|peak hours|peak|morning|mornings|afternoon|afternoons
    |evening|evenings|weekend|weekends|weekdays|nights|week|workday|working day)|overnight|by day|by night|for the
    first <dur>|while people are working|when people are working)
    """
_HOURS = "[only] (until|till|between <when> and|from <when> (to|until|till)) <when>|[only] <hours>|for <dur>"
_LINK = "of [the|our|my] [available|total|full] (link|bandwidth|line|pipe|network|capacity|uplink)"


def _limit(hit: Hit) -> Sequence[Reading]:
    return ((SLOT, hit.one(Amount)),)


def _doubt(message: str) -> Doubt:
    return Doubt(f"{message}; write the limit for the whole transfer, such as 2 Gb/s")


def _size_as_rate(hit: Hit) -> Sequence[Reading]:
    words = hit.one(Amount).words
    return ((SLOT, _doubt(f"`{words}` is an amount of data, not a rate")),)


RULES = (
    *rule(
        "rate limit",
        _limit,
        "[and|but] [{cap}] (<rate>|<qty>) [{link}]".replace("{link}", _LINK),
        """
            [a|with a|with an] (<rate>|<qty>) [rate|speed|bandwidth] (limit|cap|max|maximum|tops|ceiling|at most|or
            less|or slower)
            """,
        f"<qty> {_LINK}",
    ),
    *rule("not that rate", lambda _hit: (), "(instead of|rather than) (<rate>|<qty>|<num>)"),
    *rule(
        "a size where a rate belongs",
        _size_as_rate,
        """
            (at|limit|cap|limit to|cap at|limit {it} to|cap {it} at|throttle to|throttle {it} to|limited to|capped
            at|rate limit|rate|bandwidth|bandwidth limit|speed|rate limit of) <size>
            """,
    ),
    *say(
        "rate for part of the day",
        SLOT,
        _doubt("a limit for part of the day can't be set"),
        f"[{{cap}}] (<rate>|<qty>) [but] [only] ({_PART_OF_DAY}|{_HOURS})",
        f"{_PART_OF_DAY} [,] {{cap}} (<rate>|<qty>)",
    ),
    *say(
        "number without a unit",
        SLOT,
        _doubt("the limit has no unit"),
        """
            (limit|cap|limit to|cap at|limit of|cap of|limit {it} to|cap {it} at|throttle to|throttle {it} to|rate
            limit|rate limit of|rate limit :|max rate|bandwidth|bandwidth limit|speed limit|rate|limit :|rate :
            |speed|max speed|maximum rate|rate limited to|limited to|capped at) <num>
            """,
    ),
    *say(
        "least rate",
        SLOT,
        _doubt("a lowest rate can't be promised"),
        """
            [with] (at least|no less than|not less than|minimum|minimum of|no slower than|not slower than|above|over
            |more than|faster than|a minimum of|not below|min) (<rate>|<qty>)
            """,
    ),
    *say(
        "vague rate",
        SLOT,
        _doubt("the limit is not exact"),
        "[{cap}] (about|around|roughly|approximately|circa|approx|nearly|almost|some|~|ca|more or less) (<rate>|<qty>)",
        "[{cap}] between (<rate>|<num>|<qty>|<size>) and (<rate>|<qty>|<size>)",
        "[{cap}] (<rate>|<num>|<qty>) (to|or|-) (<rate>|<qty>)",
        "[{cap}] (<rate>|<qty>) (or so|on average|average|each|per file|per stream|if possible|preferably|ideally|ish)",
        "(double|halve|triple|quadruple) [{it}|the] [rate|limit|speed|bandwidth|cap]",
        """
            (speed|hurry) [{it}|things] up|slow [{it}|things] down|make {it} (faster|slower|quicker)|go (faster
            |slower|easy)|faster [please]|slower [please]
            """,
        """
            (as fast as (possible|you can|it can|it will go)|at full speed|full speed|flat out|at line rate|at top
            speed|at maximum speed|at max speed|maximum speed|max speed|full throttle)
            """,
        """
            (gently|go easy on the (network|link)|{not} (saturate|hog|clog|flood|choke) [the|our] (network|link|line
            |pipe|uplink)|easy on the (network|link)|be gentle|slowly|quickly)
            """,
        "(raise|lower|increase|reduce|change) the (rate|limit|speed|bandwidth|cap|rate limit)",
        "[{cap}] half [of] [the|our|my] (link|bandwidth|line|pipe|network|capacity)",
        "[{cap}] (half|full|quarter|a quarter of|minimum|reduced|low|high|top|normal) [the] (speed|rate|throughput)",
        "use [the] full (bandwidth|link|line|pipe)|with full bandwidth",
    ),
    *say(
        "no rate limit",
        "clear",
        SLOT,
        """
            (no|without [a|any]|with no|remove|lift|drop|clear|delete|take off|get rid of|forget) [the|any] [rate
            |bandwidth|speed] (limit|cap|throttle|throttling|limits|ceiling)
            """,
        "(unlimited|uncapped|unthrottled|{not} (limit|cap|throttle) [{it}|the rate|the speed])",
        "(no|without) rate limiting",
    ),
)
