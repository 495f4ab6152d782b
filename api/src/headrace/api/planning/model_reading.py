"""A language model that is asked about a request which the grammar asks back, if the site has one (off by default).

It gives quotes (`guardrails.language.suggested`), which the grammar confirms or drops. Whatever fails here, the
questions stand as they were. What is sent and what comes back is logged nowhere; the audit log says which model was
asked and what came of it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from headrace.api.settings import Settings
from headrace.guardrails.language import Context, Interpretation
from headrace.guardrails.language.suggested import ModelMarkup, Unconfirmed, confirmed

REST: Final = timedelta(seconds=30)
"""How long a model that failed is left alone, so that requests do not wait for it one after the other: by the person
whose request it was, and by everybody once it failed for two people. One may send what no model answers well."""
_TWO: Final = 2
_MINUTE, _DAY = timedelta(minutes=1), timedelta(days=1)
_log = logging.getLogger(__name__)


class ModelFailed(Exception):  # noqa: N818 - says what is the case
    """A model gave no answer that can be used; the message names no words of the request or the answer."""

    def __init__(self, message: str, tokens: int | None = None) -> None:
        """Say why, and how many tokens it took, if an answer came."""
        super().__init__(message)
        self.tokens = tokens


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model says: a text that should have the form of `SCHEMA`, and how many tokens it took."""

    text: str
    tokens: int


class Model(Protocol):
    """A language model."""

    name: str

    def most_tokens(self, text: str, names: Sequence[str]) -> int:
        """Return how many tokens a question takes at most."""
        ...

    async def ask(self, text: str, names: Sequence[str]) -> ModelAnswer:
        """Ask about a request that names these endpoints; raises `ModelFailed`. It ends within its time limit."""
        ...

    async def close(self) -> None:
        """End its connections."""
        ...


class ModelReading:
    """Asks a model within the limits of the site."""

    def __init__(self, model: Model, settings: Settings, steady: Callable[[], datetime]) -> None:
        """`steady` measures the minute and the day of the limits; a restart begins them anew."""
        self._model = model
        self._most_characters = settings.model_most_characters
        self._spent = _Spent(settings, steady)
        self._steady = steady
        self._rests_until: dict[str, datetime] = {}

    async def read(self, person: str, text: str, context: Context, asked: Interpretation) -> tuple[Interpretation, str]:
        """Give the reading that the grammar confirms, else `asked`; and what came of it, for the record.

        `person` is whose part of the limits is used.
        """
        try:
            answer = await self._answer(person, text, context)
            found = await asyncio.to_thread(lambda: confirmed(text, context, asked, ModelMarkup.read(answer.text)))
        except ModelFailed as failed:
            return asked, f"{self._model.name}: {failed}"
        except Unconfirmed as dropped:
            return asked, f"{self._model.name}: not confirmed: {dropped}"
        return found, f"{self._model.name}: confirmed"

    async def _answer(self, person: str, text: str, context: Context) -> ModelAnswer:
        now = self._steady()
        self._rests_until = {who: until for who, until in self._rests_until.items() if now < until}
        if person in self._rests_until or len(self._rests_until) >= _TWO:
            message = "not asked: it failed a moment ago"
            raise ModelFailed(message)
        if len(text) > self._most_characters:
            message = f"not asked: the request has more than {self._most_characters} characters"
            raise ModelFailed(message)
        names = [name for one in context.endpoints for name in (one.id, *one.aliases) if name in text]
        reserved = self._spent.reserve(person, self._model.most_tokens(text, names))
        try:
            answer = await self._model.ask(text, names)
        except ModelFailed as failed:
            self._rests_until[person] = self._steady() + REST
            _log.warning("the language model `%s` gave no answer: %s", self._model.name, failed)
            reserved.settle(failed.tokens)
            raise
        reserved.settle(answer.tokens)
        return answer

    async def close(self) -> None:
        """End the connections to the model."""
        await self._model.close()


@dataclass(slots=True)
class _Reserved:
    """One question: who asked it and when, and the tokens that it took, or takes at most."""

    person: str
    at: datetime
    tokens: int

    def settle(self, tokens: int | None) -> None:
        """Count what was taken; where nothing says so, all that was reserved."""
        if tokens is not None:
            self.tokens = max(0, tokens)


class _Spent:
    """What was asked in the last day: no more requests or tokens a minute and a day than the site allows.

    One person takes no more than their part of each, so that some of it is left for others.
    """

    def __init__(self, settings: Settings, steady: Callable[[], datetime]) -> None:
        self._steady = steady
        self._known: deque[_Reserved] = deque()
        self._part = settings.model_person_percent
        self._limits = (
            ("minute", _MINUTE, settings.model_requests_per_minute, settings.model_tokens_per_minute),
            ("day", _DAY, settings.model_requests_per_day, settings.model_tokens_per_day),
        )

    def reserve(self, person: str, tokens: int) -> _Reserved:
        """Take a request with so many tokens from what is left; raises `ModelFailed`."""
        now = self._steady()
        while self._known and self._known[0].at <= now - _DAY:
            self._known.popleft()
        for name, span, requests, most in self._limits:
            recent = [one for one in self._known if one.at > now - span]
            if len(recent) >= requests or sum(one.tokens for one in recent) + tokens > most:
                message = f"not asked: the site's limit for a {name} is reached"
                raise ModelFailed(message)
            own = [one.tokens for one in recent if one.person == person]
            if own and (100 * (len(own) + 1) > requests * self._part or 100 * (sum(own) + tokens) > most * self._part):
                message = f"not asked: the person's part of the limit for a {name} is used"
                raise ModelFailed(message)
        reserved = _Reserved(person, now, tokens)
        self._known.append(reserved)
        return reserved
