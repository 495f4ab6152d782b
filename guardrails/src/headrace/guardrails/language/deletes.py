"""Recognises deleting: the source after its copy, or what the source no longer has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Place
from headrace.guardrails.language.phrases import Hit, Reading, rule, say

if TYPE_CHECKING:
    from collections.abc import Sequence

_DELETE = "delete|remove|wipe|erase|purge|clear|get rid of|trash|clean out|nuke|rm|unlink|drop|empty"
_DELETING = "deleting|removing|wiping|erasing|purging|clearing|trashing"
_SOURCE = """
    (source|original|originals|source files|source data|original files|source folder|source directory|source copy
    |source side|original data|files at the source|files on the source|files from the source|data at the source|data
    on the source|data from the source|original folder|originals at the source|source afterwards|local copy|local
    files|source once it is copied|contents of the source|source contents|source path|source tree|source dir)
    """
_GONE = """
    [anything|whatever|everything|files|any files|all files|those|what|the files|data|those files|any file|things
    |all] [that|which] [is|are|was|were|has|have|'s|have been|has been|that's|what's|isn't|aren't|is not|are not
    |don't|doesn't|do not|does not] [no longer|any longer|not|been|already|also] (gone|missing|deleted|removed
    |vanished|exist|exists|in|on|at|present|there|disappeared|there any more|present at|present on|available) [at|on
    |in|from] [the] (source|source any more|source anymore|origin|original|source side|other side|source any longer)
    """
_EXTRA = """
    [any|the|all] (extra|extraneous|surplus|stale|orphaned|orphan|obsolete|superfluous|leftover) (files|file|ones
    |data|stuff|objects|things|entries|copies) [at the destination|on the destination|in the destination|there|on
    the target|at the target|on the other side|in the target]
    """


def _move(hit: Hit) -> Sequence[Reading]:
    source, destination = hit.all(Place)
    return (("action", "move"), ("source", source), ("destination", destination))


def _delete_place(hit: Hit) -> Sequence[Reading]:
    return (("delete_place", hit.one(Place)),)


def _exact_copy(hit: Hit) -> Sequence[Reading]:
    destination, source = hit.all(Place)
    return (
        ("action", "sync"),
        ("source", source),
        ("destination", destination),
        ("delete_extraneous", True),
    )


def _matched(hit: Hit) -> Sequence[Reading]:
    destination, source = hit.all(Place)
    doubt = Doubt("say whether files that are only at the destination are to be deleted")
    return (
        ("action", "sync"),
        ("source", source),
        ("destination", destination),
        ("delete_extraneous", doubt),
    )


SOURCE_RULES = (
    *rule(
        "copy, then delete",
        _move,
        f"""
            ({_DELETE}) {{place}} (after|once|when) (copying|transferring|moving|sending|backing up|you have copied
            |it is copied|you copy|you've copied|having copied|archiving|you copied|uploading|mirroring|you have
            moved|shipping|transfer|it's copied) [{{it}}|it over|its contents|its content|the contents|it all]
            [over] (to|into|onto) {{place}}
            """,
        f"""
            (after|once) (copying|transferring|sending|you have copied|you copied) {{place}} (to|into|onto)
            {{place}} [,] ({_DELETE}) (the source|the original|the originals|the source files)
            """,
        "(cut|cut and paste) {place} (to|into|onto) {place}",
    ),
    *say(
        "delete the source",
        "delete_source",
        True,  # noqa: FBT003 (the slot's value)
        f"""
            [and] [{{afterwards}}] [,] [also] (({_DELETE}) [the|all|my|our|those] {_SOURCE}|free up the source|free
            the source|empty the source) [{{afterwards}}]
            """,
        f"({_DELETING}) [the|all|my|our] {_SOURCE} [{{afterwards}}]",
        f"""
            [the|all|my|our] {_SOURCE} (should be|can be|must be|is to be|are to be|will be|to be|may be|has to be
            |have to be|can go|should go|can then be|gets|get|should then be) (deleted|removed|wiped|erased|purged
            |cleared) [{{afterwards}}]
            """,
        "with deletion of the source|and delete source|delete source|delete originals",
        "(make {it} a move|make it a move instead|turn it into a move|change it to a move|make that a move)",
    ),
    *say(
        "keep the source",
        "delete_source",
        False,  # noqa: FBT003 (the slot's value)
        f"""
            ({{not}}|without|never) ({_DELETE}|{_DELETING}|touch|touching|change|changing|modify|modifying) [the|any
            |any of the|all|my|our] {_SOURCE} [{{afterwards}}]
            """,
        f"""
            (keep|keeping|leave|leaving|retain|retaining|but keep|and keep|but leave) [the|all|my|our] {_SOURCE} [in
            place|where it is|alone|untouched|where they are|intact|as is|there|too|around|as they are]
            """,
        f"""
            [the|all|my|our] {_SOURCE} (stay|stays|must stay|should stay|remain|remains|must remain|must not be
            deleted|should not be deleted|is kept|are kept|must be kept|should be kept|is not to be deleted|isn't to
            be deleted|may not be deleted) [where it is|where they are|in place|untouched|as is]
            """,
    ),
    *rule(
        "delete nothing of a place",
        lambda hit: (("keep_place", hit.one(Place)),),
        f"""
            ({{not}}|without|never) ({_DELETE}|{_DELETING}|touch|touching) [anything|any files|any file|files|any data
            |data|any|anything else] [at|on|in|from|under|of] {{place}} [{{afterwards}}]
            """,
        "nothing (on|at|in) {place} (is|gets|may be) deleted",
    ),
    *rule(
        "delete a place",
        _delete_place,
        f"""
            ({_DELETE}) [everything (in|at|on|under|from)|all files (in|on|from)|the contents of] {{place}}
            [{{afterwards}}]
            """,
    ),
    *say(
        "wait for a delete",
        "delete_source",
        Doubt("a source is deleted right after its copy is verified, not at another time", reading=True),
        f"({_DELETE}) [the|all|my|our] {_SOURCE} [on|at|by|after|before] <when>",
        f"({_DELETE}) [the|all|my|our] {_SOURCE} (in|after) <dur>",
    ),
    *say(
        "keep what?",
        "delete_source",
        Doubt("say what is to be kept: the source, or the files that are there already"),
        "(keep|leave) (it|them|that|those|these)",
    ),
    *say(
        "delete something",
        "delete_source",
        Doubt("say what is to be deleted: the source after its copy, or nothing"),
        f"""
            [and] [{{afterwards}}] ({_DELETE}) ({{it}}|the files|the folder|the directory|the data|the rest|the old
            one|the old ones|what was copied|copied files|the copied files) [{{afterwards}}]
            """,
        """
            (free|free up|make|reclaim) [some|the] (space|quota|disk space|disk|room) [there|on the source|at the
            source|afterwards]
            """,
    ),
)

EXTRANEOUS_RULES = (
    *rule(
        "look exactly like",
        _exact_copy,
        """
            make {place} [to] (look exactly like|look just like|look identical to|exactly like|identical to|exactly
            the same as|exactly match|match exactly|an exact (copy|mirror|replica|clone) of|exactly mirror|look
            exactly the same as|mirror exactly|a true mirror of|be exactly like|be identical to|be an exact copy of
            |be an exact mirror of) {place}
            """,
        "make {place} match {place} exactly",
        """
            {place} (should|must|has to|needs to) (look exactly like|be identical to|exactly match|be an exact (copy
            |mirror|replica) of|exactly mirror|be exactly like|look just like) {place}
            """,
        "(get|have|bring|force) {place} to (look exactly like|be identical to|exactly match|match exactly) {place}",
    ),
    *rule(
        "look like",
        _matched,
        """
            make {place} (match|look like|mirror|like|the same as|equal to|reflect|resemble|a mirror of|a copy of|a
            replica of|up to date with|consistent with|equal|be like) {place}
            """,
    ),
    *say(
        "delete what is gone",
        "delete_extraneous",
        True,  # noqa: FBT003 (the slot's value)
        f"""
            [and] [also] [{{afterwards}}] [,] ({_DELETE}|{_DELETING}|prune|pruning) {_GONE} [{{afterwards}}] [too|as
            well]
            """,
        f"[and] [also] [{{afterwards}}] [,] ({_DELETE}|{_DELETING}|prune|pruning) {_EXTRA} [{{afterwards}}]",
        f"""
            [and] ({_DELETE}|{_DELETING}) (extras|extraneous|what (the source|it|krios) (no longer has|doesn't have
            |does not have)|anything the source (no longer has|doesn't have|does not have)|files the source (no
            longer has|doesn't have)|everything the source (no longer has|doesn't have)|whatever the source (no
            longer has|doesn't have)|files not in the source|anything not in the source|files not at the source
            |anything not at the source|files not on the source|anything not on the source|anything extra|everything
            extra|anything else there|deletions too|everything else (there|at the destination|on the destination|in
            the destination)|files missing (at|from|on) the source)
            """,
        """
            with (delete|deletes|deletion|deletions)|including (deletions|deletes)|propagate (deletes|deletions)
            |propagating (deletes|deletions)|mirror deletions|mirror deletes|replicate deletes|replicate deletions
            |deleting extras|sync deletions|sync deletes|prune extras|prune the rest
            """,
        "(look exactly like|exactly like|identical to|exactly the same as) the source",
        "delete whatever is gone|delete what is gone|delete what's gone|delete what is gone at source",
    ),
    *say(
        "delete nothing there",
        "delete_extraneous",
        False,  # noqa: FBT003 (the slot's value)
        f"""
            ({{not}}|without|never) ({_DELETE}|{_DELETING}|prune|pruning) ({_GONE}|{_EXTRA}|at the destination|on
            the destination|at the target|extras|anything at the destination|files at the destination|anything there
            |anything on the destination|anything in {{place}})
            """,
        "(no|without) (deletes|deletions|deletion)|delete nothing at the destination",
        "(keep|leave) (extra files|extras|the extra files) [alone|there]",
    ),
    *say(
        "deleting left open",
        "delete_extraneous",
        Doubt("say whether files that are only at the destination are to be deleted"),
        """
            exactly|an exact (copy|mirror|replica)|exact mirror|identical|one to one|1:1|bit for bit|as an exact
            mirror|true mirror|perfect mirror|identically|faithfully
            """,
    ),
    *say(
        "delete nothing",
        "delete_nothing",
        True,  # noqa: FBT003 (the slot's value)
        f"""
            ({{not}}|without|never) ({_DELETE}|{_DELETING}) [anything|any files|files|any file|any data|anything at
            all|stuff|things|anything on either side] [{{afterwards}}]
            """,
        """
            (nothing {is} deleted|delete nothing|nothing may be deleted|nothing should be deleted|nothing must be
            deleted|nothing {is} to be deleted|nothing gets deleted|{sure} nothing {is} deleted|{sure} nothing gets
            deleted|no files {is} deleted|remove nothing)
            """,
    ),
    *say(
        "clean up",
        "cleanup",
        Doubt("`clean up` may mean deleting at the source or at the destination: say which, or leave it out"),
        """
            [and] [then] (clean up|cleanup|tidy up|clean things up|clean it up|clean up everything|tidy|clean
            everything up|clean up any mess|do the cleanup|clean) [{afterwards}|after yourself|the rest|the mess
            |when you're finished]
            """,
    ),
)

RULES = (*SOURCE_RULES, *EXTRANEOUS_RULES)
