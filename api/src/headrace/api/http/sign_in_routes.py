"""Routes: signing in at an OpenID Connect provider. A browser goes there and comes back by redirects."""

import logging
from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from headrace.api.http.identity import TheGate, address_of, cookie_name, hand_over, secret_of
from headrace.auth import SIGN_IN_LIMIT, AuthCode, AuthError, ProvenThere
from headrace.client import models as m

_log = logging.getLogger(__name__)
router = APIRouter(tags=["people"], prefix="/sign-in")

ProviderId = Annotated[str, Path(max_length=32)]
NextPath = Annotated[str, Query(max_length=500, description="the path of this service where it goes on")]
ProofAsked = Annotated[str | None, Query(max_length=1000, description="`kept` of the proof that is asked for")]
_MAX_ANSWER = 5000
"""Characters of a provider's answer."""
_MAX_FIELDS = 10
"""Of a form that a provider sends: it has one that counts."""


@router.get("")
async def ways_to_sign_in(gate: TheGate) -> m.SignInWays:
    """List the providers at which people may sign in; needs no sign-in."""
    return gate.use_cases.people.ways()


@router.get("/{provider}", status_code=HTTPStatus.SEE_OTHER, response_class=RedirectResponse)
async def begin_sign_in(
    request: Request,
    gate: TheGate,
    provider: ProviderId,
    next: NextPath = "/",  # noqa: A002 - its name in the URL
    proof: ProofAsked = None,
) -> Response:
    """Send a browser to a provider, where its person signs in; with `proof` anew, to prove what was asked for so."""
    people = gate.use_cases.people
    try:
        if proof is None:
            begun = await people.begin_at(provider, next)
        else:
            begun = await people.begin_proof_at(secret_of(request)[0], provider, proof)
    except AuthError as error:
        if proof is not None:
            return _unproven(error)
        if error.code is AuthCode.PROVIDER_FAILED:
            return _refused(error)
        raise
    answer = RedirectResponse(begun.url, HTTPStatus.SEE_OTHER)
    answer.set_cookie(
        _cookie(request),
        begun.kept,
        max_age=int(SIGN_IN_LIMIT.total_seconds()),
        path="/",
        secure=request.app.state.origins.tls,
        httponly=True,
        samesite="lax",  # the provider's page leads back here, and that is another site
    )
    return answer


@router.get("/{provider}/callback", status_code=HTTPStatus.SEE_OTHER, response_class=RedirectResponse)
async def finish_sign_in(request: Request, gate: TheGate, provider: ProviderId) -> Response:
    """Take a browser back from a provider, with a session as its cookie or with a proof, or with a refusal's code."""
    kept = request.cookies.get(_cookie(request), "")
    try:
        given = _answer_of(request)
        back = await gate.use_cases.people.come_back(provider, kept, given, address_of(request))
    except AuthError as error:
        answer = _unproven(error) if error.code is AuthCode.PROVIDER_PROOF_REFUSED else _refused(error)
    else:
        if isinstance(back, ProvenThere):
            # Behind the `#`: what it proves is in no log and goes to no server but with the request that it is for.
            to = f"/proven?{urlencode({'id': back.id})}#{back.answer}"
            answer = RedirectResponse(to, HTTPStatus.SEE_OTHER)
        else:
            # The console tells its other tabs who is signed in now, and goes on there.
            session, path = back
            to = f"/sign-in?{urlencode({'arrived': 'true', 'next': path})}"
            answer = RedirectResponse(to, HTTPStatus.SEE_OTHER)
            hand_over(request, answer, session)
    answer.delete_cookie(_cookie(request), path="/", secure=request.app.state.origins.tls, httponly=True)
    return answer


@router.post("/{provider}/device", status_code=HTTPStatus.CREATED)
async def begin_device_sign_in(request: Request, gate: TheGate, provider: ProviderId) -> m.DeviceSignIn:
    """Begin a sign-in at a provider on another device, where the person types a code."""
    return await gate.use_cases.people.begin_on_device(provider, address_of(request))


@router.post("/{provider}/device/session")
async def ask_device_sign_in(
    request: Request, gate: TheGate, provider: ProviderId, body: m.DeviceQuestion
) -> m.DeviceAnswer:
    """Ask whether the person has signed in on the other device; the session comes once."""
    return await gate.use_cases.people.ask_device(provider, body.kept, address_of(request))


@router.post("/{provider}/back-channel-logout", response_class=Response)
async def back_channel_logout(request: Request, gate: TheGate, provider: ProviderId) -> Response:
    """Take a provider's word that sessions have ended there (`logout_token`, a form), and end them here."""
    people = gate.use_cases.people
    people.check_provider(provider)
    token = _logout_token(await request.body())
    try:
        await people.signed_out_at(provider, token, address_of(request))
    except AuthError as error:
        if error.code is not AuthCode.SIGN_IN_REFUSED:
            raise
        return JSONResponse({"error": "invalid_request"}, HTTPStatus.BAD_REQUEST)
    return Response()


def _logout_token(form: bytes) -> str:
    """Return the one logout token of a form; empty: it has none."""
    try:
        given = parse_qs(form.decode("ascii", "replace"), max_num_fields=_MAX_FIELDS).get("logout_token", [])
    except ValueError:
        return ""
    return given[0] if len(given) == 1 else ""


def _answer_of(request: Request) -> dict[str, str]:
    """Return the provider's answer; a parameter that comes twice makes it none (RFC 6749, 3.1)."""
    query = request.url.query
    given = request.query_params.multi_items() if len(query) <= _MAX_ANSWER else []
    if len(dict(given)) < len(given) or len(query) > _MAX_ANSWER:
        raise AuthError(AuthCode.SIGN_IN_REFUSED, "an answer of a provider that is too long, or says something twice")
    return dict(given)


def _refused(error: AuthError) -> Response:
    """Lead back to the sign-in page, which has words for the code: no text of a URL is shown to people."""
    _log.info("turned away: %s: %s", error.code, error.reason)
    return RedirectResponse(f"/sign-in?{urlencode({'refused': error.code})}", HTTPStatus.SEE_OTHER)


def _unproven(error: AuthError) -> Response:
    """Lead to the page that says why nothing was proven."""
    _log.info("turned away: %s: %s", error.code, error.reason)
    return RedirectResponse(f"/proven?{urlencode({'refused': error.code})}", HTTPStatus.SEE_OTHER)


def _cookie(request: Request) -> str:
    return f"{cookie_name(request)}-sign-in"
