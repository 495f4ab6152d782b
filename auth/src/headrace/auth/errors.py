"""What sign-in and everything around it raises.

Exception tree::

    AuthError               `code` is stable and listed in docs/errors-guardrails.md
    └── TooManyAttempts     throttled; `retry_after_s` says how long
"""

from collections.abc import Collection
from enum import StrEnum
from typing import Final


class AuthCode(StrEnum):
    """Why a caller was turned away."""

    DIRECTORY_AWAY = "directory_away"
    INVITATION_REFUSED = "invitation_refused"
    NAME_REFUSED = "name_refused"
    NO_ROLE = "no_role"
    NOT_ALLOWED = "not_allowed"
    NOT_FOUND = "not_found"
    NOT_SIGNED_IN = "not_signed_in"
    PASSKEY_REFUSED = "passkey_refused"
    PROOF_REFUSED = "proof_refused"
    PASSWORD_EXPIRED = "password_expired"  # noqa: S105 - a code, not a password
    PROVIDER_FAILED = "provider_failed"
    PROVIDER_PROOF_REFUSED = "provider_proof_refused"
    PASSWORD_REFUSED = "password_refused"  # noqa: S105 - a code, not a password
    SIGN_IN_EXPIRED = "sign_in_expired"
    SIGN_IN_REFUSED = "sign_in_refused"
    TOO_MANY_ATTEMPTS = "too_many_attempts"


_ONE_MESSAGE: Final = {
    AuthCode.DIRECTORY_AWAY: "The site's directory can't be asked at present; try again, or tell an administrator.",
    AuthCode.INVITATION_REFUSED: (
        "This link was used already, is too old, or was never good. If you have chosen a password with it, sign in "
        "with that (`headrace login --name NAME`). Otherwise ask an administrator for a new one; where there is "
        "nobody to ask, `headrace serve --recover-admin` on the service's host makes one."
    ),
    AuthCode.NO_ROLE: "You have no role here yet; ask an admin to give one to you or to one of your groups.",
    AuthCode.NOT_SIGNED_IN: "You are not signed in, or your session or token is no longer good; sign in again.",
    AuthCode.PASSWORD_EXPIRED: "Your password has expired; choose another one where you sign in to your computer.",
    AuthCode.PROOF_REFUSED: "The password is wrong.",
    AuthCode.PROVIDER_FAILED: "The site's sign-in service can't be used now; try again soon, or ask an admin.",
    AuthCode.SIGN_IN_EXPIRED: "This sign-in was begun too long ago, or in another browser; sign in again.",
    AuthCode.SIGN_IN_REFUSED: "The name or the password is wrong, or this person may not sign in.",
}
"""Strangers learn nothing from these: people see one message, and only the log says why."""


class AuthError(Exception):
    """A caller turned away: `args[0]` is a sentence for people, `reason` is for the log. Neither holds secrets.

    `person` is the id of the person as whom somebody tried to sign in, where there is one.
    """

    def __init__(self, code: AuthCode, reason: str, *, person: str | None = None) -> None:
        """Take the reason as the message, too, unless this code has one message for everything."""
        super().__init__(_ONE_MESSAGE.get(code, reason))
        self.code = code
        self.reason = reason
        self.person = person


def no_role(issuer: str, who: str, groups: Collection[str]) -> AuthError:
    """Refuse somebody to whom no group of theirs gives a role; the log says which groups came."""
    came = ", ".join(f"{group!r}" for group in sorted(groups)[:_MAX_GROUPS]) or "none"
    more = f" and {len(groups) - _MAX_GROUPS} more" if len(groups) > _MAX_GROUPS else ""
    return AuthError(
        AuthCode.NO_ROLE, f"{issuer}: no group of {who!r} gives a role here; groups that came: {came}{more}"
    )


_MAX_GROUPS: Final = 20


class TooManyAttempts(AuthError):  # noqa: N818 - says what is the case
    """Throttled: nothing was checked."""

    def __init__(self, retry_after_s: int, *, about: str = "", person: str | None = None) -> None:
        """Say how many seconds to wait; `about` tells the log alone who tried where."""
        wait = f"{retry_after_s} second{'s' if retry_after_s != 1 else ''}"
        said = f"There were too many attempts; try again in {wait}."
        super().__init__(AuthCode.TOO_MANY_ATTEMPTS, said, person=person)
        if about:
            self.reason = f"{about}: too many attempts; {wait} to wait"
        self.retry_after_s = retry_after_s
