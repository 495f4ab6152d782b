"""What a provider says of a person: checked claims of an ID token. Each check is a line of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from joserfc.errors import JoseError
from joserfc.jwt import ClaimsOption, JWTClaimsRegistry

from headrace.auth.errors import AuthError
from headrace.auth.oidc_issuers import Issuer
from headrace.auth.oidc_provider import Signed, TokenRefused
from headrace.auth.passwords import check_name

LEEWAY_S: Final = 30
"""By how much the clocks of a provider and of this service may differ."""
MAX_GROUPS: Final = 1000
MAX_TEXT: Final = 300
"""Characters of a subject, a session's id or a group."""
_NAMES: Final = ("name", "preferred_username", "email", "sub")
_MAX_FACTORS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """Whom a provider vouches for, when and with what they signed in there."""

    issuer: str
    subject: str
    name: str
    groups: frozenset[str]
    factors: frozenset[str]
    at: datetime
    says_when: bool
    """Whether `at` is what the provider says (`auth_time`), and not just when it made the token."""
    sid: str | None
    acr: str | None
    """In which way they signed in there, in the provider's words (`acr`)."""
    refresh_token: str | None = field(default=None, repr=False)
    """How to ask the provider later whether they are still there."""
    begun: datetime | None = None
    """When their way there began, by this service's clock: the provider let them in since then."""


def vouched(token: Signed, issuer: Issuer, nonce: str | None, now: datetime) -> Vouched:
    """Check the claims of an ID token (`nonce`: of the sign-in, where it had one); raises `TokenRefused`."""
    if token.typ not in {"", "jwt"}:
        message = f"`typ` is `{token.typ[:50]}`: no ID token"
        raise TokenRefused(message)
    claims = token.claims
    wanted: ClaimsOption = {"essential": True, "value": nonce} if nonce is not None else {}
    require_claims(claims, issuer, [issuer.client_id], now, sub={"essential": True}, nonce=wanted)
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if several else issuer.client_id) != issuer.client_id:
        message = "`azp` is another client, or missing beside several audiences"
        raise TokenRefused(message)
    return Vouched(
        issuer=issuer.url,
        subject=text_of(claims, "sub"),
        name=_name(claims),
        groups=groups_of(claims, issuer),
        factors=_factors(claims),
        at=_signed_in_at(claims, now),
        says_when="auth_time" in claims,
        sid=text_of(claims, "sid") if "sid" in claims else None,
        acr=acr if isinstance(acr := claims.get("acr"), str) and _is_line(acr) else None,
    )


def require_claims(
    claims: Mapping[str, object], issuer: Issuer, audiences: Sequence[str], now: datetime, **more: ClaimsOption
) -> None:
    """Demand what every token says: who made it, when, for one of `audiences`; and `more`. Raises `TokenRefused`."""
    try:
        JWTClaimsRegistry(
            now=int(now.timestamp()),
            leeway=LEEWAY_S,
            iss={"essential": True, "value": issuer.url},
            aud={"essential": True, "values": list(audiences)},
            exp={"essential": True},
            iat={"essential": True},
            **more,
        ).validate(dict(claims))
    except JoseError as error:
        message = f"{type(error).__name__}: {error}"[:200]
        raise TokenRefused(message) from error


def groups_of(claims: Mapping[str, object], issuer: Issuer) -> frozenset[str]:
    """Return the groups that a token names; raises `TokenRefused` for what can't be all of them.

    A provider that leaves out a long list of groups says so (`_claim_names`): what rights that takes away nobody knows.
    """
    claim = issuer.groups_claim
    left_out = claims.get("_claim_names")
    if isinstance(left_out, Mapping) and (claim in left_out or claim.partition(".")[0] in left_out):
        message = f"the provider left out `{claim}`, because it is too long; let it send fewer, or application roles"
        raise TokenRefused(message)
    given = _held(claims, claim)
    groups = [given] if isinstance(given, str) else given
    if not isinstance(groups, list) or len(groups) > MAX_GROUPS:
        message = f"`{claim}` is not a list of at most {MAX_GROUPS} groups"
        raise TokenRefused(message)
    if not all(isinstance(group, str) and _is_line(group) for group in groups):
        message = f"`{claim}` holds something that is not a text of one line with at most {MAX_TEXT} characters"
        raise TokenRefused(message)
    return frozenset(groups)


def _held(claims: Mapping[str, object], claim: str) -> object:
    """Return what a claim of this name holds, or else the member of a claim that the dots lead to; no groups if none.

    Keycloak puts roles into `realm_access.roles`; other providers name claims by URLs, which have dots, too.
    """
    if claim in claims:
        return claims[claim]
    held: object = claims
    for part in claim.split("."):
        if not isinstance(held, Mapping) or part not in held:
            return []
        held = held[part]
    return held


def _name(claims: Mapping[str, object]) -> str:
    """Return the first name that may be shown where people decide."""
    for claim in _NAMES:
        given = claims.get(claim)
        if isinstance(given, str):
            try:
                return check_name(given)
            except AuthError:
                continue
    return "somebody"


def _factors(claims: Mapping[str, object]) -> frozenset[str]:
    given = claims.get("amr")
    words = given[:_MAX_FACTORS] if isinstance(given, list) else []
    return frozenset(word for word in words if isinstance(word, str) and word.isalnum() and len(word) <= MAX_TEXT)


def _signed_in_at(claims: Mapping[str, object], now: datetime) -> datetime:
    """Return when the person signed in there, never in the future; without a word on it, when the token was made."""
    at = claims.get("auth_time", claims["iat"])
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at <= now.timestamp() + LEEWAY_S:
        message = "`auth_time` is not a time, or in the future"
        raise TokenRefused(message)
    return min(datetime.fromtimestamp(at, UTC), now)


def text_of(claims: Mapping[str, object], claim: str) -> str:
    """Return a claim that must be one line of text; raises `TokenRefused`."""
    value = claims[claim]
    if not isinstance(value, str) or not _is_line(value):
        message = f"`{claim}` is not a text of one line with at most {MAX_TEXT} characters"
        raise TokenRefused(message)
    return value


def _is_line(text: str) -> bool:
    return 0 < len(text) <= MAX_TEXT and text.isprintable()
