"""Access tokens that a provider made for this service (RFC 9068): who calls, for whom, with which scopes.

They are JWTs in the hands of programs. They never confirm, approve or administer, just like API tokens of this service.
"""

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from headrace.auth.errors import AuthCode, AuthError
from headrace.auth.oidc_claims import LEEWAY_S, require_claims, text_of
from headrace.auth.oidc_issuers import Issuer
from headrace.auth.oidc_provider import MAX_TOKEN, Provider, ProviderFailed, Providers, Signed, TokenRefused
from headrace.auth.passwords import check_name
from headrace.auth.principal import TOKEN_SCOPES, Principal, Scope, scopes_of
from headrace.auth.store import IdentityStore, PeopleStore, active_person

PARTS: Final = 3
"""Of a signed JWT."""


def is_access_token(secret: str) -> bool:
    """Whether this has the form of a JWT; no secret of this service's own has."""
    return secret.count(".") == PARTS - 1


class OidcTokens:
    """Knows the access tokens of the providers that are declared with `access_tokens = true`."""

    def __init__(
        self,
        providers: Providers,
        public_url: str,
        people: PeopleStore,
        identities: IdentityStore,
        clock: Callable[[], datetime],
    ) -> None:
        """Accept tokens made for `public_url`, or for a resource below it."""
        self._providers = providers
        self._public_url = public_url
        self._people = people
        self._identities = identities
        self._clock = clock
        self.issuers = tuple(issuer for issuer in providers.issuers if issuer.access_tokens)

    async def principal(self, token: str, resource: str = "") -> Principal:
        """Answer who calls with an access token for this service's `resource` (a path, such as `/mcp`).

        Raises `not_signed_in`, `provider_failed`.
        """
        try:
            provider = self._provider_of(token)
            claims = self._checked(await provider.verified(token), provider.issuer, f"{self._public_url}{resource}")
            subject, client = text_of(claims, "sub"), _client_of(claims)
        except TokenRefused as error:
            raise AuthError(AuthCode.NOT_SIGNED_IN, f"an access token: {error}") from error
        except ProviderFailed as error:
            raise AuthError(AuthCode.PROVIDER_FAILED, str(error)) from error
        issuer = provider.issuer
        identity = await self._identities.identity(issuer.url, subject)
        if identity is None:
            raise AuthError(AuthCode.NOT_SIGNED_IN, f"`{subject}` of {issuer.url} is nobody here")
        person = await active_person(self._people, identity.person)
        return Principal(
            id=person.id,
            name=person.name,
            kind=person.kind,
            local=person.local,
            roles=person.roles,
            scopes=_scopes_of(claims) & scopes_of(person.roles) & TOKEN_SCOPES,
            groups=person.groups,
            method="oidc",
            session=False,
            authenticated_at=_made_at(claims),
            # Who holds somebody else's token acts for them; a client that is its own subject acts for itself.
            agent=None if client == subject else agent_name(client),
            token=f"{issuer.id}:{client}",
        )

    def _provider_of(self, token: str) -> Provider:
        """Return the provider that a token names; nothing of it is verified yet."""
        try:
            payload = token.split(".")[1] if len(token) <= MAX_TOKEN else ""
            claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
            issuer = claims["iss"]
        except (IndexError, KeyError, TypeError, ValueError, RecursionError):
            message = "no JWT"
            raise TokenRefused(message) from None
        provider = self._providers.at(issuer) if isinstance(issuer, str) else None
        if provider is None or not provider.issuer.access_tokens:
            message = "its issuer is none whose access tokens count here"
            raise TokenRefused(message)
        return provider

    def _checked(self, token: Signed, issuer: Issuer, resource: str) -> Mapping[str, object]:
        """Check what a token must say; raises `TokenRefused`."""
        if token.typ not in ({"", "jwt", "at+jwt"} if issuer.untyped_access_tokens else {"at+jwt"}):
            message = f"`typ` is `{token.typ[:50]}`"
            raise TokenRefused(message)
        claims, now = token.claims, self._clock()
        audiences = [resource, *((issuer.audience,) if issuer.audience else ())]
        if issuer.untyped_access_tokens and issuer.client_id in audiences:
            # Nothing but the audience tells an ID token of such a provider from an access token.
            message = f"`client_id` is {resource}, so an ID token could pass for one"
            raise TokenRefused(message)
        require_claims(claims, issuer, audiences, now, sub={"essential": True})
        made = claims["iat"]
        if not isinstance(made, int | float) or made + issuer.access_token_max_s + LEEWAY_S <= now.timestamp():
            message = f"made more than {issuer.access_token_max_s} s ago"
            raise TokenRefused(message)
        if "nonce" in claims:
            message = "an ID token"
            raise TokenRefused(message)
        return claims


def agent_name(client: str) -> str:
    """Return by which name policies and people know a client: its id, or the host of an id that is a URL.

    Raises `not_signed_in` for a client whose name could be taken for another's.
    """
    try:
        return check_name(urlsplit(client).hostname or client if client.startswith("https://") else client)
    except (AuthError, ValueError) as error:
        raise AuthError(AuthCode.NOT_SIGNED_IN, "an access token of a client without a name to show") from error


def _client_of(claims: Mapping[str, object]) -> str:
    for claim in ("client_id", "azp", "appid"):
        if claim in claims:
            return text_of(claims, claim)
    message = "it names no client"
    raise TokenRefused(message)


def _scopes_of(claims: Mapping[str, object]) -> frozenset[Scope]:
    """Return the scopes of this service that a token names; others are of no interest here."""
    given = claims.get("scope", claims.get("scp", ""))
    words = given.split(" ") if isinstance(given, str) else given if isinstance(given, list) else []
    return frozenset(scope for scope in Scope if scope in words)


def _made_at(claims: Mapping[str, object]) -> datetime:
    made = claims["iat"]
    assert isinstance(made, int | float)  # noqa: S101 - checked with the other claims
    return datetime.fromtimestamp(max(0, made), UTC)
