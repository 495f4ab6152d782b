"""Why a decision is not a plain yes: the facts that decided, and the smallest changes that are decided more mildly.

An alternative is found by trying: the recorded request is altered in one respect and decided again by the same policy.
What is offered has so been decided, not guessed. So many evaluations are made for each kind of change, and no more:
what is not found by then is not offered. Where no single change helps, all are tried together, and those that
are not needed are left away again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol

from headrace.guardrails.intents.text import counted, human_bytes, shown
from headrace.guardrails.policy.decide import Budget, Spent, may_be_told, redecide
from headrace.guardrails.policy.decision import Decision, Outcome
from headrace.guardrails.policy.facts import Moment
from headrace.guardrails.policy.narrowing import halved, narrowed
from headrace.guardrails.policy.places import inside
from headrace.guardrails.policy.policy_set import PolicySet
from headrace.guardrails.policy.record import LIMITS, asks_only_to_look, in_this_form, read_record
from headrace.guardrails.seal.documents import Json, JsonObject, canonical, utc_text, utc_time
from headrace.guardrails.seal.execution import grown_bytes, grown_files

MAX_ALTERNATIVES: Final = 5
MAX_TRIED: Final = 200
"""Evaluations that are made to find one kind of alternative, or to decide those found."""
MAX_SEARCHED: Final = 2000
"""Evaluations that are made to find the hours at which a request is not denied."""
_MAX_TOGETHER: Final = 8
_MAX_PLACES: Final = 50
_HOURS_AHEAD: Final = 7 * 24
_HALF_HOURS: Final = 7 * 48
_HALF_HOUR: Final = timedelta(minutes=30)
_MINUTE: Final = timedelta(minutes=1)
_WEEK: Final = timedelta(days=7)
_STRICTNESS: Final[Mapping[Outcome, int]] = {"allowed": 0, "confirm": 1, "approve": 2, "denied": 3}
_SESSION: Final[JsonObject] = {"session": True, "credential": "session"}
_BY_PASSKEY: Final = ("mfa", "passkey", "pop")
_HOURS: Final = frozenset({"weekday", "minute", "start"})
_ONLY_LOOKS: Final = "to be listed; the transfer itself was not decided"
_DAY_NAMES: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class DecidingFact:
    """A fact that the deciding rules look at, and what it was, for people."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """What the request would have to be, in words that follow "it would be allowed", and what would be said of it."""

    words: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a request got its answer."""

    facts: tuple[DecidingFact, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    """One way to alter a request."""

    words: str
    apply: Callable[[JsonObject], JsonObject]


def explain(policies: PolicySet | None, decision: Decision) -> Explanation:
    """Name the facts that decided, and up to five changes after which the answer is milder, the mildest first."""
    if policies is None or policies.version != decision.policy_version or not decision.context_json:
        return Explanation()
    try:
        record = _altered_from(policies, decision)
        read = _read_by(policies, decision)
        alternatives = () if decision.outcome == "allowed" else _alternatives(policies, decision, record, read)
        if asks_only_to_look(decision.context_json):
            alternatives = tuple(replace(one, words=f"{one.words} ({_ONLY_LOOKS})") for one in alternatives)
        return Explanation(_facts(record, read), alternatives)
    except (ValueError, TypeError, KeyError):
        return Explanation()


def next_hours(
    policies: PolicySet | None, decision: Decision, at: datetime, zone: str, *, within: timedelta = _WEEK
) -> datetime | None:
    """Return when a request that is denied at `at` would not be, if only the hours stand in its way.

    Looked for `within` a time of at most a week, in full and half hours of the site's `zone` and then to the minute; at
    most 341 decisions and `MAX_SEARCHED` evaluations, and none when no rule that decided looks at hours. What is not
    found by then is no opening.
    """
    if policies is None or policies.version != decision.policy_version or not decision.context_json:
        return None
    try:
        record = _altered_from(policies, decision)
    except (ValueError, TypeError, KeyError):
        return None
    if decision.outcome != "denied" or not _read_by(policies, decision) & _HOURS:
        return None
    budget = Budget(MAX_SEARCHED, worded=False)

    def opens(moment: datetime) -> bool:
        seen = Moment(now=at, zone=zone, start=moment).context()
        facts = {name: str(seen[name]) for name in ("start", "weekday", "minute")}
        return redecide(policies, canonical(_with(record, facts)).decode(), budget).outcome != "denied"

    try:
        return _opening(opens, at, within)
    except Spent:
        return None


def _opening(opens: Callable[[datetime], bool], at: datetime, within: timedelta) -> datetime | None:
    first = at.replace(minute=at.minute // 30 * 30, second=0, microsecond=0)
    steps = min(_HALF_HOURS, within // _HALF_HOUR + 1)
    found = next((half for step in range(1, steps + 1) if opens(half := first + step * _HALF_HOUR)), None)
    if found is None:
        return None
    shut = max(found - _HALF_HOUR, at.replace(second=0, microsecond=0))
    while found - shut > _MINUTE:
        middle = shut + (found - shut) // _MINUTE // 2 * _MINUTE
        shut, found = (shut, middle) if opens(middle) else (middle, found)
    return found


def _altered_from(policies: PolicySet, decision: Decision) -> JsonObject:
    """Read what was decided, to alter it: in the form of today, whatever its own is.

    Raises `ValueError` where the policy reads what its form lacks: that was denied, and so is all that is made of it.
    """
    record, lacking = read_record(decision.context_json)
    if lacking & policies.attributes:
        raise ValueError(lacking)
    return in_this_form(record)


def _read_by(policies: PolicySet, decision: Decision) -> frozenset[str]:
    """Collect what the deciding rules look at; where no rule permits, what those look at that could."""
    ids = {rule.id for rule in decision.rules}
    deciding = [rule for rule in policies.rules if rule.id in ids]
    deciding = deciding or [rule for rule in policies.rules if rule.effect == "permit"]
    return frozenset[str]().union(*(rule.attributes for rule in deciding))


def _facts(record: JsonObject, read: frozenset[str]) -> tuple[DecidingFact, ...]:
    resource = _mapping(record["resource"])
    limits = {name: resource[name] for name in LIMITS if name in resource}
    known = {**_mapping(record["context"]), **limits}
    return tuple(DecidingFact(name, _worded(name, known[name])) for name in sorted(read & set(known)))


def _worded(name: str, value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return _origins_worded(value)
    if value is None:
        return "none"
    if name == "bytes" or name.endswith("_bytes"):
        return human_bytes(int(str(value)))
    return shown(str(value)) or "none"


def _origins_worded(origins: JsonObject) -> str:
    """Say which slots somebody gave, by who did."""
    slots: dict[str, list[str]] = {}
    for slot, kind in origins.items():
        slots.setdefault(str(kind), []).append(slot)
    return "; ".join(f"{kind}: {', '.join(known)}" for kind, known in sorted(slots.items()) if kind != "assumed")


@dataclass(frozen=True, slots=True)
class _Tries:
    """Decides altered requests, as many as the budget of one kind of change lets."""

    policies: PolicySet
    now: int
    budget: Budget = field(default_factory=lambda: Budget(MAX_TRIED, worded=False))

    def outcome(self, altered: JsonObject) -> Outcome:
        """Decide; raises `Spent` when the budget is used up."""
        return redecide(self.policies, canonical(altered).decode(), self.budget).outcome

    def milder(self, altered: JsonObject) -> bool:
        """Whether the answer is milder than the one that is explained."""
        return _STRICTNESS[self.outcome(altered)] < self.now

    def anew(self) -> "_Tries":
        """Begin another kind of change."""
        return _Tries(self.policies, self.now)


def _alternatives(
    policies: PolicySet, decision: Decision, record: JsonObject, read: frozenset[str]
) -> tuple[Alternative, ...]:
    now = _STRICTNESS[decision.outcome]
    tries = _Tries(policies, now)
    steps = list(_steps(record, read, policies, tries))
    tried = tries.anew()
    found: list[Alternative] = []
    with suppress(Spent):
        for step in steps:
            made = tried.outcome(step.apply(record))
            if _STRICTNESS[made] < now:
                found.append(Alternative(step.words, made))
    if not found:
        with suppress(Spent):
            found += _together(steps[:_MAX_TOGETHER], record, tries.anew().outcome, now)
    return tuple(sorted(found, key=lambda one: _STRICTNESS[one.outcome])[:MAX_ALTERNATIVES])


def _together(
    steps: list[_Step], record: JsonObject, outcome: Callable[[JsonObject], Outcome], now: int
) -> Iterator[Alternative]:
    """Try all steps at once, and leave away what is not needed."""

    def after(some: list[_Step]) -> Outcome:
        altered = record
        for step in some:
            altered = step.apply(altered)
        return outcome(altered)

    best = after(steps)
    if _STRICTNESS[best] >= now:
        return
    for step in list(steps):
        rest = [other for other in steps if other is not step]
        if _STRICTNESS[after(rest)] <= _STRICTNESS[best]:
            steps = rest
    yield Alternative(" and ".join(step.words for step in steps), best)


def _steps(record: JsonObject, read: frozenset[str], policies: PolicySet, tries: _Tries) -> Iterator[_Step]:
    """Go through what somebody could ask for instead, the smallest first."""
    context, caller = _mapping(record["context"]), _mapping(record["caller"])
    yield from _within_budget(_places(record, policies, tries.anew()))
    if "on_conflict" in context and (int(str(context["overwrites"])) or "on_conflict" in read):
        kept: JsonObject = {
            "overwrites": "0",
            "overwritten_bytes": "0",
            "overwrite_share_percent": "0",
            "on_conflict": "skip",
        }
        yield _setting("leaving files that differ as they are", kept)
    if int(str(context.get("deletes", 0))):
        none: JsonObject = {"deletes": "0", "deleted_bytes": "0", "delete_share_percent": "0"}
        yield _setting("without deleting at the destination", none)
    if record["action"] == "move":
        yield _Step(
            "as a copy, which leaves the source",
            lambda asked: {**_with(asked, {"moved_files": "0", "move_share_percent": "0"}), "action": "copy"},
        )
    if context.get("encrypted") is False:
        yield _setting("encrypted", {"encrypted": True})
    yield from (
        step
        for size in (_BYTES, _FILES)
        if size.reads & read
        for step in _within_budget(_fewer(record, size, tries.anew().milder))
    )
    yield from (
        step for name in LIMITS if name in read for step in _within_budget(_narrower(record, name, tries.anew().milder))
    )
    if caller["agent"] is not None:
        yield _Step(
            "asked by the person, without an assistant",
            lambda asked: {**_with(asked, _typed(asked)), "caller": {**_mapping(asked["caller"]), "agent": None}},
        )
    if read & set(_SESSION) and context["session"] is False:
        yield _setting("asked in the person's own session", _SESSION)
    if "factors" in read and "passkey" not in _texts(context["factors"]):
        yield _setting("asked after a sign-in with a passkey", {**_SESSION, "factors": _BY_PASSKEY})
    if read & _HOURS:
        yield from _within_budget(_later(record, tries.anew().milder))


def _within_budget(steps: Iterator[_Step]) -> Iterator[_Step]:
    """Offer nothing of a kind whose budget was used up before it was found."""
    with suppress(Spent):
        yield from steps


def _typed(record: JsonObject) -> JsonObject:
    """Give the origins of a request whose slots the person typed, and no assistant."""
    context = _mapping(record["context"])
    by: JsonObject = {"credential": "token"} if context["credential"] == "assistant-token" else {}
    if "origins" not in context:
        return by
    origins = _mapping(context["origins"])
    return {**by, "origins": {slot: "typed" if kind == "assistant" else kind for slot, kind in origins.items()}}


def _places(record: JsonObject, policies: PolicySet, tries: _Tries) -> Iterator[_Step]:
    """Leave out the places whose rules are in the way."""
    # What is known by a label alone is not named, so nothing that leaves it out is offered.
    known = [place for place in inside(record, policies.places, labels=policies.reads_labels) if place.is_told]
    if not 0 < len(known) <= _MAX_PLACES:
        return
    rests = [place.rest for place in known]

    def strictness(out: Iterable[tuple[str, ...]]) -> int:
        return _STRICTNESS[tries.outcome(_without(record, out))]

    best = strictness(rests)
    beside = {rest: [other for other in rests if rest[: len(other)] != other] for rest in rests}
    needed = [rest for rest in rests if strictness(beside[rest]) > best]
    told = (may_be_told(policies, record, place, tries.budget) for place in known if place.rest in needed)
    if needed and all(told):
        names = " and ".join(f"`{shown('/'.join(rest))}`" for rest in needed)
        yield _Step(f"without {names}", lambda asked: _without(asked, needed))


class _Grown(Protocol):
    def __call__(self, count: int, *, moves: bool) -> int: ...


@dataclass(frozen=True, slots=True)
class _Size:
    """A count that a plan has with its ceiling."""

    count: str
    ceiling: str
    grown: _Grown
    said: Callable[[int], str]

    @property
    def reads(self) -> frozenset[str]:
        return frozenset({self.count, self.ceiling})


_BYTES: Final = _Size("bytes", "max_bytes", grown_bytes, human_bytes)
_FILES: Final = _Size("files", "max_files", grown_files, lambda most: counted(most, "file"))


def _fewer(record: JsonObject, size: _Size, milder: Callable[[JsonObject], bool]) -> Iterator[_Step]:
    """Find the most that is decided more mildly, by halving; the ceiling follows the count."""

    def holding(most: int) -> JsonObject:
        return {size.count: str(most), size.ceiling: str(size.grown(most, moves=record["action"] == "move"))}

    few, many = 1, int(str(_mapping(record["context"])[size.count]))
    if many <= few or not milder(_with(record, holding(few))):
        return
    few = halved(few, many, lambda most: milder(_with(record, holding(most))))
    yield _setting(f"with at most {size.said(few)}", holding(few))


def _narrower(record: JsonObject, name: str, milder: Callable[[JsonObject], bool]) -> Iterator[_Step]:
    """Take fewer files: those that a filter of size or time lets through."""
    for words, limit in narrowed(record, name, milder):
        yield _Step(words, partial(_limited, limit))


def _limited(limit: JsonObject, record: JsonObject) -> JsonObject:
    return {**record, "resource": {**_mapping(record["resource"]), **limit}}


def _later(record: JsonObject, milder: Callable[[JsonObject], bool]) -> Iterator[_Step]:
    """Find the first full hour in the days ahead at which the answer is milder."""
    context = _mapping(record["context"])
    begins, day, minute = utc_time(str(context["start"])), int(str(context["weekday"])), int(str(context["minute"]))
    for hours in range(1, _HOURS_AHEAD):
        ahead = hours * 60 - minute % 60
        days, of_day = divmod(minute + ahead, 24 * 60)
        weekday = (day - 1 + days) % 7 + 1
        moment: JsonObject = {
            "start": utc_text(begins + timedelta(minutes=ahead)),
            "weekday": str(weekday),
            "minute": str(of_day),
        }
        if milder(_with(record, moment)):
            words = f"if it starts on {_DAY_NAMES[weekday - 1]} at {of_day // 60:02}:{of_day % 60:02}"
            yield _setting(words, moment)
            return


def _setting(words: str, facts: JsonObject) -> _Step:
    return _Step(words, lambda asked: _with(asked, facts))


def _without(record: JsonObject, rests: Iterable[tuple[str, ...]]) -> JsonObject:
    resource = _mapping(record["resource"])
    return {**record, "resource": {**resource, "exclude": [*_list(resource["exclude"]), *map("/".join, rests)]}}


def _with(record: JsonObject, facts: JsonObject) -> JsonObject:
    return {**record, "context": {**_mapping(record["context"]), **facts}}


def _mapping(value: Json) -> JsonObject:
    if not isinstance(value, Mapping):
        raise TypeError(value)
    return value


def _list(value: Json) -> list[Json]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise TypeError(value)
    return list(value)


def _texts(value: Json) -> frozenset[str]:
    return frozenset(map(str, value)) if isinstance(value, list | tuple) else frozenset()
