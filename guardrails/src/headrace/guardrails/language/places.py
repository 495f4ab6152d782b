"""Recognises where from and where to: cue words before a location, an arrow, or its position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Place
from headrace.guardrails.language.phrases import Hit, Reading, rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PUT = "put|stash|store|drop|place|deposit|ingest|save|load|stage|park|dump|back up|backup|have|get"
_COPY_OF = "(a copy|copies|a backup|a duplicate|a replica|a clone|backups|one copy|a second copy)"
_THERE = "in|on|at|under|inside|into|onto|to|over at|over to|over on|within"
_CONTENT = """
    [everything in|everything on|everything at|everything under|all files in|all files on|the contents of|whatever
    is in|anything in|all data in|all of|files in|the files in|what is in|what's in|existing files in|the content of
    |whatever's in|the data in|data in|the files on|any existing files in]
    """
_DESCRIBED = """
    [about|roughly|approximately|some|around|nearly|almost|the|our|my|all|all the] [(<size>|<qty>) [of]] [{det}]
    [<any>] [<any>] [<any>] [data|output|outputs|results|files|stuff|simulation|simulations|dataset|run|images]
    """
_MIXTURE = """
    [the contents of|everything in|that in|what is in|the files from|those from|the files in|what's in|files from
    |the data from|data from|the content of|the ones from|all files from|everything from]
    """


def _slot(slot: str) -> Callable[[Hit], Sequence[Reading]]:
    return lambda hit: ((slot, hit.all(Place)[-1]),)


def _source_then_destination(action: str) -> Callable[[Hit], Sequence[Reading]]:
    def make(hit: Hit) -> Sequence[Reading]:
        source, destination = hit.all(Place)
        return (("action", action), ("source", source), ("destination", destination))

    return make


def _overwrite(hit: Hit) -> Sequence[Reading]:
    destination, source = hit.all(Place)
    conflict: str | Doubt = "overwrite"
    if not hit.has("overwrite", "overwriting"):
        conflict = Doubt("say whether to overwrite files, or to make both sides the same")
    return (
        ("action", "copy"),
        ("source", source),
        ("destination", destination),
        ("on_conflict", conflict),
    )


def _in_sync(hit: Hit) -> Sequence[Reading]:
    destination, source = hit.all(Place)
    return (
        ("action", "sync"),
        ("source", source),
        ("destination", destination),
        ("repeat", Doubt("say how often to synchronise, or only once")),
    )


def _swapped(hit: Hit) -> Sequence[Reading]:
    destination, source = hit.all(Place)
    return (("action", "copy"), ("source", source), ("destination", destination))


RULES = (
    *rule(
        "source",
        _slot("source"),
        "({source_cue}) [everything in|all of|the contents of|the files in] {place}",
        "(coming|originating|sent|leaving|starting) from {place}",
        "(source|src) [is|=|:|should be|to|path] {place}",
        """
            [that is|which is|that are|that's|currently] (sitting|stored|living|located|residing) (in|on|at|under)
            {place}
            """,
    ),
    *rule(
        "what there is",
        _slot("source"),
        f"(we|i) have {_DESCRIBED} [sitting|stored|lying|waiting] (in|on|at|under) {{place}}",
        f"(there is|there are|there's) {_DESCRIBED} [sitting|stored|lying|waiting] (in|on|at|under) {{place}}",
    ),
    *rule(
        "destination",
        _slot("destination"),
        "({dest_cue}) {place}",
        "over (at|to|in|on) [<any>|<ep>] , {place}",
        """
            (going|headed|heading|bound|destined|on its way|on their way|that go|that goes|which go|sent|running
            |moving|flowing|that are going|which are going) (to|for|into|towards) {place}
            """,
        "(destination|dest|dst) [is|=|:|should be|to|path] {place}",
    ),
    *rule(
        "another source",
        lambda hit: (("source", hit.one(Place)), ("marker", "instead")),
        "(change|set|switch|make) [the|its] source [to|be] {place}",
        "use {place} as [the|its] source",
        "[the|its] source (should|must|needs to|has to) be {place}",
    ),
    *rule(
        "another destination",
        lambda hit: (("destination", hit.one(Place)), ("marker", "instead")),
        "(change|set|switch|make) [the|its] (destination|target) [to|be] {place}",
        "use {place} as [the|its] (destination|target)",
        "[the|its] (destination|target) (should|must|needs to|has to) be {place}",
    ),
    *rule(
        "with a place",
        lambda _hit: (("destination", Doubt("say to or from: with leaves the direction open")),),
        "(with|against) {place}",
    ),
    *rule("one more place", _slot("more"), "(and|&|plus|and also|as well as|or) [also] [to|from|into] {place}"),
    *rule(
        "the same path",
        lambda _hit: (("destination", Doubt("write out the path at the destination")),),
        """
            [with|at|under|in|keeping|keep|using] [the] same (path|location|place|folder|directory|name) [there|as
            the source]
            """,
    ),
    *rule(
        "by way of",
        lambda hit: (("action", Doubt(f"`{hit.words}`: a transfer goes straight from source to destination")),),
        "(via|through|by way of) {place}",
    ),
    *rule("somewhere", _slot("at"), "({at_cue}) {place}"),
    *rule("for a place", _slot("for"), "for {place}"),
    *rule(
        "a place",
        _slot("place"),
        "{place}",
        "(the|our|my) [<any>] [<any>] (run|dataset|data|output|results|folder|data set|experiment|simulation) <loc>",
        "[for] [the|all] [the] contents of {place}",
        "[all] of {place}",
    ),
    *rule(
        "not that place",
        lambda hit: (("not_place", hit.all(Place)[-1]), ("marker", "instead")),
        """
            [and|but|,] (not|except|except for|excluding|exclude|without|apart from|other
            than|minus|skip|skipping|omit|omitting
            |ignore|ignoring|leave out|leaving out|instead of|rather than|everything but|all but) [to|from] [the]
            [{holder}] (<loc>|<path>|<ep>) [{holder}]
            """,
        "but (<loc>|<path>)",
        "[and|but|,] (leave|keep) {place} (where it is|alone|as it is|there|in place|untouched|out)",
    ),
    *rule(
        "this place for that",
        lambda hit: (("swap_to", hit.all(Place)[0]), ("swap_from", hit.all(Place)[1]), ("marker", "instead")),
        "[use|take] {place} (instead of|rather than) {place}",
        "(swap|exchange) {place} (by|with|for) {place}",
    ),
    *rule(
        "put there",
        _source_then_destination("copy"),
        f"({_PUT}) {{place}} [up] ({_THERE}) {{place}}",
        f"""
            (make|keep|put|create|get|have|place|store|drop|leave|i want|i need|we want|we need) {_COPY_OF} of
            {{place}} ({_THERE}) {{place}}
            """,
        f"((i|we|they) (need|want|would like)|i'd like|we'd like) {{place}} ({_THERE}) {{place}}",
        f"""
            ((i|we|they) (need|want|would like)|i'd like|we'd like) [to have] {_COPY_OF} of {{place}} ({_THERE})
            {{place}}
            """,
        f"[please] {_COPY_OF} of {{place}} (on|at|in|to|under|into) {{place}}",
        f"""
            (i|we) (need|want|would like|require) {_DESCRIBED} (from|on|in|under) {{place}} (at|on|in|over at|to)
            {{place}}
            """,
        f"""
            [the|our|my] [<any>] (team|group|lab|people|colleagues) (need|needs|want|wants) {{place}} ({_THERE})
            {{place}}
            """,
        f"(back|bring) {{place}} (up|over) ({_THERE}) {{place}}",
        "back {place} up (to|onto|on|in|into|at) {place}",
        "{place} (must|should|has to|needs to|shall|ought to|is to) be (at|on|in|over at) {place}",
        "{place} (must|should|has to|needs to|shall|ought to|is to) (go|get|move over) (to|into|onto) {place}",
        f"make {{place}} available ({_THERE}) {{place}}",
    ),
    *rule(
        "overwrite there",
        _overwrite,
        f"(overwrite|replace) {_CONTENT} {{place}} (with|by|using|from) {_MIXTURE} {{place}}",
    ),
    *rule("keep in sync", _in_sync, "keep {place} (in sync|synced|synchronised|synchronized|up to date) with {place}"),
    *rule("fill from", _swapped, "(populate|fill|seed) {place} (from|with) [the contents of] {place}"),
)
