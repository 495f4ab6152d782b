"""Recognises what to do: verbs and command names. Verbs with two meanings are doubts."""

from __future__ import annotations

from headrace.guardrails.intents.draft import Place
from headrace.guardrails.language.phrases import Rule, rule, say
from headrace.guardrails.language.verbs import COPY, MOVE, STREAM, SYNC, UNSURE

_COMMANDS = {
    "copy": """
        cp|scp|pscp|bbcp|rclone copy|rclone copyto|aws s3 cp|s3 cp|gsutil cp|mc cp|azcopy copy|azcopy cp|globus
        transfer|globus-url-copy|gfal-copy|xrdcp|headrace copy|headrace cp|s3cmd put|s3cmd get|fdt|rcp|back up
        """,
    "sync": """
        aws s3 sync|s3 sync|rclone sync|gsutil rsync|mc mirror|azcopy sync|headrace sync|s3cmd sync|lftp mirror
        |bring in sync
        """,
    "move": "mv|rclone move|rclone moveto|aws s3 mv|s3 mv|mc mv|headrace move|gsutil mv",
    "stream": "live stream|live-stream",
}
_OVER = "[over|across|out|up|down|off|back]"
_BEING = """
    to be|be|gets|get|have it|have them|get it|get them|must be|should be|needs to be|need to be|has to be|have to
    be|is to be|are to be|ought to be|wants to be|shall be|can be|needs|need|needs being
    """
_STARTING = "start|begin|kick off|try|consider|please start|start by|help me with"


_DOING = """
    schedule|do|run|start|make|set up|perform|kick off|begin|launch|queue|queue up|create|i need|i want|we need|we
    want|plan|initiate|trigger|i'd like|we'd like|submit|request|prepare|arrange
    """


def _forms(verbs: tuple[tuple[str, str, str], ...]) -> tuple[str, ...]:
    bases = "|".join(base for base, _, _ in verbs)
    participles = "|".join(participle for _, participle, _ in verbs)
    gerunds = "|".join(gerund for _, _, gerund in verbs)
    return (
        f"({bases}) {_OVER}",
        f"({_BEING}) ({participles}) {_OVER}",
        f"({_STARTING}) ({gerunds}) {_OVER}",
        f"({_DOING}) (a|an|another|one) [recurring|scheduled|one-off|quick] ({bases}) [of|from|job]",
        f"[a|an|the] [recurring|scheduled] ({bases}) of",
    )


def _politely(verbs: tuple[tuple[str, str, str], ...]) -> str:
    """Write "would you mind copying": a request, though it ends in a question mark."""
    gerunds = "|".join(gerund for _, _, gerund in verbs)
    return f"(would you mind|do you mind|mind) ({gerunds}) {_OVER}"


def _in_need(action: str, verbs: tuple[tuple[str, str, str], ...]) -> list[Rule]:
    """Rules for "X needs copying" and "X needs copying to Y"."""
    gerunds = "|".join(gerund for _, _, gerund in verbs)
    needing = f"(needs|need|requires|require|wants) ({gerunds}) {_OVER}"
    return [
        *say(f"in need: {action}", "action", action, needing),
        *rule(
            f"in need: {action}",
            lambda hit: (("action", action), ("destination", hit.one(Place))),
            f"{needing} (to|into|onto|over to) {{place}}",
        ),
    ]


TRANSFER_VERBS = frozenset(base for verbs in (COPY, SYNC, MOVE, STREAM, UNSURE) for base, _, _ in verbs) | {
    "cp",
    "mv",
    "scp",
}
UNSURE_VERBS = frozenset(base for base, _, _ in UNSURE)


def _wanted(action: str, verbs: tuple[tuple[str, str, str], ...]) -> list[Rule]:
    """Rules for "I want X copied": the verb with its object before it."""
    participles = "|".join(participle for _, participle, _ in verbs)
    return rule(
        f"wanted: {action}",
        lambda hit: (("action", action), ("place", hit.one(Place))),
        f"[i|we] (want|need|would like|get|have|like) {{place}} [to be] ({participles}) {_OVER}",
    )


RULES = (
    *_wanted("copy", COPY),
    *_wanted("sync", SYNC),
    *_wanted("move", MOVE),
    *_wanted("stream", STREAM),
    *say("asking to copy", "action", "copy", _politely(COPY)),
    *say("asking to sync", "action", "sync", _politely(SYNC)),
    *say("asking to move", "action", "move", _politely(MOVE)),
    *_in_need("copy", COPY),
    *_in_need("sync", SYNC),
    *_in_need("move", MOVE),
    *say("copy", "action", "copy", *_forms(COPY), f"({_COMMANDS['copy']}) {_OVER}"),
    *say("sync", "action", "sync", *_forms(SYNC), f"({_COMMANDS['sync']})"),
    *say("move", "action", "move", *_forms(MOVE), f"({_COMMANDS['move']})"),
    *say("stream", "action", "stream", *_forms(STREAM), f"({_COMMANDS['stream']})"),
    *say(
        "verb with two meanings",
        "action",
        "unclear verb",
        *_forms(UNSURE),
    ),
    *say(
        "while it is written",
        "live",
        "",
        """
            (as|while|when|whenever) (it's|it is|they are|they're|files are|the files are|data is|the data is|new
            files are|new data is|frames are|files) [being] (written|produced|created|recorded|acquired|generated
            |arriving|appear|arrive|coming in|captured|taken|collected)
            """,
        """
            (live|in real time|in realtime|in real-time|real time|real-time|continuously|as they appear|as it
            appears|as they come in|as it comes in|as they arrive|as it arrives|as data arrives|on the fly|as it
            lands|as they land)
            """,
    ),
)
