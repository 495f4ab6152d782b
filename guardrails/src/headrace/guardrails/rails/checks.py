"""Rails nobody can switch off. They know no policy, no role and no exception.

`read_path` and `check_request` run before anything is listed, `check_survey` after it. Each answers with every rule
that was met, so that a person hears all of it at once.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from headrace.guardrails.errors import Rail, RailRefusal, Refused
from headrace.guardrails.intents.limits import (
    MAX_COMPONENT_BYTES,
    MAX_COUNT,
    MAX_DEPTH,
    MAX_GLOB_BYTES,
    MAX_GLOBS,
    MAX_PATH_BYTES,
    MAX_RATE_BPS,
)
from headrace.guardrails.intents.text import (
    counted,
    endpoint_name_fault,
    escape_component,
    shown,
    sized,
    unescape_component,
)
from headrace.guardrails.rails.routes import TRASH, Access, Route, is_disguised, is_kept
from headrace.guardrails.rails.slots import TransferSlots
from headrace.guardrails.seal.execution import Execution, SurveyCounts

CHECKSUMS: Final = frozenset({"sha256", "sha1", "md5", "crc32c"})
_ACCESS: Final[tuple[Access, ...]] = ("read", "write", "delete")
_PRESERVABLE: Final = frozenset({"timestamps", "permissions", "symlinks"})


def read_path(text: str) -> tuple[str, ...]:
    """Read an absolute path that somebody wrote, literally, into escaped components below a root.

    Percent signs and shell characters mean themselves. Raises `Refused`: `relative_path`, `parent_component`,
    `nul_in_path`, `home_path`, `unc_path`, `malformed_path`, `path_too_long`, `reserved_name`.
    """
    refusal = _path_form(text)
    if refusal:
        raise Refused([refusal])
    try:
        parts = [part.encode("utf-8", "surrogateescape") for part in text.split("/") if part not in {"", "."}]
    except UnicodeEncodeError as error:
        raise Refused(
            [
                _refusal(
                    Rail.MALFORMED_PATH, f"`{shown(text)}` is not valid text: write the name as listings show it", text
                )
            ]
        ) from error
    components = tuple(map(escape_component, parts))
    refusals = tuple(_check_components(components, text))
    if refusals:
        raise Refused(refusals)
    return components


def check_request(slots: TransferSlots, route: Route, kept: frozenset[str] = frozenset()) -> tuple[RailRefusal, ...]:
    """Every rail that a request meets before anything is listed; empty when it may be surveyed.

    `kept` names the slots (`start`, `deadline`, `window`, `repeat`, `priority`) that the caller keeps itself.
    """
    return tuple(_request(slots, route, kept))


def check_survey(execution: Execution, counts: SurveyCounts, route: Route) -> tuple[RailRefusal, ...]:
    """Every rail that a surveyed execution meets; empty when policy may be asked."""
    return tuple(_survey(execution, counts, route))


def check_zones(*moments: datetime | None) -> Iterator[RailRefusal]:
    """Refuse times without a zone: they are no moment."""
    for moment in moments:
        if moment is not None and moment.tzinfo is None:
            yield _refusal(
                Rail.NUMBER_OUT_OF_RANGE,
                f"the time {moment.isoformat()} has no zone; write one, such as `Z` for UTC or `+01:00`",
            )


def _request(slots: TransferSlots, route: Route, kept: frozenset[str]) -> Iterator[RailRefusal]:
    for end in (route.source, route.destination):
        fault = endpoint_name_fault(end.endpoint)
        if fault:
            message = f"`{shown(end.endpoint)}` can't name an endpoint: {fault}; write the name as it is listed"
            yield _refusal(Rail.ENDPOINT_NAME, message, end.endpoint)
        yield from _check_components(end.path, end.text)
    yield from _check_places(slots, route)
    yield from _check_numbers(slots)
    for globs in (slots.include, slots.exclude):
        yield from _check_globs(globs)
    yield from _check_abilities(slots, kept)


def _survey(execution: Execution, counts: SurveyCounts, route: Route) -> Iterator[RailRefusal]:
    numbers = {
        "files": counts.files,
        "bytes": counts.bytes,
        "overwritten bytes": counts.overwritten_bytes,
        "deletes": counts.deletes,
        "file ceiling": execution.max_files,
        "byte ceiling": execution.max_bytes,
        "name ceiling": execution.max_entries,
    }
    for what, count in numbers.items():
        if not 0 <= count <= MAX_COUNT:
            yield _refusal(
                Rail.NUMBER_OUT_OF_RANGE, f"the survey's {what} ({count}) can't be right; ask the site's operator"
            )
    if execution.action == "sync" and counts.source_kind != "dir":
        message = f"`{shown(route.source.text)}` is a {counts.source_kind}, and a sync needs a folder; ask for a copy"
        yield _refusal(Rail.SYNC_OF_FILE, message)
    if execution.delete_extraneous and counts.files + counts.identical_files + counts.conflicts == 0:
        message = (
            f"nothing is selected at `{shown(route.source.text)}`, so deleting what is not there would empty "
            f"`{shown(route.destination.text)}`; check the source and the filters"
        )
        yield _refusal(Rail.DELETE_EMPTY_SOURCE, message)
    if counts.bytes > counts.destination_free_bytes:
        message = (
            f"`{shown(route.destination.endpoint)}` has {sized(counts.destination_free_bytes)} free and this needs "
            f"{sized(counts.bytes)}; free some space or move less"
        )
        yield _refusal(Rail.NOT_ENOUGH_SPACE, message)
    if counts.case_collisions and route.destination.labels.get("case") == "insensitive":
        message = (
            f"{counted(counts.case_collisions, 'name')} at the source differ only in upper and lower case, and "
            f"`{shown(route.destination.endpoint)}` can't hold both; rename or exclude one of each"
        )
        yield _refusal(Rail.CASE_COLLISION, message)


def _path_form(text: str) -> RailRefusal | None:
    """Check the written form of a path."""
    said = f"the path `{shown(text)}`"
    if "\0" in text:
        return _refusal(Rail.NUL_IN_PATH, f"{said} holds a NUL character; write it without", text)
    if text.startswith(("\\\\", "//")):
        return _refusal(Rail.UNC_PATH, f"{said} looks like a network share; write `endpoint:/path`", text)
    if text.startswith("~"):
        return _refusal(Rail.HOME_PATH, f"{said} means a home folder only on some host; write the whole path", text)
    if ".." in text.split("/"):
        return _refusal(Rail.PARENT_COMPONENT, f"{said} holds `..`; write the folder that you mean", text)
    if not text.startswith("/"):
        return _refusal(Rail.RELATIVE_PATH, f"{said} must begin with `/`, such as `/data/run42`", text)
    return None


def _check_components(components: Sequence[str], text: str) -> Iterator[RailRefusal]:
    """Check components that may come from anywhere: exactly what the node's own parser would refuse."""
    total = 0
    for component in components:
        try:
            raw = unescape_component(component)
        except ValueError:
            message = f"`{shown(component)}` is not an escaped name (`%XX` for bytes that are not text, `%25` for `%`)"
            yield _refusal(Rail.MALFORMED_PATH, message, text)
            continue
        total += len(raw) + 1
        if raw == b"..":
            yield _refusal(Rail.PARENT_COMPONENT, f"`{shown(text)}` holds `..`; write the folder that you mean", text)
        elif b"\0" in raw:
            yield _refusal(Rail.NUL_IN_PATH, f"`{shown(text)}` holds a NUL character; write it without", text)
        elif raw in {b"", b"."} or b"/" in raw:
            yield _refusal(
                Rail.MALFORMED_PATH,
                f"`{shown(component)}` is not a name of a file or folder; write it as listings show it",
                text,
            )
        elif is_disguised(raw.decode("utf-8", "replace")):
            message = (
                f"`{shown(component)}` is another spelling of a name that nodes keep for themselves, by which some "
                "storage finds it; write the name as listings show it"
            )
            yield _refusal(Rail.RESERVED_NAME, message, text)
        elif len(raw) > MAX_COMPONENT_BYTES:
            message = f"the name `{shown(component, 60)}` is longer than {MAX_COMPONENT_BYTES} bytes; shorten it"
            yield _refusal(Rail.PATH_TOO_LONG, message, text)
    if total > MAX_PATH_BYTES or len(components) > MAX_DEPTH:
        most = f"{MAX_PATH_BYTES:,} bytes or deeper than {MAX_DEPTH} folders"
        message = f"`{shown(text, 60)}` is longer than {most}; shorten it"
        yield _refusal(Rail.PATH_TOO_LONG, message, text)


def _check_places(slots: TransferSlots, route: Route) -> Iterator[RailRefusal]:
    """Where data may go: never onto or into itself, never the whole of a root away, never beyond the root's access."""
    source, destination = route.source, route.destination
    shorter = min(len(source.path), len(destination.path))
    moves = slots.action == "move"
    for end, is_changed in ((source, moves), (destination, True)):
        if is_changed and is_kept(end.path):
            message = (
                f"`{shown(end.text)}` is in a name that nodes keep for themselves, where nothing is written or moved "
                "away; copy what is in a trash to another place"
            )
            yield _refusal(Rail.RESERVED_NAME, message, end.text)
    if source.path and source.path[-1] == TRASH:
        # What lies in it is decided by where it was, which the folder of one transfer alone says.
        message = f"`{shown(source.text)}` is a trash, which holds a folder for each transfer; name one of them"
        yield _refusal(Rail.RESERVED_NAME, message, source.text)
    # A trash is never listed with what it lies in, so what it holds can be copied to where it was: to the root, too.
    restores = TRASH in source.path and not is_kept(destination.path)
    if (source.node, source.root) == (destination.node, destination.root) and (
        source.path[:shorter] == destination.path[:shorter] and not restores
    ):
        relation = "are the same place" if source.path == destination.path else "lie inside one another"
        message = f"`{shown(source.text)}` and `{shown(destination.text)}` {relation}; choose another destination"
        yield _refusal(Rail.OVERLAPPING_PLACES, message)
    if moves and not source.path:
        message = f"`{shown(source.text)}` is the root of its endpoint, which can't be moved; name folders below it"
        yield _refusal(Rail.MOVE_OF_ROOT, message)
    needs: tuple[tuple[str, str, Access, Access], ...] = (
        (source.text, source.root, source.access, "delete" if moves else "read"),
        (destination.text, destination.root, destination.access, "delete" if slots.delete_extraneous else "write"),
    )
    for text, root, access, needed in needs:
        if _ACCESS.index(access) < _ACCESS.index(needed):
            how = (
                "choose another place, or ask the owner of its node to run `headrace-node root add "
                f"{shown(root)}=/path:{needed}` there, with the root's path, which a running node takes up by itself; "
                "for the node of the service, to start that with `headrace serve ... --root "
                f"{shown(root)}=/path:{needed}`"
            )
            message = f"`{shown(text)}` allows {access}, and this needs {needed}; {how}"
            yield _refusal(Rail.ACCESS_TOO_LOW, message)


def _check_numbers(slots: TransferSlots) -> Iterator[RailRefusal]:
    """Numbers that overflow, are zero or negative, and ranges that nothing fits."""
    if slots.rate_limit_bps is not None and not 0 < slots.rate_limit_bps <= MAX_RATE_BPS:
        message = (
            f"{slots.rate_limit_bps} bits per second is not a rate ceiling; give a number such as 2000000000, or none"
        )
        yield _refusal(Rail.NUMBER_OUT_OF_RANGE, message)
    low, high = slots.min_size_bytes, slots.max_size_bytes
    for size in (low, high):
        if size is not None and not 0 < size <= MAX_COUNT:
            yield _refusal(
                Rail.NUMBER_OUT_OF_RANGE,
                f"a size of {size} bytes is out of range; give one from 1 to {MAX_COUNT:,} bytes",
            )
    if low is not None and high is not None and low > high:
        yield _refusal(
            Rail.EMPTY_RANGE, f"no file is at least {sized(low)} and at most {sized(high)}; correct one of them"
        )
    after, before = slots.modified_after, slots.modified_before
    unzoned = tuple(check_zones(after, before))
    yield from unzoned
    if not unzoned and after is not None and before is not None and after >= before:
        yield _refusal(
            Rail.EMPTY_RANGE,
            f"no file was modified after {after.isoformat()} and before {before.isoformat()}; correct one of them",
        )


def _check_globs(globs: Sequence[str]) -> Iterator[RailRefusal]:
    if len(globs) > MAX_GLOBS:
        yield _refusal(Rail.TOO_MANY_GLOBS, f"{len(globs)} patterns are given; at most {MAX_GLOBS} are read; use fewer")
    for glob in globs[:MAX_GLOBS]:
        size = len(glob.encode("utf-8", "surrogatepass"))
        if not 0 < size <= MAX_GLOB_BYTES or "\0" in glob or ".." in glob.split("/") or not glob.isprintable():
            message = (
                f"the pattern `{shown(glob, 60)}` is empty, too long, or holds `..` or a control character; correct it"
            )
            yield _refusal(Rail.MALFORMED_GLOB, message, glob)


_TIMES: Final = {
    "start": "a start at a time can't be kept here; leave it out and the transfer starts when it is submitted",
    "deadline": "a time by which it is to be done can't be kept here; leave it out",
    "window": "hours in which alone it may run can't be kept here; leave them out",
    "repeat": "a transfer can't be repeated by itself yet; leave the repetition out, and ask again each time",
}


def check_abilities(slots: TransferSlots, kept: frozenset[str]) -> tuple[RailRefusal, ...]:
    """Every rail that a request meets wherever it leads: what nobody can do yet."""
    return tuple(_check_abilities(slots, kept))


def _check_abilities(slots: TransferSlots, kept: frozenset[str]) -> Iterator[RailRefusal]:
    """Refuse what can't be done: leaving it out silently would make it another request."""
    if slots.verify in CHECKSUMS:
        message = (
            f"the nodes verify with BLAKE3 and can't compute {slots.verify}; "
            "ask for `in-transit` or `at-rest` verification instead"
        )
        yield _refusal(Rail.UNSUPPORTED_CHECKSUM, message, slots.verify)
    if slots.verify == "none":
        yield _refusal(Rail.VERIFY_NONE, "Headrace verifies every transfer; leave the verification out", slots.verify)
    if slots.action == "move" and slots.verify == "in-transit":
        message = "a move deletes its source only after the copy is verified at rest; ask for `at-rest`"
        yield _refusal(Rail.MOVE_NEEDS_AT_REST, message, slots.verify)
    if slots.delete_extraneous and slots.action != "sync":
        message = "only a sync deletes what the source does not hold; ask for a sync"
        yield _refusal(Rail.DELETE_NEEDS_SYNC, message)
    for metadata in sorted(set(slots.preserve) - _PRESERVABLE):
        message = f"`{shown(metadata)}` can't be preserved; times, permissions and symbolic links can"
        yield _refusal(Rail.UNSUPPORTED_PRESERVE, message, metadata)
    for name, message in _TIMES.items():
        if getattr(slots, name) is not None and name not in kept:
            yield _refusal(Rail.UNSUPPORTED_SLOT, message)
    if slots.priority != "normal" and "priority" not in kept:
        message = "the priority can't be chosen here; the policy picks the class of service"
        yield _refusal(Rail.UNSUPPORTED_SLOT, message, slots.priority)


def _refusal(rule: Rail, message: str, words: str = "") -> RailRefusal:
    return RailRefusal(rule, message, shown(words))
