"""Tries the declaration of an OpenID Connect provider, and says in words what is wrong with it."""

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from headrace.auth.findings import Finding
from headrace.auth.oidc_claims import LEEWAY_S
from headrace.auth.oidc_code_flow import redirect_uri
from headrace.auth.oidc_issuers import Issuer
from headrace.auth.oidc_provider import ALGORITHMS, Provider, ProviderFailed, TokenRefused

_WORDS: Final = (
    ("certificate is not valid for", "its certificate is for another host name"),
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not by an authority that this host or `ca_file` knows"),
    ("`ca_file`", "`ca_file` can't be read"),
    ("is of the issuer", "`url` must be exactly what the discovery document calls the issuer"),
    ("Name or service not known", "nobody knows a host of this name"),
    ("No address associated", "nobody knows a host of this name"),
    ("All connection attempts failed", "nothing listens there, or a firewall is in between"),
    ("Connection refused", "nothing listens there"),
    ("Timeout", "it does not answer in time"),
    ("404", "there is no discovery document: `url` is not an issuer's"),
)
_NO_CODE: Final = "a-code-that-was-never-given"
_OF_THE_CODE: Final = frozenset({"invalid_grant", "invalid_request"})
"""What a provider says of the code, once it has accepted the client."""


async def check_issuer(issuer: Issuer, public_url: str, clock: Callable[[], datetime]) -> AsyncIterator[Finding]:
    """Ask a provider everything that a sign-in asks, without a person; `public_url` is where people come back to.

    First of all it says what has to be registered there: that needs no answer of the provider.
    """
    yield _redirect(issuer, public_url)
    provider = Provider(issuer, clock)
    try:
        document = await provider.document()
        found = await provider.discovered()
        yield Finding(good=True, said=f"it answers as {issuer.url}")
        yield _clock(provider.date, clock())
        keys = await provider.keys()
        yield _algorithms(document, len(keys.keys))
        yield _ways(document, issuer)
        yield await _client(provider, issuer)
    except ProviderFailed as error:
        yield Finding(good=False, said=_in_words(str(error)))
        return
    finally:
        await provider.close()
    if issuer.device_sign_in and found.device_authorization_endpoint is None:
        yield Finding(good=False, said="`device_sign_in` is on, and it signs nobody in on another device")
    grants = document.get("grant_types_supported")
    if issuer.watch_people and isinstance(grants, list) and "refresh_token" not in grants:
        yield Finding(good=False, said="`watch_people` is on, and it gives no refresh tokens")
    told = document.get("backchannel_logout_supported") is True
    yield Finding(good=True, said=f"it {'says' if told else 'does not say'} here when a session ends there")


def _redirect(issuer: Issuer, public_url: str) -> Finding:
    where = redirect_uri(public_url or "<HEADRACE_PUBLIC_URL>", issuer.id)
    said = f"register this redirect URI for the client `{issuer.client_id}` there, and no other: {where}"
    if not public_url:
        said += " (set `HEADRACE_PUBLIC_URL` to how browsers reach the service, and it is said whole)"
    return Finding(good=True, said=said)


def _clock(date: str | None, now: datetime) -> Finding:
    try:
        theirs = parsedate_to_datetime(date or "")
    except ValueError:
        return Finding(good=True, said="it does not say what time it is")
    seconds = abs(int((theirs.astimezone(UTC) - now).total_seconds()))
    said = f"its clock and this one are {seconds} s apart"
    if seconds > LEEWAY_S:
        return Finding(
            good=False, said=f"{said}: its tokens would be refused beyond {LEEWAY_S} s; set the wrong one right"
        )
    return Finding(good=True, said=said)


def _algorithms(document: Mapping[str, object], keys: int) -> Finding:
    offered = document.get("id_token_signing_alg_values_supported")
    usable = [one for one in ALGORITHMS if isinstance(offered, list) and one in offered]
    if not usable:
        return Finding(good=False, said=f"it signs ID tokens with none of {', '.join(ALGORITHMS)}")
    return Finding(good=True, said=f"{keys} key{'s' if keys != 1 else ''}; it signs with {', '.join(usable)}")


def _ways(document: Mapping[str, object], issuer: Issuer) -> Finding:
    challenges = document.get("code_challenge_methods_supported")
    if isinstance(challenges, list) and "S256" not in challenges:
        return Finding(good=False, said="it does not take PKCE with S256")
    wanted = "client_secret_basic" if issuer.client_secret else "none"
    methods = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    if isinstance(methods, list) and wanted not in methods:
        return Finding(good=False, said=f"it does not take a client that authenticates with `{wanted}`")
    return Finding(good=True, said="it takes the code flow with PKCE")


async def _client(provider: Provider, issuer: Issuer) -> Finding:
    """Offer a code that nobody gave: only a provider that knows the client gets to say that the code is wrong."""
    try:
        await provider.exchange(
            grant_type="authorization_code", code=_NO_CODE, code_verifier="v" * 43, redirect_uri="http://127.0.0.1"
        )
    except TokenRefused as error:
        if error.code in _OF_THE_CODE:
            return Finding(good=True, said=f"it knows the client `{issuer.client_id}`")
        said = f"it refuses the client `{issuer.client_id}` ({error.code}): `client_id` or the secret is wrong"
        return Finding(good=False, said=said)
    return Finding(good=False, said="it gave a token for a code that nobody was given")


def _in_words(error: str) -> str:
    return next((f"{words} ({error})" for sign, words in _WORDS if sign in error), error)
