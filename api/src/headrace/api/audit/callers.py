"""Whoever a change is made for is still who they were when the call began.

A call is let in once, and may then wait: for a password to be checked, a passkey, a survey. Meanwhile its person can be
disabled, its session ended, its token revoked, a role taken. Each change is audited in the transaction that makes it,
so it is asked again there: nobody else writes until that transaction ends.
"""

from sqlalchemy import ColumnElement, Select, exists, select, true

from headrace.api.store import Tx
from headrace.api.store.tables_site import PersonRow, SessionRow, TokenRow
from headrace.auth import AuthCode, AuthError, PersonState, Principal

_CHECKED = "callers that are still who they were"
_ENDED = "what this call came with has ended meanwhile"


async def still_calling(tx: Tx, principal: Principal) -> None:
    """Refuse the transaction of a caller who left, was signed out or lost a role since the call began.

    Once for each caller: what a transaction itself takes from them does not count. Raises `not_signed_in`,
    `not_allowed`.
    """
    checked = tx.info.setdefault(_CHECKED, set())
    if principal in checked:
        return
    checked.add(principal)
    # What the transaction has not written yet is its own doing.
    found = await tx.execute(_state_of(principal).execution_options(autoflush=False))
    person = found.one_or_none()
    if person is None or person.state != "active" or not person.open:
        raise AuthError(AuthCode.NOT_SIGNED_IN, _ENDED, person=principal.id)
    if not principal.roles <= set(person.roles):
        raise AuthError(AuthCode.NOT_ALLOWED, "Your rights have changed meanwhile; look at what you have now.")


def _state_of(principal: Principal) -> Select[PersonState, tuple[str, ...], bool]:
    """Ask for somebody's state and roles, and whether what the call came with is still there."""
    open_: ColumnElement[bool] = true()
    if principal.session_id is not None:
        begins = SessionRow.hash.startswith(principal.session_id.removeprefix("se_"), autoescape=True)
        open_ = exists().where(SessionRow.person == principal.id, begins)
    elif principal.method == "token" and principal.token is not None:
        open_ = exists().where(TokenRow.id == principal.token)
    return select(PersonRow.state, PersonRow.roles, open_.label("open")).where(PersonRow.id == principal.id)
