"""From what somebody sent to a typed intent: slots as they are, changes to an earlier plan, or words.

Whatever it was, it meets the same resolution: endpoints by their registered names, times ahead, one reading or a
question.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import select

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.planning.intents import changed, from_reading, is_transfer, sentence_of, to_reading
from headrace.api.planning.model_reading import ModelReading
from headrace.api.planning.origins import origins_of_project, origins_of_slots, origins_of_words
from headrace.api.planning.rates import require_rate
from headrace.api.planning.schedule import require_near
from headrace.api.policy.deciding import Deciding
from headrace.api.sites.endpoints import Endpoints, Known
from headrace.api.store.tables_work import TransferRow
from headrace.client import models as m
from headrace.guardrails import MAX_AHEAD, check_abilities
from headrace.guardrails.intents.origins import Origins
from headrace.guardrails.language import (
    Choice,
    Context,
    Endpoint,
    Intent,
    Interpretation,
    PlanRef,
    Question,
    Registry,
    TransferRef,
    apply_changes,
    asks_to_read_back,
    canonical_sentence,
    check_intent,
    disagreements,
    interpret,
)

_MAX_TRANSFERS = 1000
_COMMANDS = {"cancel": "cancel", "pause": "pause", "resume": "resume", "status": "status", "list": "status"}
"""The command for what is asked of transfers that there are."""
_LAST = "last"
_ENDS = frozenset({"source", "destination"})
KEPT = frozenset({"start", "deadline", "window", "priority"})
"""Slots that the service keeps itself."""
LOCAL_ENDPOINT = "local"
"""The endpoint that a bare path names."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was understood: an intent, or the questions and refusals that stand before one."""

    intent: m.TransferIntent | None
    questions: tuple[m.Question, ...] = ()
    refusals: tuple[m.Refusal, ...] = ()
    danger: tuple[str, ...] = ()
    origins: Origins = field(default_factory=dict)
    """Where each slot of the intent comes from."""
    model: str = ""
    """Which language model was asked, and what came of it; empty when none was."""
    left_out: tuple[str, ...] = ()
    """The words that it took for background, and that are no part of the request."""


class Words:
    """Reads requests."""

    def __init__(self, core: Core, endpoints: Endpoints, model: ModelReading | None = None) -> None:
        """Read what names the endpoints of the registry; `model` is asked about words that are asked back."""
        self._core = core
        self._model = model
        self._endpoints = endpoints
        # A long text takes a second: who sends many waits for them, and nobody else does.
        self._reading = Deciding("reading of words")
        self._named: tuple[tuple[Known, ...] | None, Mapping[bool, Registry]] = None, {}

    async def read(self, caller: Caller, request: m.PlanRequest, before: m.Plan | None) -> Reading:
        """Read a request to plan; `before` is the earlier plan that a follow-up is about."""
        reading = _for_project(await self._read(caller, request, before), request.project, caller)
        refusals = self._refused(reading.intent)
        return replace(reading, intent=None, refusals=refusals, origins={}) if refusals else reading

    def _refused(self, intent: m.TransferIntent | None, said: Mapping[str, str] | None = None) -> tuple[m.Refusal, ...]:
        """Say what of an intent this site takes from nobody, however it was asked for; `said`: in which words."""
        if intent is None:
            return ()
        unable = check_abilities(intent, KEPT)
        refusals = [m.Refusal(rule=one.rule, message=one.message, words=one.words) for one in unable]
        checks: dict[str, Callable[[], None]] = {
            "rate_limit_bps": lambda: require_rate(intent.rate_limit_bps, self._core.settings.min_rate_bps),
            "start": lambda: _check_start(intent, self._core.clock()),
            "deadline": lambda: require_near(intent.deadline, self._core.clock()),
        }
        for slot, check in checks.items():
            try:
                check()
            except ServiceError as error:
                refusals.append(m.Refusal(rule=error.code, message=error.detail, words=(said or {}).get(slot, "")))
        return tuple(refusals)

    async def _read(self, caller: Caller, request: m.PlanRequest, before: m.Plan | None) -> Reading:
        context = await self._context(caller, request.words or "", request.timezone, before)
        person = caller.principal.id
        read = await self._reading.run(person, interpret, request.words, context) if request.words is not None else None
        if request.intent is None and request.changes is None:
            found, told = read or Interpretation("ask", Intent()), ""
            if self._model is not None and found.outcome == "ask" and before is None:
                found, told = await self._model.read(person, request.words or "", context, found)
            return replace(self._to_plan(caller, found, context, before), model=told)
        typed = request.intent or changed(_intent_of(before), request.changes or m.Changes())
        answer = await self._reading.run(person, check_intent, to_reading(typed), context)
        if answer.outcome != "intent" or answer.intent.source is None or answer.intent.destination is None:
            return _stopped(answer, context)
        if read is not None and (stopped := _held_against(read, answer.intent, context, before)):
            return stopped
        spelled = {"source": str(answer.intent.source), "destination": str(answer.intent.destination)}
        intent = typed.model_copy(update=spelled)
        danger = tuple(sorted({*answer.danger, *(read.danger if read else ())}))
        return Reading(intent, danger=danger, origins=origins_of_slots(intent, caller, before, read))

    async def interpret(self, caller: Caller, request: m.InterpretRequest, before: m.Plan | None) -> m.Interpretation:
        """Read words, or say an intent in words; nothing is listed, kept or moved."""
        if (request.text is None) == (request.intent is None):
            raise ServiceError(Code.INVALID_REQUEST, "give words or an intent, and not both", fields=("text", "intent"))
        context = await self._context(caller, request.text or "", request.timezone, before)
        person = caller.principal.id
        if request.intent is not None:
            typed = to_reading(request.intent)
            answer = replace(await self._reading.run(person, check_intent, typed, context), intent=typed)
        else:
            answer = await self._reading.run(person, interpret, request.text or "", context)
        complete = answer.outcome == "intent"
        transfer = _typed(answer.intent, answer, request.intent) if complete and is_transfer(answer.intent) else None
        refused = self._refused(transfer, {span.slot: span.text for span in answer.spans})
        return m.Interpretation(
            outcome="refuse" if refused else answer.outcome,
            action=answer.intent.action,
            transfer=None if refused else transfer,
            slots={slot: _shown(value) for slot, value in answer.intent.to_json().items()},
            questions=_questions(answer, context),
            refusals=[*_refusals(answer), *refused],
            danger=list(answer.danger),
            spans=[
                m.Span(start=span.start, end=span.end, text=span.text, slot=span.slot, reading=span.reading)
                for span in answer.spans
            ],
            canonical_sentence=_said(answer.intent, request.intent) if complete or request.intent is not None else None,
        )

    def _to_plan(self, caller: Caller, answer: Interpretation, context: Context, before: m.Plan | None) -> Reading:
        """Turn the reading of words into an intent to plan, or say why it is none."""
        intent, earlier, read = answer.intent, None, answer
        if answer.outcome == "intent" and intent.action == "modify" and intent.changes is not None:
            earlier = _intent_of(before)
            answer = check_intent(apply_changes(to_reading(earlier), intent.changes), context)
            intent = answer.intent
        if answer.outcome != "intent":
            return _stopped(answer, context)
        if not is_transfer(intent):
            return Reading(None, (_no_plan(intent),))
        planned = _typed(intent, read, earlier)
        origins = origins_of_words(planned, caller, before if earlier else None, read)
        left_out = tuple(one.text for one in read.left_out)
        return Reading(planned, danger=answer.danger, origins=origins, left_out=left_out)

    async def _context(self, caller: Caller, text: str, timezone: str | None, before: m.Plan | None) -> Context:
        zone = _zone(timezone or self._core.settings.timezone)
        async with self._core.database.read() as tx:
            known = await self._endpoints.registry(tx)
            query = select(TransferRow.id).where(TransferRow.requester == caller.principal.id)
            own = list(await tx.scalars(query.order_by(TransferRow.created.desc()).limit(_MAX_TRANSFERS)))
        # People write ids with or without their prefix; the one reading holds for the whole text.
        prefix = "" if "tr_" in text else "tr_"
        earlier = before.intent if before else None
        return Context(
            now=self._core.clock().astimezone(zone),
            timezone=zone.key,
            endpoints=self._names_of(known)[caller.on_host],
            plans=(
                (PlanRef(_LAST, earlier.source, earlier.destination, confirmed=before.confirmed),)
                if before and earlier
                else ()
            ),
            transfers=tuple(TransferRef(one.removeprefix(prefix), mine=True) for one in own),
        )

    def _names_of(self, known: tuple[Known, ...]) -> Mapping[bool, Registry]:
        """Return the names of the registry for who is on this host, and who is not: the same as long as it is."""
        if self._named[0] is not known:
            names = [Endpoint(id=one.id, aliases=one.aliases, node=one.node_name, access=one.access) for one in known]
            others = Registry(one for one in names if one.id != LOCAL_ENDPOINT)
            self._named = known, {True: Registry(names), False: others}
        return self._named[1]


def _for_project(reading: Reading, project: str | None, caller: Caller) -> Reading:
    """Take up the project that is named beside words or slots; one that the earlier plan has already stays as it is."""
    if reading.intent is None or project in {None, reading.intent.project}:
        return reading
    intent = reading.intent.model_copy(update={"project": project})
    return replace(reading, intent=intent, origins=origins_of_project(reading.origins, caller))


def _typed(intent: Intent, read: Interpretation, before: m.TransferIntent | None) -> m.TransferIntent:
    """Return an intent as a typed one; "verify afterwards" says when, which the slots of words don't hold."""
    typed = from_reading(intent, before)
    reads_back = any(span.slot == "verify" and asks_to_read_back(span.text) for span in read.spans)
    return typed.model_copy(update={"verify": "at-rest"}) if reads_back and typed.verify == "default" else typed


def _held_against(read: Interpretation, typed: Intent, context: Context, before: m.Plan | None) -> Reading | None:
    """Hold words against the typed slots beside them: refusals and questions of the two, or None when they agree."""
    if read.outcome == "refuse":
        return _stopped(read, context)
    patch, whole = read.intent.changes, None
    if read.intent.action == "modify" and patch is not None and before is not None and before.intent is not None:
        whole = check_intent(apply_changes(to_reading(before.intent), patch), context).intent
    questions = disagreements(read, typed, whole)
    return _stopped(replace(read, questions=questions), context) if questions else None


def _stopped(answer: Interpretation, context: Context) -> Reading:
    return Reading(None, tuple(_questions(answer, context)), tuple(_refusals(answer)), answer.danger)


def _no_plan(intent: Intent) -> m.Question:
    """Say of a request that was understood why it is no plan."""
    if intent.then:
        message = "these are several transfers in a row; plan them one by one"
        return m.Question(slot="then", message=message)
    action = intent.action or ""
    message = f"this asks for `{action}`, and only a copy, sync or move can be planned"
    if action in _COMMANDS:
        one = intent.target.id if intent.target else None
        message += f": for this, use `headrace {_COMMANDS[action]} {one or 'TRANSFER'}` or the transfer's page"
        if action in ("cancel", "pause") and one is None:
            message += "; an operator stops all at once with `headrace halt everything --reason WHY`"
    return m.Question(slot="action", message=message)


def _questions(answer: Interpretation, context: Context) -> list[m.Question]:
    return [
        m.Question(
            slot=one.slot,
            message=one.message,
            words=one.words,
            start=one.start,
            end=one.end,
            choices=[m.Choice(value=choice.value, label=choice.label) for choice in _fitting(one, answer, context)],
        )
        for one in answer.questions
    ]


def _fitting(question: Question, answer: Interpretation, context: Context) -> tuple[Choice, ...]:
    """Return the suggested answers; of places only those that allow what is needed, and never the other end.

    Where none is left of those suggested, others that allow it are offered with the same path.
    """
    if question.slot not in _ENDS or not question.choices:
        return question.choices
    other = getattr(answer.intent, "destination" if question.slot == "source" else "source")
    allowing = [
        one.id
        for one in context.endpoints
        if (question.slot == "source" or one.access != "read") and (other is None or one.id != other.endpoint)
    ]
    known = {one.id for one in context.endpoints}
    fitting = [
        one for one in question.choices if (place := one.value.partition(":")[0]) in allowing or place not in known
    ]
    if fitting:
        return tuple(fitting)
    path = question.choices[0].value.partition(":")[2]
    rest = f":{path}" if path else ""
    return tuple(Choice(f"{one}{rest}", f"the endpoint {one}") for one in allowing[: len(question.choices)])


def _refusals(answer: Interpretation) -> list[m.Refusal]:
    return [m.Refusal(rule=one.rule, message=one.message, words=one.words) for one in answer.refusals]


def _said(intent: Intent, typed: m.TransferIntent | None) -> str | None:
    """Return the sentence of what was read or typed, if words can say it."""
    if typed is not None:
        return sentence_of(typed) or None
    try:
        return canonical_sentence(intent)
    except ValueError:
        return None


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ServiceError(
            Code.INVALID_REQUEST,
            f"`{name[:60]}` is not an IANA time zone; write one such as `Europe/Berlin`",
            fields=("timezone",),
        ) from error


def _intent_of(before: m.Plan | None) -> m.TransferIntent:
    if before is None or before.intent is None:
        raise ServiceError(
            Code.PLAN_NOT_READY,
            "the earlier plan holds no complete request to change; say the whole request",
            fields=("plan",),
        )
    return before.intent


def _check_start(intent: m.TransferIntent, now: datetime) -> None:
    """Refuse a start that lies too far ahead; that it lies ahead is checked with the other slots."""
    latest = now + MAX_AHEAD
    if intent.start is not None and intent.start >= latest:
        raise ServiceError(
            Code.NOT_SUPPORTED_YET,
            f"a start may lie at most {MAX_AHEAD.days} days ahead: before {latest:%Y-%m-%d %H:%M} UTC",
            fields=("start",),
        )
