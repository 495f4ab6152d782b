"""Recognises orders about transfers that exist: cancel, pause, resume, status, list, and which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, When
from headrace.guardrails.language.phrases import Hit, Reading, choices, rule, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NOUN = "(transfers|transfer|jobs|job|copies|uploads|downloads|tasks|task|moves|syncs|ones|runs|requests|plans)"
_MY = "[the|my|our|of my|of the|of our]"
_STATES = {
    "failed": "failed|failing|that failed|which failed|that have failed|broken|errored|that has failed",
    "running": """
        running|in progress|that are running|currently running|that is running|ongoing|in flight|in-progress|still
        running|which are running|in-flight|under way|underway
        """,
    "queued": "queued|that are queued|in the queue|enqueued|that is queued|still queued|queued up",
    "paused": "paused|that are paused|suspended|that is paused|held",
    "completed": """
        completed|that completed|that have completed|successfully completed|that are complete|complete|successful
        |that succeeded|succeeded
        """,
    "cancelled": "cancelled|canceled|that were cancelled|aborted|killed|that were canceled",
}
_STATE = "(" + "|".join(_STATES.values()) + ")"
_VAGUE_STATE = """
    (active|finished|done|pending|waiting|stuck|stalled|open|unfinished|slow|current|recent|old|new|scheduled|hung
    |dead|blocked|idle|incomplete|outstanding|upcoming|interrupted|remaining|live|verified|unverified|overdue|late
    |bad|problematic|inactive|ended|terminated|crashed|happening|going on|in the works|ready)
    """
_SELECTIONS = {
    "largest": "biggest|largest",
    "smallest": "smallest",
    "oldest": "oldest",
    "newest": "newest",
    "slowest": "slowest",
    "fastest": "fastest",
}
_ONE = "[{state}] [transfer|one|job|copy|upload|download|task|sync|move|run]".replace("{state}", _STATE)
_WHO = """
    ([transfer|job|the|plan|the transfer|the job|my transfer|number|no|id|transfer id] (<id>|<ref>) [transfer|job
    |copy|run|upload|plan|sync|move]|it|this|that|them|these|those|it all|that one|this one|[the|this|that|my|our]
    (plan|request)|(this|that|my) (transfer|copy|job|upload|sync|move))
    """


def _action(action: str) -> Callable[[Hit], Sequence[Reading]]:
    """Read the verb, and what the same phrase says of the target."""
    return lambda hit: (
        ("action", action),
        *(reading for reading in _about(hit) if reading[0] != "state" or action != "status"),
    )


def _about(hit: Hit) -> list[Reading]:
    found: list[Reading] = []
    for item in hit.items:
        if item.symbol == "<id>":
            found.append(("id", str(item.value)))
        elif item.symbol == "<ref>":
            found.append(("named", str(item.value)))
    if not found and hit.has("it", "this", "that", "them", "they", "plan", "request"):
        found.append(("it", hit.words))
    return [*found, *_state_of(hit)]


def _state_of(hit: Hit) -> list[Reading]:
    said = f" {hit.line}"
    for state, spellings in _STATES.items():
        if any(f" {spelling} " in said for spelling in choices(spellings)):
            return [("state", state)]
    return []


def _selection(hit: Hit) -> Sequence[Reading]:
    name = next(name for name, words in _SELECTIONS.items() if hit.has(*choices(words)))
    return (("select", name), *_state_of(hit))


def _states(hit: Hit) -> Sequence[Reading]:
    return (*_state_of(hit), ("noun", hit.words))


def _all(hit: Hit) -> Sequence[Reading]:
    return (("all", hit.words), *_state_of(hit))


def _list(hit: Hit) -> Sequence[Reading]:
    return (("action", "list"), *([("all", hit.words)] if hit.has("all", "every") else []), *_state_of(hit))


def _since(hit: Hit) -> Sequence[Reading]:
    return (("since", hit.one(When)),)


VERB_RULES = (
    *rule(
        "cancel",
        _action("cancel"),
        "(cancel|kill|abort|terminate|cancelling) [{who}]".replace("{who}", _WHO),
    ),
    *rule(
        "pause",
        _action("pause"),
        f"(pause|hold|suspend|put on hold|hold off|hold off on|pausing|freeze) [{_WHO}]",
        f"put {_WHO} on hold",
    ),
    *rule(
        "pause all",
        lambda hit: (("action", "pause"), ("all", hit.words)),
        f"put (everything|all|all of them|all {_NOUN}|all [of] {_MY} {_NOUN}|them all) on hold",
    ),
    *rule(
        "status of something unknown",
        lambda hit: (("action", "status"), ("id", Doubt(f"`{hit.words}` names no transfer: give its id"))),
        """
            (how is|how's|hows|how far is|where is|where's) [the|my] <any> [transfer|copy|job|run] (doing|going
            |coming along|getting on|progressing|at)
            """,
        "(is|has) [the|my] <any> [transfer|copy|job|run] (done|finished|complete|completed|arrived|ready|there) [yet]",
    ),
    *rule(
        "resume",
        _action("resume"),
        f"""
            (resume|continue|unpause|un-pause|carry on with|carry on|go on with|continue with|resuming|pick up)
            [{_WHO}] [again]
            """,
    ),
    *rule("stop", lambda hit: (("action", "stop"), *_about(hit)), f"(stop|halt|stopping) [{_WHO}]"),
    *say(
        "order with two meanings",
        "action",
        "unclear order",
        """
            restart|retry|rerun|re-run|redo|try again|quit|end|finish|drop|remove|delete|shut down|interrupt|undo
            |revert|roll back|reset|re-do|requeue|re-queue|kick|revive|wake up|repeat it now
            """,
    ),
    *rule(
        "status",
        _action("status"),
        f"""
            [please|can i have|can i see|i want|i need|what is|what's|whats|show|show me|give me|get|get me|check
            |check the|tell me|report|report the|query|print|display|any] [me] [the|its|current|a|my|an] [current
            |transfer] (status|progress|state|eta|status update|progress report|status report) [of|for|on|about
            |check|report|update|with|:|to] [{_WHO}|everything|all transfers|my transfers]
            """,
        f"""
            (how is|how's|hows|how are|how goes|how far is|how far along is|how far|where is|where's|wheres|how well
            is|how fast is|what is up with|what's up with) {_WHO} [doing|going|coming along|getting on|getting along
            |at|progressing|looking|now|along|running|so far] [now|so far|today|right now]
            """,
        f"""
            (is|are|has|did|have|was) {_WHO} (done|finished|finish|complete|completed|running|ready|still running
            |moving|there yet|over|still going|going|started|through|arrived|working|done copying|finished yet|stuck
            |paused|alive|gone through) [yet|now|already]
            """,
        f"""
            (how long|how much longer) (will|does|is|until|till) {_WHO} [still] [take|need|be|last|left|finish
            |finishes|finished|done|is done|is finished|going to take]
            """,
        f"(when) (will|does|is) {_WHO} [be] (finish|done|complete|ready|finished|end|over|through|going to finish)",
        f"(how much is left|how much is done|how much is left of|how far along|how much of) [{_WHO}] [is left|is done]",
        f"""
            (check on|check up on|check|look at|report on|any news on|any news about|any news of|what about|status
            of|any progress on|what is happening with|what's happening with|tell me about|track|how about) {_WHO}
            """,
        f"what (happened|has happened|is happening|is going on|is up|is wrong|went wrong) (to|with) {_WHO}",
        f"what (became|has become) of {_WHO}",
        """
            are we there yet|how are things going|how are things|how goes it|what is the eta|when will it be done|is
            it done|any progress|how long left|how long to go|time left|time remaining|how's it going|how is it
            going|how is it going so far
            """,
    ),
    *rule(
        "list",
        _list,
        f"""
            (show|list|display|give|give me|tell|tell me|print|see|view|enumerate|let me see|can i see|i want to see
            |what are|which are|get|find) [me] [a list of|list of] [the|all|all the|all my|my|our|only|just|every
            |any|only the|all of my|all of the|about] [my|the] [{_STATE}] {_NOUN} [{_STATE}] [that are|which are]
            [there]
            """,
        f"""
            (show|list|display) [me] [the|all|everything|everything that is|all that is|what is|what's|whatever is
            |what|everything that] [currently|still] {_STATE}
            """,
        f"""
            (what's|what is|whats|what are|which {_NOUN} are|which {_NOUN} is|which are|what {_NOUN} are|anything|is
            anything|are any {_NOUN}|is there anything|are there any|which {_NOUN}|what {_NOUN}|which ones are|what
            all is|which {_NOUN} have|any|what has|what have|what|which ones|which one|what just|did any {_NOUN}|did
            anything) [still|currently|now|just|of mine|right now] {_STATE} [{_NOUN}]
            """,
        f"""
            (which|which ones|what|how many|any) of (my|the|our) {_NOUN} (are|have|is|has)
            [still|currently|now|already|been] {_STATE}
            """,
        f"""
            (what|which) {_NOUN} (do i have|are there|have i got|do we have|exist|are mine|have i started|are on)
            [going|running|at the moment|now|right now]
            """,
        "(the list of|list of|list|a list of) [my|the] (transfers|jobs) [please]|list",
    ),
    *rule(
        "list, state left open",
        lambda _hit: (
            ("action", "list"),
            ("state", Doubt("say failed, running, queued, paused, completed or cancelled")),
        ),
        f"""
            (show|list|display|give me|what's|what is|whats|which|what|any|anything) [me] [the|all|all the|my|all
            my] [still|currently] {_VAGUE_STATE} [{_NOUN}]
            """,
        "(show|list|display|what's in|what is in|look at) [me] [the] (queue|history|log|backlog)",
    ),
)

TARGET_RULES = (
    *rule(
        "one transfer",
        lambda hit: tuple(_about(hit)),
        "[transfer|job|the transfer|the job|number|id|transfer id|plan] <id> [transfer|job]",
        "[the] <ref> [transfer|job|copy|run|upload|plan|sync|move]",
    ),
    *rule(
        "all",
        _all,
        f"(all|every|each|all of) {_MY} [{_STATE}] {_NOUN} [{_STATE}] [that are|which are|that is]",
        f"""
            (everything|all|them all|all of them|all of it|the lot|each one|every one|everything {_STATE}|everything
            that is {_STATE}|everything that's {_STATE}) [that is|that's|which is|that are]
            """,
        f"all {_MY} [{_STATE}] {_NOUN} [{_STATE}]",
    ),
    *rule(
        "selection",
        _selection,
        f"""
            [the|my|our] (biggest|largest|smallest|oldest|newest|slowest|fastest) [of my|of the|of all|of all the]
            {_ONE}
            """,
    ),
    *say(
        "selection left open",
        "select",
        Doubt("say which transfer: give its id, or all, the largest, the smallest, the oldest or the newest"),
        f"""
            (the|my|our) (latest|most recent|last|first|second|third|next|other|previous|same|final|two <any>|last
            two|first two|two biggest|three biggest|last few|last three|top two|top three|former|latter|second
            biggest|most important|least important|worst|best|earlier|two largest|three largest|last couple of)
            {_ONE} [transfers|ones|jobs]
            """,
        "[the|my|our] (<num>|two|three|four|five) [biggest|largest|oldest|newest|smallest] (transfers|ones|jobs)",
        """
            both|either|neither|(both|either|neither|most|some|half|several|a few|one|any|a couple|none) (of them|of
            these|of those|of the transfers|of my transfers|transfers|jobs|ones)
            """,
        f"[the|my|our|all|any] {_VAGUE_STATE} {_NOUN}",
        "(someone|somebody|anyone|everyone|everybody|other people|other users) ['s] transfers",
    ),
    *rule(
        "state",
        _states,
        f"[the|my|our|any|only|just|those] {_STATE} {_NOUN}",
        f"[the|my|our|any|those] {_NOUN} {_STATE}",
        f"(the|any|those|only|just) {_STATE}",
    ),
    *say(
        "transfers",
        "noun",
        "",
        f"(the|my|our|any|those|these|this|that) {_NOUN}",
        "transfers|jobs|uploads|downloads|tasks",
    ),
    *say("it", "it", "", "it|that|this|them|these|those|that one|this one|it all|they"),
    *say("there", "there", "", "from there|from there on|out of there"),
    *rule(
        "since",
        _since,
        "since <when>",
        "<when> (onwards|onward|and later|until now)",
    ),
)


RULES = (*VERB_RULES, *TARGET_RULES)
