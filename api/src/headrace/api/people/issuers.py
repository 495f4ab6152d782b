"""Which providers and directories there are here, for what an administrator says of their people and groups."""

import re
import uuid
from collections.abc import Collection, Sequence
from typing import NoReturn

from headrace.api.errors import Code, ServiceError
from headrace.auth import Authenticator, GroupBinding
from headrace.client import models as m

_DIRECTORY = "ad:"
_SID = re.compile(r"S-1(?:-[0-9]{1,10}){2,16}")


def issuers_here(auth: Authenticator) -> list[m.IssuerHere]:
    """Return every provider by its id and every directory by its domain, with the issuer under which it is known."""
    providers = [m.IssuerHere(id=one.id, issuer=one.url) for one in auth.providers.issuers]
    return providers + [m.IssuerHere(id=one.removeprefix(_DIRECTORY), issuer=one) for one in auth.directory_issuers]


def check_bindings(
    bindings: Sequence[GroupBinding], before: Collection[tuple[str, str]], here: Sequence[m.IssuerHere]
) -> None:
    """Refuse bindings that can give nothing: of an issuer that is not here, or of a directory's group without its SID.

    `before`: issuer and group of those that hold or are proposed already. They stay, as when a provider was taken out.
    """
    for one in bindings:
        if (one.issuer, one.group) in before:
            continue
        _check_issuer(one.issuer, here)
        if one.issuer.startswith(_DIRECTORY) and not _SID.fullmatch(one.group):
            _refuse(
                f"`{one.group}` is not a SID, and groups of `{one.issuer}` are known by their SIDs (S-1-5-21-…). "
                f"{_auth_check(one.issuer)} shows the SIDs of a member's groups",
                "group",
            )


def check_link(link: m.IdentityLink, here: Sequence[m.IssuerHere]) -> None:
    """Refuse an identity that nobody can have."""
    _check_issuer(link.issuer, here)
    if link.issuer.startswith(_DIRECTORY) and not _is_guid(link.subject):
        _refuse(
            f"`{link.subject}` is not an objectGUID, and people of `{link.issuer}` are known by theirs. "
            f"{_auth_check(link.issuer)} shows it",
            "subject",
        )


def _check_issuer(issuer: str, here: Sequence[m.IssuerHere]) -> None:
    if any(one.issuer == issuer for one in here):
        return
    if here:
        listed = ", ".join(f"`{one.issuer}` ({one.id})" for one in here)
        there_are = f"there {'is' if len(here) == 1 else 'are'} {listed}"
        _refuse(f"no provider or directory here is called `{issuer}`; {there_are}", "issuer")
    # What is prepared before the first provider is set up can be looked at for its form only.
    if not issuer.startswith((_DIRECTORY, "https://", "http://")):
        _refuse(
            f"`{issuer}` is not an issuer here: an issuer is a provider's `url`, or `ad:` and a directory's domain, "
            "and none is set",
            "issuer",
        )


def _auth_check(issuer: str) -> str:
    return f"`headrace auth check NAME@{issuer.removeprefix(_DIRECTORY)}`, where the service runs,"


def _is_guid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _refuse(message: str, field: str) -> NoReturn:
    raise ServiceError(Code.INVALID_REQUEST, message, fields=(field,))
