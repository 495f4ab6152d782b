"""Recognises where one step ends and the next begins."""

from __future__ import annotations

from headrace.guardrails.language.phrases import rule, say

_DONE = "done|finished|complete|completed|over|through|there|copied|transferred|arrived|in place|ready|successful|moved"
_THAT = """
    that|it|this|the copy|the transfer|the first|the first one|the sync|the move|the first step|that one|everything
    |which
    """
_CHECKED = "verified|checked|checksummed|validated"

RULES = (
    *say(
        "then",
        "step",
        "",
        """
            [and|,|;|.] (then|next|after that|afterwards|subsequently|followed by|finally|after which|thereafter|and
            after|second|secondly|lastly|in a second step|as a second step|once done|when done|once finished|when
            finished|once complete|when complete|once completed|upon completion|on completion|on success|if
            successful) [,] [then]
            """,
        f"""
            [and|,|;|.] [then|and then] (when|once|after|as soon as) ({_THAT}) (is|has|'s|has been|are) ({_DONE})
            [,] [then]
            """,
        f"[and|,|;|.] [then|and then] (when|once|after|as soon as) (that's|it's|this is|they're) ({_DONE}) [,] [then]",
        "[and|,] then",
    ),
    *rule(
        "then, once verified",
        lambda _hit: (("verify", "default"), ("step", "")),
        f"[and|,|;|.] [then|and then] (when|once|after|as soon as) ({_THAT}) (is|has been|are) ({_CHECKED}) [,] [then]",
        f"""
            [and|,|;|.] [then|and then] (when|once|after|as soon as) (that's|it's|this is|they're) ({_CHECKED}) [,]
            [then]
            """,
        f"[and|,|;|.] [then|and then] (when|once|after) ({_CHECKED}|verification) [,] [then]",
    ),
)
