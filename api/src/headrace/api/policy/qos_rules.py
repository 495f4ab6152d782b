"""Links, classes and calendars as a text: read, and held against what must be so. Pure functions.

The text is TOML with `[[link]]`, `[[class]]`, `[[calendar]]`, `[tuning]` and `[[pair]]`. Whatever is wrong is said with
where it is and what to do.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import ValidationError

from headrace.api.policy.toml_text import parse
from headrace.client import models as m
from headrace.client.text import bit_rate, visible

BUILT_IN: Final = """\
# Links, classes and calendars: see docs/operations/qos.md. Of two classes, the one that stands first is the lower.

[[class]]
name = "background"
weight = 1

[[class]]
name = "bulk"
weight = 10

[[class]]
name = "priority"
weight = 100
"""
"""What a new site starts with: without links, nothing is shared."""

STANDING: Final = ("background", "bulk", "priority")
"""Classes that requests ask for as priority low, normal and high: every site has them, in this order."""
MOST_LINKS: Final = 8
"""Links that a node schedules for one transfer at most."""
_SECTIONS: Final = {
    "link": "links", "class": "classes", "calendar": "calendars", "tuning": "tuning", "pair": "pairs",
}  # fmt: skip
_KINDS: Final = {section: kind for kind, section in _SECTIONS.items()}
_MOST_PROBLEMS: Final = 100


def read(text: str) -> m.QosDocument | list[m.QosProblem]:
    """Read a text; what is wrong with it when it can't be. A long text takes most of a second: read it in a thread."""
    found = parse(text)
    if isinstance(found, str):
        return [m.QosProblem(where="", message=found)]
    unknown = sorted(set(found) - set(_SECTIONS))
    if unknown:
        known = "`[[link]]`, `[[class]]`, `[[calendar]]`, `[tuning]` and `[[pair]]`"
        return [m.QosProblem(where=f"`{_short(unknown[0])}`", message=f"this is unknown; a text holds {known}")]
    body = {_SECTIONS[kind]: value for kind, value in found.items()}
    try:
        return m.QosDocument.model_validate(body)
    except ValidationError as error:
        return [_problem(body, one["loc"], one["msg"]) for one in error.errors(include_url=False)[:_MOST_PROBLEMS]]


def _problem(body: Mapping[str, object], loc: tuple[int | str, ...], said: str) -> m.QosProblem:
    """Say where something does not fit, by the names of the text."""
    section, *rest = loc
    where, entry = _KINDS.get(str(section), str(section)), body.get(str(section))
    if rest and isinstance(entry, list) and isinstance(rest[0], int):
        one = entry[rest[0]]
        name = _name_of(one) if isinstance(one, dict) else None
        where += f" `{_short(str(name))}`" if name else f" {rest[0] + 1}"
        rest = rest[1:]
    place = ".".join(map(str, rest))
    return m.QosProblem(where=f"{where}: {place}" if place else where, message=f"{said}; correct it")


def _name_of(entry: Mapping[str, object]) -> str | None:
    if "source" in entry and "destination" in entry:
        return f"{entry['source']} to {entry['destination']}"
    return None if entry.get("name") is None else str(entry["name"])


def _short(text: str) -> str:
    return visible(text, 60)


def problems_of(document: m.QosDocument) -> list[m.QosProblem]:
    """Find what is wrong with a document as such."""
    found = (m.QosProblem(where=where, message=message) for where, message in _wrong(document))
    return [one for one, _ in zip(found, range(_MOST_PROBLEMS), strict=False)]


def _wrong(document: m.QosDocument) -> Iterator[tuple[str, str]]:
    yield from _wrong_names(document)
    links = {one.name: one for one in document.links}
    calendars = {one.name for one in document.calendars}
    for link in document.links:
        floors = sum(own.floor_bps for one in document.classes for own in one.links if own.link == link.name)
        yield from _wrong_link(link, floors)
    behind = Counter(name for link in document.links for name in set(link.nodes))
    for name, count in behind.items():
        if count > MOST_LINKS:
            yield f"node `{_short(name)}`", f"it stands behind {count} links; a node takes part in {MOST_LINKS} at most"
    for one in document.classes:
        yield from _wrong_class(one, links, calendars)
    for calendar in document.calendars:
        yield from _wrong_calendar(calendar)
    yield from _wrong_pairs(document.pairs)


def _wrong_names(document: m.QosDocument) -> Iterator[tuple[str, str]]:
    for kind, of in (("link", document.links), ("class", document.classes), ("calendar", document.calendars)):
        for name, count in Counter(one.name for one in of).items():
            if count > 1:
                yield f"{kind} `{name}`", f"there are {count} of this name; keep one"
    order = [one.name for one in document.classes if one.name in STANDING]
    for name in STANDING:
        if name not in order:
            yield f"class `{name}`", "every site has this class, which requests ask for by their priority; add it"
    if set(order) == set(STANDING) and tuple(dict.fromkeys(order)) != STANDING:
        yield "classes", f"{', '.join(STANDING)} stand in this order, the lowest first; put them so"


def _wrong_link(link: m.QosLink, floors: int) -> Iterator[tuple[str, str]]:
    where = f"link `{link.name}`"
    if link.rate_bps is not None and floors > link.rate_bps:
        said = f"the floors of classes are {bit_rate(floors)} together, above its {bit_rate(link.rate_bps)}"
        yield where, f"{said}; lower `floor_bps` of a class"
    if not link.nodes:
        yield f"{where}: nodes", "no node is behind it; name at least one"
    for name, count in Counter([*link.nodes, *link.peers]).items():
        if count > 1:
            both = name in link.nodes and name in link.peers
            said = "is both behind it and reached over it" if both else "is named twice"
            yield f"{where}: nodes", f"node `{_short(name)}` {said}; name it once"


def _wrong_class(
    one: m.QosClass, links: Mapping[str, m.QosLink], calendars: Collection[str]
) -> Iterator[tuple[str, str]]:
    where = f"class `{one.name}`"
    if links and not one.links:
        yield f"{where}: links", f"it names no link; name at least one of {_listed(links)}"
    for name, count in Counter(own.link for own in one.links).items():
        if name not in links:
            yield f"{where}: links", f"there is no link `{name}`; there are {_listed(links) or 'none'}"
        elif count > 1:
            yield f"{where}: links", f"link `{name}` is named {count} times; name it once"
    for own in one.links:
        rate = links[own.link].rate_bps if own.link in links else None
        at = f"{where}: link `{own.link}`"
        if own.ceiling_bps is not None and own.ceiling_bps < own.floor_bps:
            yield at, "its ceiling is below its floor; raise `ceiling_bps` or lower `floor_bps`"
        if rate is not None and own.floor_bps > rate:
            yield at, f"its floor is above the link's {bit_rate(rate)}; lower `floor_bps`"
    if one.calendar is not None and one.calendar not in calendars:
        yield f"{where}: calendar", f"there is no calendar `{one.calendar}`; there are {_listed(calendars) or 'none'}"


def _wrong_calendar(calendar: m.QosCalendar) -> Iterator[tuple[str, str]]:
    where = f"calendar `{calendar.name}`"
    if not calendar.hours:
        yield f"{where}: hours", "it has no hours, so it would never be open; give `[[calendar.hours]]` with days"
    for one in calendar.hours:
        if one.opens in {one.closes, "24:00"}:
            yield f"{where}: hours", f"hours from {one.opens} to {one.closes} have no length; give another time"
    try:
        ZoneInfo(calendar.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        zone = _short(calendar.zone)
        yield f"{where}: zone", f"`{zone}` is not an IANA time zone; give one such as `Europe/Berlin` or `UTC`"


def _wrong_pairs(pairs: Collection[m.QosPair]) -> Iterator[tuple[str, str]]:
    for (source, destination), count in Counter((one.source, one.destination) for one in pairs).items():
        if count > 1:
            yield f"pair `{source} to {destination}`", f"there are {count} of it; keep one"
    for one in pairs:
        if one.streams is None and one.unit_bytes is None:
            yield f"pair `{one.source} to {one.destination}`", "it sets nothing; give `streams`, `unit_bytes` or both"


def _listed(names: Collection[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
