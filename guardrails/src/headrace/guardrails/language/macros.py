"""Named groups of words that many phrases share; see `phrases` for how they are written."""

from headrace.guardrails.language.verbs import ACTION_OF

MACROS = {
    "transfer_verb": "|".join(ACTION_OF),
    # Who or what a phrase is about.
    "it": """
        it|this|that|them|these|those|everything|all of it|all of them|the whole thing|[the|this|that|my|our]
        (transfer|copy|job|plan|data|files|upload|sync|move|lot|request)|[the|my] [transfer|job] <id>
        """,
    "det": "the|a|an|my|our|your|their|his|her|these|those|this|that",
    "things": """
        [any|all|every|the|those|these|any of the] (files|file|anything|everything|things|stuff|data|objects|object
        |items|item|ones|those|all) [in there|there|in it] [that is|that are|which is|which are|that's|being|which
        were|that were]
        """,
    "file_nouns": "files|file|ones|data|images|stuff|objects|things",
    "holder": "folder|directory|dir|path|file|tree|bucket|endpoint|node|site|machine|area|share",
    # Places.
    "content": """
        (everything|anything|all|whatever|what|all [the|our|my] (data|files)|the (data|files|content|contents)|contents
        |content|files|data) [that is|that's|which is|there is|is|'s] (in|on|at|under|below|inside|beneath|within|of)
        """,
    "place": "[{content}] [{det}] [whole|entire|full|complete] [{holder}] (<loc>|<path>|<ep>|<rel>) [{holder}]",
    "source_cue": """
        from|out of|off of|off|sitting on|sitting in|stored on|stored in|living on|located on|located in|currently
        on|that is on|that lives on
        """,
    "dest_cue": """
        to|into|onto|unto|over to|across to|back to|up to|down to|through to|over at|->|towards|toward|over into
        |over onto|so that it is at|so it is at
        """,
    "at_cue": "in|on|under|at|inside|within|beneath|below",
    # Wishes and their denial.
    "not": """
        don't|dont|do not|never|must not|mustn't|should not|shouldn't|not to|without ever|do not ever|don't ever
        |please don't|please do not|make sure not to|be sure not to|i don't want to|we don't want to|i do not want
        to|we do not want to|under no circumstances|(do not|don't) under any circumstances|(do not|don't) in any
        case
        """,
    "needless": """
        no need to|you don't need to|don't need to|do not need to|needn't|need not|don't bother to|don't have to|no
        need for|don't bother
        """,
    "sure": """
        make sure|make sure that|be sure|please make sure|ensure|ensure that|make certain|make sure it is|make sure
        it's|make sure to|be sure to|remember to
        """,
    "afterwards": """
        afterwards|after|after that|when done|when it's done|when you're done|when finished|when complete|once done
        |once finished|once complete|after copying|after it|after the copy|after transfer|after the transfer|when it
        is done|once it's done|once it is done|after you're done|in the end|at the end|once it's copied|once copied
        |after that's done|then|when that's done|once it has arrived|once it arrives|once that's done|after moving
        |after the fact|when it's finished|once it's finished|after it's done|after it is done|when completed|once
        completed|once the copy is done|when the copy is done|once it's there|after they're copied
        """,
    "is": "is|are|'s|was|must be|has to be|needs to be|should be|shall be|stays|remains",
    # Sizes.
    "bigger": """
        bigger than|larger than|(bigger|larger|greater|more) then|greater than|more than|over|above|exceeding|at
        least|no smaller than|no less than|not smaller than|not less than|beyond|in excess of|>|>=|of at least|of
        more than|of over|heavier than|upwards of|bigger or equal to|not under|with at least|from at least|minimum
        |min|a minimum of|larger or equal to|not below
        """,
    "smaller": """
        smaller than|less than|(smaller|less) then|under|below|at most|up to|no bigger than|no larger than|no more
        than|not bigger than|not larger than|<|<=|of at most|of less than|of under|not more than|not over|not above
        |no greater than|not exceeding|maximum|max|a maximum of|lighter than|that don't exceed|with at most|of up to
        """,
    # Filters.
    "only": """
        only|just|(only|just) ({transfer_verb}) [over|across]|exclusively|solely|nothing but|only the|just the|only
        those|only take|only
        include|restrict it to|limit it to|restrict to|only want|i only want|we only
        want|i only need|we only need|copy only|take only|filter for|filter to|restricted to|filtered to|limited to
        |keep only|only keep|only consider|only those matching
        """,
    "skip": """
        nothing|skip|skipping|ignore|ignoring|exclude|excluding|except|except for|leave out|leaving out|omit
        |omitting|leave behind|but not|not|minus|other than|apart from|aside from|all but|everything but|drop
        |without|no|filter out|filtering out|but skip|but exclude|but ignore|but leave out|but without|but no|save
        for|with the exception of|excepting|barring|bar|{not} (copy|transfer|send|include|move|take|sync|mirror
        |bring|touch|pick up|fetch|stream|want)|everything except|everything except for|everything other than
        |anything but|all except|stay away from|stay clear of|keep out|rule out|but don't (copy|send|include|take
        |move|sync)|but do not (copy|send|include|take|move|sync)|leave aside|pass over|not including|w/o|leaving
        behind|keep out|not counting|less the
        """,
    "each": "any|all|the|every|those|these|any of the|all of the|all the|all those",
    "changed": """
        changed|modified|written|taken|acquired|collected|recorded|captured|measured|produced|generated|[that|which]
        (were|was|have been|has been)
        (taken|acquired|collected|recorded|captured|measured|produced|generated)|updated|touched|edited|altered|last
        modified|last changed|last written|last updated
        |rewritten|that changed|that have changed|which changed|that were (changed|modified|updated|written)|that
        was (changed|modified|updated|written)|that have been (changed|modified|updated|written)|which were (changed
        |modified|updated|written)|that has (changed|been modified)|has changed|have changed|were modified|modified
        or created
        """,
    # Times.
    "by": """
        by|before|no later than|not later than|at the latest by|finish by|finish before|finished by|finished before
        |done by|done before|complete by|complete before|completed by|ready by|completed before|to finish by|must
        finish by|must finish before|must be done by|be done by|be done before|be finished before|be complete before
        |be there before|be complete by|must be done before|has to be done by|needs to be done by|needs to be there
        by|be there by|must be there by|it must be there by|arrive by|must arrive by|there by|in place by|there
        before|should be there by|should be done by|should finish by|deadline|deadline is|deadline of|due|due by|due
        at|due on|latest by|ending by|end by|ends by|have it done by|have it there by|with a deadline of|get it done
        by|to be done by|finishing by|finishing before|to be there by|needs to finish by|needs to finish before|has
        to finish by|has to finish before|wrap up by|it has to be done by|it needs to be done by|it must be done by
        |needs to arrive by|arriving by|no later than by|must complete by|to complete by|has to be there by|it needs
        to be there by|must complete before|complete it by|complete it before|finish it by|finish it before|deadline
        :|the deadline is|must be complete by|should arrive by|we need it by|i need it by|need it by|i need it
        before|we need it before|needed by|(i|we|they) (need|want) it [there|done|ready|here]
        [by|before|at|on|for]|needs to be ready by|must be ready by|ready before|has to arrive by
        |delivered by|deliver by|with deadline|and be done by|be finished by|(make|set|change|move|extend|push) the
        deadline [to|be|back to]|over by
        """,
    "begin": """
        at|on|start|starting|start at|start on|starting at|starting on|starting from|begin|begin at|beginning
        |beginning at|begin on|schedule for|scheduled for|schedule it for|run at|run it at|run on|kick off|kick off
        at|kick it off at|not before|no earlier than|not earlier than|after|wait until|wait till|hold until|hold it
        until|hold off until|delay until|delay it until|postpone to|postpone it to|postpone until|postpone it until
        |defer to|defer until|defer it until|defer it to|launch at|launch it at|start it at|start it on|start it
        |start from|set start to|from|as of|begin it at|starts at|commence at|commencing|commencing at|push it to
        |push it back to|move it to|kick it off|kick it off on|schedule it at|schedule it on|to start|to start at|to
        start on|to begin at|to begin on|start time|start time :|start only after|start after|starting after|begin
        after|only start after|only start at|only after|should start at|it should start at|start the transfer at
        |start the copy at|hold it till|hold off till|reschedule to|reschedule it to|reschedule for|reschedule
        it for|don't start before|do not start before|don't start it before|don't start until|do not start until
        |start no earlier than|set off at|set it off at|go at|due to start at|run it on|run it|scheduled to start at
        |(make|set|change|move) the start [time] [to|be]
        """,
    # Rates.
    "cap": """
        at|at most|limit|cap|limit at|cap at|limited to|capped at|capped to|limited at|limit to|cap to|limit {it} to
        |limit {it} at|cap {it} at|cap {it} to|limit of|cap of|throttle|throttle to|throttle at|throttle {it} to
        |throttle {it} at|throttle {it} down to|throttled to|throttled at|no faster than|no more than|not faster
        than|not more than|not above|not exceeding|max|max of|maximum|maximum of|at a maximum of|at a max of|under
        |below|up to|use at most|using at most|use no more than|using no more than|use up to|use|using|{not} exceed
        |{not} take more than|{not} use more than|{not} go over|{not} go above|{not} go faster than|{not} run faster
        than|don't let it exceed|never faster than|never more than|never above|never over|take at most|keep {it}
        under|keep {it} below|keep {it} at|keep {it} to|keep under|keep below|stay under|stay below|staying under
        |staying below|with a limit of|with a cap of|with a max of|with a maximum of|with at most|with max|with a
        rate limit of|with a bandwidth limit of|rate limit|rate limit :|rate limit of|rate limited to|rate limit to
        |rate limit {it} to|rate|rate of|at a rate of|at a max rate of|at a maximum rate of|bandwidth|bandwidth of
        |bandwidth limit|bandwidth limit of|bandwidth cap of|speed limit|speed limit of|speed|speed of|at a speed of
        |with a speed limit of|(set|change|raise|lower|limit|cap|increase|reduce) the (rate|limit|speed|cap|rate
        limit|bandwidth) (of|for|on) {it} (to|at)|limit the (rate|speed|bandwidth|throughput) to|cap the (rate|speed
        |bandwidth|throughput) at|cap the (rate|speed|bandwidth|throughput) to|limit (rate|speed|bandwidth
        |throughput) to|cap (rate|speed|bandwidth|throughput) at|set the (rate|rate limit|speed|limit|bandwidth|cap)
        to|set (rate|rate limit|speed|limit|bandwidth|cap) to|change the (rate|rate limit|speed|limit|bandwidth|cap)
        to|slow {it} down to|slow down to|speed {it} up to|speed up to|raise {it} to|lower {it} to|raise the (limit
        |rate|cap|rate limit) to|lower the (limit|rate|cap|rate limit) to|increase the (limit|rate|cap|rate limit)
        to|reduce the (limit|rate|cap|rate limit) to|drop the (limit|rate|cap|rate limit) to|bump the (limit|rate
        |cap|rate limit) to|bump {it} to|bump {it} up to|drop {it} to|reduce {it} to|increase {it} to|raise {it} to
        |make {it}|set {it} to|change {it} to|turn {it} down to|turn {it} up to|with|not over|over no more than
        |limiting {it} to|capping {it} at|limiting to|capping at|don't go over|don't exceed|with a rate of|restrict
        {it} to|restrict to|restrict the (rate|speed|bandwidth) to|hold {it} to|hold {it} under|max rate|max rate :
        |maximum rate|max speed|max bandwidth|the limit is|the cap is|go no faster than|run no faster than|run at
        |run it at|run {it} at|at no more than|no higher than|not higher than|less than|give it|give it at most
        |allow at most|allow|allow up to|leave it at|shape it to|cap it to|up {it} to|lift {it} to|with bandwidth|to
        |don't go beyond
        """,
}
