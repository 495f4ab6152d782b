"""The closed list of words that carry nothing: greetings, thanks, wishes, articles, reasons.

What these rules match is owned and fills no slot. A reason ("because the allocation starts then")
is owned only when nothing in it was recognised, so an order can't hide in one.
"""

from __future__ import annotations

from headrace.guardrails.language.phrases import rule

_NAMES = """
    [<any>|all|everyone|everybody|team|there|folks|support|colleagues|assistant|headrace] [<any>|team|all|everyone
    |and all]
    """
_END = "(,|!|.|:|-|<end>)"
_HEAD = """
    (data|output|outputs|results|result|dataset|datasets|data set|data sets|simulation|simulations|run|runs
    |experiment|content|contents|stuff|material|measurements)
    """
_MODIFIER = "(simulation|run|experiment|data)"
_PLACE_CUE = (
    "(from|on|in|at|under|of|over|that is|that are|which is|which are|sitting|stored|living|located|currently|that's)"
)

RULES = (
    *rule(
        "greeting",
        lambda _hit: (),
        f"(hi|hello|hey|dear|hiya|good morning|good afternoon|good evening|greetings|howdy|yo) {_NAMES} {_END}",
        "hi|hello|hey|hiya|good morning|good afternoon|good evening|greetings|hi there|hello there|hey there",
    ),
    *rule(
        "thanks",
        lambda _hit: (),
        """
            [many|and|so|ok] (thanks|thank you|thx|cheers|ta|much appreciated|thanks a lot|thanks so much|thank you
            very much|thank you so much|thanks very much|many thanks|tia|thanks in advance|appreciate it|much
            obliged|thanks a bunch|thanks a million|thank you in advance|best|regards|best regards|kind regards|best
            wishes|cordially|sincerely|bye|have a nice day|have a good day|have a good one|thanks again|i appreciate
            it|that would be great|that'd be great|would be great|thank you kindly|thanks for your help|thank you
            for your help|that's all|that is all|that's it|if you would|if you please|if you don't mind|if that's ok
            |if that's okay|if that is ok|if it's not too much trouble|for your help|let me know if you have any
            questions|let me know if there are any problems|let me know if there are any issues|let me know if you
            need anything)
            """,
        """
            (thanks|thank you|cheers|best|regards|best regards|kind regards) [,|!|.|-] [.|,|-] <any> [<any>]
            [<any>] [,|.|!] <end>
            """,
    ),
    *rule(
        "asking",
        lambda _hit: (),
        """
            [so] [please] (can|could|would|will) (you|we|u|someone|somebody|headrace) [please|kindly|just|also|then
            |quickly|now|maybe|perhaps] [please|kindly|just|also]
            """,
        """
            would you please|would you kindly|would it be possible to|is it possible to|(could|can|may) (i|we) ask you
            to|(would|do) you mind|mind|(can|could|would|will) you [please] (make sure|make sure that|ensure|ensure that
            |see to it that)
            """,
    ),
    *rule(
        "wish",
        lambda _hit: (),
        """
            [so|and|also|now|then] (i|we) (need|want|would like|wish|have|would love|must|should|also need|also want
            |just need|just want|really need|'d like|urgently need|currently need) [you|headrace] [to] [please|just
            |also|please just|quickly]
            """,
        """
            (i'd|we'd) (like|love|need) [you|headrace] [to] [please|just|also]|i'd appreciate it if you could|i was
            hoping you could|i would appreciate it if you could|please|pls|plz|kindly|pretty please|plz plz
            |please just|i'm going to need to|we're going to need to|i am trying to|i'm trying to|we are trying to
            |we're trying to|i'd like to|we'd like to
            """,
        """
            [please] (make sure|make sure that|ensure|ensure that|see to it that)
            |ensure|ensure that|see to it that|take care that|be sure to|make certain that|(let's|let us) [please
            |just|also|now]|go ahead and|feel free to|be so kind as to|be so kind and|time to|it's time to|it is
            time to|help me|help us|help me to|your task is to|the task is to|the job is to|the plan is to|my
            request is to|request :|task :|job :|todo :|please help me|we have to|i have to|i've got to|we've got to
            |you need to|you should|you must|you have to|what i need is|what i want is to|what i need is to|all i
            need is to|what we need is to
            """,
        """
            here is (the|a|my) (request|task|job|transfer)|one more|another|a new transfer|new transfer|a quick one
            |quick one|a small request|next up|first of all|first off|to begin with|firstly|first
            """,
    ),
    *rule("articles", lambda _hit: (), "the|a|an|my|our|their|its|your|this|these|those"),
    *rule(
        "little words",
        lambda _hit: (),
        """
            and|,|.|;|:|!|?|<open>|<close>|-|so|now|just|also|there|over|still|currently|together|whole|entire
            |straight|directly|right|across|along|please|too|as well|simply|basically|immediately|right now|right
            away|at once|at the same time|in total|in all|altogether|for me|for us|for now|as usual|as always|as
            discussed|as agreed|ok|okay|alright|well|right then|and so|as follows|recursively|<end>|though|the
            following|in full|completely|entirely|during the transfer|during transfer|while copying|while
            transferring|when copying|in the process|of course
            """,
    ),
    *rule("nouns", lambda _hit: (), "data|files|file|stuff|content|contents"),
    *rule(
        "how much it is",
        lambda _hit: (),
        """
            <open> [it's|it is|that's|about|roughly|approximately|around|some|nearly|almost|~|ca|total] (<size>
            |<qty>) [in total|total|of data|altogether|or so|in all] <close>
            """,
        f"""
            [about|roughly|approximately|around|some|nearly|almost|the|these|those|our|my|another] (<size>|<qty>) of
            [{_MODIFIER}] [{_MODIFIER}] ({_HEAD}|files|images|movies|frames|logs|backups|pictures|micrographs)
            """,
        """
            [,|<open>] (it's|it is|that's|that is|this is|they're|they are|which is|there is|there are|there's|we
            are talking|we're talking|totalling|totaling|amounting to|altogether|in total) [about|roughly
            |approximately|around|some|nearly|almost|up to] (<size>|<qty>) [in total|altogether|of data|of files|in
            all|worth of data|total|or so|all in all]
            """,
        """
            [about|roughly|approximately|around|some|nearly|almost|~|ca] (<size>|<qty>) (in total|total|of data
            |altogether|worth of data|or so in total)
            """,
    ),
    *rule(
        "what it is",
        lambda _hit: (),
        f"""
            [{{det}}|all|all the|all of the|all our|all my] [whole|entire|full|complete] [{_MODIFIER}] [{_MODIFIER}]
            {_HEAD}
            """,
        """
            [{det}|all|all the|all of the|everything in the|all my|all our] [whole|entire|full|complete] (folder
            |directory|tree|file|files|data|everything|anything|stuff|contents|content|dir|path|bucket|object
            |objects|subtree) [called|named]
            """,
        "(all|everything) [that is|that's] [there]|all of it|all of this|all that",
    ),
    *rule(
        "policy is respected",
        lambda _hit: (),
        """
            (respecting|following|within|according to|in line with|under|as per|per|subject to) [the|our|site|all]
            (policy|policies|usual rules|site policy|rules|quota|quotas)
            """,
    ),
)

# A reason goes from one of these to the end of its clause.
REASONS = (
    "because", "as we", "as they", "as i", "so that", "so we", "so i", "so they",
    "in order to", "in order that", "due to", "thanks to", "which is", "which we", "which i",
)  # fmt: skip
NOT_IN_A_REASON = frozenset(
    [
        "not",
        "no",
        "never",
        "nor",
        "neither",
        "don't",
        "dont",
        "doesn't",
        "isn't",
        "without",
        "unless",
        "if",
        "when",
        "whenever",
        "while",
        "until",
        "till",
        "except",
        "only",
        "but",
        "instead",
        "rather",
        "although",
        "must",
        "should",
        "before",
        "after",
    ]
)
