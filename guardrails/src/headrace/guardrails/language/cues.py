"""Cue words without anything that can follow them: they say which slot the next words are about."""

from __future__ import annotations

from headrace.guardrails.language.phrases import say

CUES = (
    *say(
        "cue: where to",
        "cue",
        "destination",
        "to|into|onto|towards|-> [the]|to the|to my|to our|somewhere|someplace|anywhere|elsewhere|to some|to somewhere",
    ),
    *say("cue: where from", "cue", "source", "from|out of|off|from the|from my|from our|off of"),
    *say(
        "cue: which files",
        "cue",
        "include",
        "only|just the|only the|include|including|only include|nothing but|matching",
    ),
    *say(
        "cue: not which files",
        "cue",
        "exclude",
        """
            except|except for|skip|exclude|excluding|without|ignore|omit|leave out|skipping|apart from|other than
            |but not|skip the|exclude the|except the|without the|ignore the|all but|everything but|filter out
            |--exclude
            """,
    ),
    *say(
        "cue: rate",
        "cue",
        "rate_limit_bps",
        """
            limit|cap|limit {it} to|limit to|cap {it} at|cap at|throttle|throttle {it} to|no faster than|rate limit
            |bandwidth|speed|--bwlimit|limited to|capped at|at most|limit {it}|cap {it}|throttle {it}
            """,
    ),
    *say(
        "cue: deadline",
        "cue",
        "deadline",
        """
            by|before|finish by|finish before|done by|no later than|deadline|due|must finish by|within|ready by
            |deadline is|finish|must finish
            """,
    ),
    *say(
        "cue: start",
        "cue",
        "start",
        """
            start at|starting|start on|schedule for|schedule it for|begin at|not before|after|wait until|kick off|at
            |on|start|schedule it|delay it until|postpone it until|delay it|postpone it|delay|postpone|scheduled for
            """,
    ),
    *say(
        "cue: repetition",
        "cue",
        "repeat",
        "every|each|repeat|repeating|repeat it|recurring|repeated|make it recurring|make it repeat",
    ),
    *say("cue: hours", "cue", "window", "between|during|window|only between|only during"),
    *say(
        "cue: verification",
        "cue",
        "verify",
        "verify with|verify using|checksum with|verified with|verify against|check with",
    ),
    *say(
        "cue: attributes",
        "cue",
        "preserve",
        "preserve|keep|preserving|keeping|keep the|preserve the|keep all|preserve all",
    ),
    *say("cue: priority", "cue", "priority", "priority|prio|with priority|set priority to"),
    *say("cue: smallest size", "cue", "min_size", "bigger than|larger than|greater than|over"),
    *say("cue: largest size", "cue", "max_size", "smaller than|less than|under"),
    *say(
        "cue: changed after",
        "cue",
        "modified_after",
        "newer than|modified since|changed since|modified after|changed after|since",
    ),
    *say("cue: changed before", "cue", "modified_before", "older than|modified before|changed before"),
    *say(
        "cue: on conflict",
        "cue",
        "on_conflict",
        "on conflict|in case of conflict|if it exists|if they exist|if files exist",
    ),
    *say("cue: encryption", "cue", "encryption", "encryption"),
)
