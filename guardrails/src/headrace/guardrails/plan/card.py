"""What a plan card says, and what is read aloud: the same words at every door."""

from typing import Final

from headrace.guardrails.intents.text import counted, shown, sized
from headrace.guardrails.policy.decision import Decision, why
from headrace.guardrails.seal.execution import GROWTH_PERCENT, Execution, SurveyCounts

_VERBS: Final = {"copy": "Copy", "sync": "Bring up to date with a sync of", "move": "Move"}
_METADATA: Final = {"mtime": "modification times", "mode": "permissions"}


def card_notes(execution: Execution, counts: SurveyCounts) -> tuple[str, ...]:
    """Say what this plan does to identical, different, excluded and moved files, and how far it may grow."""
    if execution.probe is not None:
        return _probe_notes(execution, execution.probe.max_seconds)
    same = "size and modification time" if execution.compare == "size-mtime" else "checksum"
    notes = [f"Files with the same {same} at the destination are skipped ({counted(counts.identical_files, 'file')})."]
    notes.append(_different(execution, counts))
    if counts.conflicts and _leaves_files(execution):
        notes.append(
            "A file in the place of a folder, or a folder in the place of a file, is never replaced: it fails."
        )
    notes.append(_deleted(execution, counts))
    if execution.action == "move":
        fate = "deleted" if execution.trash is None else "moved to the trash of its endpoint"
        notes.append(f"Each source file is {fate} only after its copy is verified at rest at the destination.")
    if execution.trash is not None:
        notes.append(
            f"Nothing is deleted at once: the trash keeps it for {counted(execution.trash.keep_days, 'day')}, where it "
            "takes the space that it took before, and its place and the command that brings it back are in the receipt."
        )
    if counts.skipped_special:
        notes.append(
            f"{_do(counts.skipped_special, 'special file', 'fail')}: sockets, pipes and devices are never copied."
        )
    if counts.symlinks:
        notes.append("Symbolic links are copied as links; what they point at is not.")
    lost = [named for mode, named in _METADATA.items() if mode not in execution.preserve]
    if lost:
        notes.append(f"{' and '.join(lost).capitalize()} are not kept.")
    if counts.case_collisions:
        notes.append(
            f"{_do(counts.case_collisions, 'name', 'differ')} from another only in upper and lower case; each is kept."
        )
    again = "" if execution.verify == "in-transit" else ", and again as read back at rest"
    notes.append(f"Every byte is verified with BLAKE3 while it travels{again}.")
    notes.append(_way(execution))
    notes.append(_growth(execution))
    return tuple(notes)


def _growth(execution: Execution) -> str:
    """Say what happens when the source grows after its survey."""
    most = f"{counted(execution.max_files, 'file')} and {sized(execution.max_bytes)}"
    if execution.delete_source:
        return (
            f"If the source grows meanwhile beyond what was surveyed ({most} to copy), the move stops, and deletes "
            "nothing there: plan it again."
        )
    return (
        f"If the source grows meanwhile, at most {most} are copied "
        f"({GROWTH_PERCENT}% over the survey, or more for a small one)."
    )


def spoken_summary(
    execution: Execution, counts: SurveyCounts, decision: Decision, source: str, destination: str
) -> str:
    """One paragraph fit to be read aloud; `source` and `destination` are `endpoint:/path`, escaped here."""
    if execution.probe is not None:
        most = f"up to {sized(execution.max_bytes)} or {execution.probe.max_seconds} s each"
        measured = f"Measure the way from {shown(source)} to {shown(destination)} in four legs of {most}."
        return f"{measured} Nothing is kept, overwritten or deleted. {why(decision)}"
    verb = _VERBS[execution.action]
    what = f"{counted(counts.files, 'file')}, {sized(counts.bytes)}," if counts.files else "no files"
    parts = [f"{verb} {what} from {shown(source)} to {shown(destination)}."]
    if counts.identical_files:
        parts.append(f"{_are(counts.identical_files, 'file')} already there and skipped.")
    if counts.excluded_files:
        parts.append(f"{_are(counts.excluded_files, 'file')} left out by the filters.")
    changes = []
    if counts.overwrites:
        changes.append(f"{counted(counts.overwrites, 'file')} will be overwritten")
    if counts.deletes:
        changes.append(f"{counted(counts.deletes, 'name')} will be {_gone(execution)} at the destination")
    if execution.delete_source:
        changes.append(f"the source files will be {_gone(execution)} once verified")
    parts.append(f"{_sentence(changes)}." if changes else "Nothing is overwritten or deleted.")
    if counts.conflicts:
        meets = _do(counts.conflicts, "file", "meet")
        parts.append(f"{meets} something different at the destination and will be {_fate(execution)}.")
    parts.append(why(decision))
    return " ".join(parts)


def _probe_notes(execution: Execution, max_seconds: int) -> tuple[str, ...]:
    return (
        "Four legs, one after the other: memory to memory, storage to memory, memory to storage, storage to storage.",
        f"Each moves at most {sized(execution.max_bytes)}, within {max_seconds} s from its first byte.",
        "Files at the source are read, and none of their names is told to the other node.",
        "Files that are written never get a name at the destination: none is left, also when a node is killed.",
        _way(execution),
    )


def _way(execution: Execution) -> str:
    """Say what protects the bytes on their way; one node that holds both ends moves them inside its process."""
    if execution.source.node == execution.destination.node:
        return "Both places are on one host: Headrace sends nothing over a network."
    return "Encrypted with TLS 1.3." if execution.encryption == "required" else "NOT encrypted on the way."


def _different(execution: Execution, counts: SurveyCounts) -> str:
    """Say what happens to files that differ at the destination."""
    match execution.on_conflict:
        case "fail":
            return f"A file that differs at the destination fails; nothing is overwritten ({_now(counts.conflicts)})."
        case "skip":
            return f"A file that differs at the destination is left as it is ({_now(counts.conflicts)})."
        case "overwrite" if not counts.overwrites:
            return "A file that differs at the destination is overwritten, if it is still as surveyed (none now)."
        case "newer" if not counts.overwrites:
            return "An older file at the destination is overwritten (none now); newer ones there are left as they are."
        case "overwrite":
            return (
                f"{_are(counts.overwrites, 'file')} overwritten because of a difference at the destination "
                f"({sized(counts.overwritten_bytes)} there now), if still there as surveyed."
            )
        case "newer":
            return (
                f"{_are(counts.overwrites, 'file')} overwritten because of an older one at the destination "
                f"({sized(counts.overwritten_bytes)} there now); newer ones there are left as they are."
            )


def _leaves_files(execution: Execution) -> bool:
    """Whether a file that differs at the destination may be left there without a failure."""
    return execution.on_conflict in {"skip", "newer"}


def _fate(execution: Execution) -> str:
    """Say what becomes of what meets something different that stays; a survey does not count folders apart."""
    if _leaves_files(execution):
        return "skipped, or reported as failed where one of the two is a folder"
    return "reported as failed"


def _now(count: int) -> str:
    """Say how many differ now."""
    return f"{count:,} {'differs' if count == 1 else 'differ'} now" if count else "none now"


def _deleted(execution: Execution, counts: SurveyCounts) -> str:
    """Say what happens to names that only the destination has."""
    if not execution.delete_extraneous:
        return "Nothing is deleted at the destination."
    fate = "deleted" if execution.trash is None else "moved to the trash"
    return (
        f"{_are(counts.deletes, 'name')} {fate} at the destination because the source has no such name "
        f"({sized(counts.deleted_bytes)}); excluded files are never deleted."
    )


def _gone(execution: Execution) -> str:
    """Say what becomes of a file that is deleted."""
    if execution.trash is None:
        return "deleted"
    return f"moved to the trash, kept {counted(execution.trash.keep_days, 'day')},"


def _sentence(parts: list[str]) -> str:
    """Join with `and`, beginning with a capital."""
    joined = " and ".join(parts)
    return joined[:1].upper() + joined[1:]


def _are(count: int, noun: str) -> str:
    """Write a count with its noun and `is` or `are`."""
    return f"{counted(count, noun)} {'is' if count == 1 else 'are'}"


def _do(count: int, noun: str, verb: str) -> str:
    """Write a count with its noun and its verb."""
    return f"{counted(count, noun)} {verb}{'s' if count == 1 else ''}"
