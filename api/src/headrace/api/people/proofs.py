"""A yes that proves a person: the password comes with what is agreed to, in one request, so one proof is for one thing.

A session's secret is a bearer secret: any program of the account can use it. What it can't do is type the password.
"""

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.auth import AuthCode, Authenticator, AuthError
from headrace.client import models as m

_NEEDED = "type your password to prove that this is you: a session alone is not enough here"
_AT_A_PROVIDER = (
    "this needs the password of an account here as a proof, and you have signed in at a provider: sign in with your "
    "password here, or let somebody do this who has one"
)


class Proofs:
    """Checks that the person of a session is there, where the site wants that (`HEADRACE_CONSENT_PROOF`)."""

    def __init__(self, core: Core, authenticator: Authenticator) -> None:
        """Check passwords with `authenticator`."""
        self._core = core
        self._auth = authenticator

    async def of(self, caller: Caller, password: str | None) -> str:
        """Return what proves the caller: `password` or `session`. Raises `proof_needed` and what `prove` raises.

        A password that is given is checked, also where none is wanted.
        """
        if password is None:
            if self._core.settings.consent_proof == "session":
                return "session"
            raise ServiceError(Code.PROOF_NEEDED, _AT_A_PROVIDER if caller.principal.method == "oidc" else _NEEDED)
        try:
            await self._auth.prove(caller.principal, password)
        except AuthError as error:
            if error.code is AuthCode.PROOF_REFUSED:
                async with self._core.database.write() as tx:
                    await self._core.audit.append(
                        tx, m.AuditKind.PROOF_FAILED, caller=caller, subject=caller.principal.id
                    )
            raise
        return "password"
