"""Recognises talk about the last plan: yes, but also, instead, the same for another run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt
from headrace.guardrails.language.phrases import Hit, Reading, rule, say

if TYPE_CHECKING:
    from collections.abc import Sequence

_AGAIN = """
    [and|now|please|ok] [do] [exactly] [the] (same thing|same again|same|same transfer|same copy|same plan|same one
    |same job|same deal|same as before|same as last time|same as <ref>|same settings|likewise|ditto) [again] (for
    |with|on|but for|but with|just for|only for)|(repeat|do|redo|run|copy) (that|it|this|the same|the same thing|the
    same transfer) [again] (for|with|but for)|(again|and again|now|once more|another one|one more) for|also do [it
    |that] for|now do|now the same for
    """


def _same(hit: Hit) -> Sequence[Reading]:
    item = hit.items[-1]
    return (("same", item.text),)


RULES = (
    *say("yes", "confirm", "yes", "yes|yep|yeah|yup|y"),
    *say("heard", "confirm", "heard", "ok|okay|right|alright|all right|great|sure|fine|good|perfect|very well"),
    *say(
        "go ahead",
        "confirm",
        "",
        """
            yes please|go ahead|go for it|do it|do that|confirm|confirmed|i confirm
            |proceed|please proceed|please do|sounds good|looks good|looks good to me|sounds good to me|lgtm|that's
            right|that is right|that's correct|correct|all good|ship it|let's go|let us go|go|make it so|start it
            |run it|yes do it|yes go ahead|ok go|that's fine|agreed|absolutely|definitely|of
            course|submit it|submit|yes go|ok do it|sounds right|looks right|aye|affirmative|by all
            means|go on|execute|execute it|go ahead please|ok then|that works|works for me|yes confirm|confirm it
            |confirm that|confirm the plan|confirm this|go ahead with it|proceed with it|proceed with that|yes
            that's right|start the transfer|submit the plan|run the plan|start now|start it now|do it now|run it now
            |go now
            """,
    ),
    *say(
        "also",
        "marker",
        "also",
        """
            also|and also|plus|as well|too|additionally|in addition|on top|on top of that|oh and|and|, too|moreover
            |furthermore|and another thing|another thing|one more thing
            """,
    ),
    *say(
        "instead",
        "marker",
        "instead",
        """
            instead|rather|i meant|i mean|make it|make that|change it|change the plan|change it to|change that
            to|change it
            so that|set it|set it to
            |let's make it|switch to|switch it to|change to|update it|update it to|adjust it|correction
            |please change it|for this one|this time|modify it|edit it|amend it|sorry i meant|one change
            |with one change|it should be|it should|it must|it must be|it needs to be|it has to be|and make it
            |use it|let it|have it|this should|for the last one|for
            the last plan|in the last plan|the last plan|the plan|the last one|last plan|make this|the last transfer
            |the same transfer|please make it|could you make it|can you make it|can we make it
            """,
    ),
    *say(
        "mild turn",
        "turn",
        "",
        "but|however|though|well|so|now|let's|make sure it|make sure it's|make sure it is",
    ),
    *say("turn that corrects", "turn", "corrects", "actually|hmm|hm|oh|ah|hmm actually"),
    *say(
        "taken back",
        "retract",
        "",
        """
            no wait|wait [a (second|minute|moment|sec)]|[on] second thought|on second thoughts|[i|we] changed (my|our)
            mind|(i|we) have changed (my
            |our) mind|(i've|we've) changed (my|our) mind|change of (plan|plans)|sorry|oops|whoops|scratch that|scratch
            it|strike that|strike it|no actually|actually no|hold on|hang on|hmm no|oh wait|oh no|no sorry
            |sorry no|oh sorry|oh sorry no|oops sorry|oops no|please no|wait no|hold it|cancel that thought|my
            mistake|my
            bad|i take it back|i take that back|take that back|not that|better not|rather not
            """,
    ),
    *say("no", "polarity", "no", "(no|nope|nah) (,|.|!|;|-|<end>)", "no no"),
    *say("a standing order", "repeat", Doubt("say how often, and at what time"), "from now on|always|henceforth"),
    *say(
        "a question",
        "action",
        Doubt("say what to do with the plan: confirm it, change it or cancel it"),
        "(yes|yep|yeah|ok|okay|sure|confirm|confirmed|right|correct|go|fine|good|y|all good|go ahead) ?",
        "(make|turn|change|switch) {it} [into|to] [a] (sync|copy|stream|mirror|download|upload) [instead]",
    ),
    *rule(
        "the same for", _same, f"({_AGAIN}) (<any>|<ref>|<loc>|<path>|<file>|<rel>) [too|as well|please|now|instead]"
    ),
    *say(
        "never mind",
        "dismiss",
        "",
        """
            never mind|nevermind|forget it|forget about it|forget that|discard it|discard that|drop it|drop that
            |don't do it|do not do it|no don't|call it off|scrap it|scrap that|abandon it|leave it|don't bother|nvm
            |throw it away|discard the plan|(don't|do not) (.|!|<end>)
            """,
    ),
    *say(
        "no longer",
        "clear",
        "deadline",
        """
            (no|remove|drop|clear|forget|without|lift|delete|cancel|ditch) [the|any|a|its|that] (deadline|due date
            |due time)
            """,
    ),
    *say(
        "start at once",
        "clear",
        "start",
        "(no|remove|drop|clear|forget) [the|its] (start time|delay|start|scheduled start)",
    ),
    *say(
        "at any hour",
        "clear",
        "window",
        "(no|remove|drop|clear|forget|lift|without) [the|its|any] (window|time window|hours)",
    ),
    *say(
        "only once",
        "clear",
        "repeat",
        """
            (no|remove|drop|clear|forget|stop|without) [the|its|any] (repetition|repeat|schedule|repeating)|once
            only|just once|only once|one-off|one off|don't repeat [it]|{not} repeat [it]|a single time|one time only
            """,
    ),
    *say(
        "no filter",
        "clear",
        "exclude",
        """
            (no|remove|drop|clear|forget|lift) [the|all|any|its] (excludes|exclusions|exclude filter|exclude
            filters)|{not} (skip|exclude|leave out) anything|exclude nothing|skip nothing
            """,
    ),
    *say(
        "everything again",
        "clear",
        "include",
        "(remove|drop|clear|forget|lift) [the|all|any|its] (includes|inclusions|include filter|include filters)",
    ),
    *say(
        "answer that settles nothing",
        "action",
        Doubt("say what to do with the plan: confirm it, change it or cancel it"),
        """
            maybe|perhaps|not yet|not now|i guess|i don't know|not sure|dunno|possibly|probably|whatever|i suppose
            |nope|nah|no thanks|no thank you|not really|i'm not sure|let me think|later maybe|yes and no|yes or no
            |approve|approved|approve it|i approve|approve that|approve the plan|reject|deny|decline|accept|accepted
            """,
    ),
)
