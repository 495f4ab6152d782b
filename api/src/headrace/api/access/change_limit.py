"""How often one person, or one token, may change something: a program in a loop does not fill the audit chain."""

import math
from datetime import timedelta
from typing import Final

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import TooManyChanges
from headrace.auth import Limit, Principal, Throttle
from headrace.client import models as m

_MINUTE: Final = timedelta(minutes=1)
_TOKENS: Final = 2
"""How many times as much all tokens of a person may do together as one of them."""


class ChangeLimit:
    """Counts the calls of each person's own sessions, of each token, and of all tokens of a person.

    A token that is in a loop leaves its owner's sessions alone, and most of what their other tokens may do.
    """

    def __init__(self, core: Core) -> None:
        """Begin with nothing counted."""
        self._core = core
        self._counted = Throttle()
        self._noted = Throttle()

    async def count(self, caller: Caller) -> None:
        """Count a call that changes something; raises `TooManyChanges`, and then nothing is counted.

        The audit log has one event for each minute in which calls of one were refused, not one for each call.
        """
        now, passed = self._core.steady(), list[str]()
        for whose, key, most in self._limits(caller.principal):
            wait = self._counted.attempt({key: Limit(most, _MINUTE)}, now)
            if wait is not None:
                for counted in passed:
                    self._counted.take_back(counted)
                if self._noted.attempt({key: Limit(1, _MINUTE)}, now) is None:
                    await self._note(caller, most)
                raise TooManyChanges(whose, most, max(1, math.ceil(wait.total_seconds())))
            passed.append(key)

    def _limits(self, principal: Principal) -> list[tuple[str, str, int]]:
        """Return what is counted of a caller: in words, as a key, and how many calls may be made."""
        most = self._core.settings.changes_per_minute_of_one
        if principal.token is None:
            return [("your sessions", f"sessions:{principal.id}", most)]
        return [
            ("this token", f"token:{principal.token}", most),
            ("the tokens of its owner", f"tokens:{principal.id}", _TOKENS * most),
        ]

    async def _note(self, caller: Caller, most: int) -> None:
        async with self._core.database.write() as tx:
            kind, subject = m.AuditKind.CHANGES_LIMITED, caller.principal.token or ""
            await self._core.audit.append(tx, kind, caller=caller, subject=subject, detail={"most": str(most)})
