"""Sign-in with an identity provider: leads the browser there, and opens a session when it comes back with a code."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from hmac import compare_digest
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...errors import HoraeError
from ...outgoing.identity_provider import SignInAttempt, new_attempt
from ...outgoing.refusals import refuse
from ...service.accounts.sessions import OpenedSession
from ...web.authentication import count_failure
from ...web.request_context import ExternalSignIn, app_context, request_id
from ...wire.accounts import CONSOLE_PATH
from ..page import anonymous_viewer
from ..renderer import page_response
from ..request import NEXT_FIELD, cookie_path, is_encrypted, local_path, set_session_cookie
from .sign_in import hide_query, not_found, show_refusal

START_PATH: Final = "/oidc/start"
CALLBACK_PATH: Final = "/oidc/callback"
_COOKIE: Final = "horae_oidc_"
_LIFETIME: Final = 600
"""Seconds in which the browser has to come back."""
_MAX_NEXT: Final = 1_000
_STATE_CHARACTERS: Final = 16


class _Begun(NamedTuple):
    attempt: SignInAttempt
    next_path: str


async def start(request: Request) -> Response:
    """Redirect to the provider; a cookie keeps the random values that its answer has to match."""
    external = app_context(request).external_sign_in
    if external is None:
        return not_found(request)
    attempt, wanted = new_attempt(), request.query_params.get(NEXT_FIELD, "")[:_MAX_NEXT]
    try:
        url = await external.provider.authorization_url(attempt, _redirect_uri(request, external))
    except HoraeError as error:
        return show_refusal(request, error, wanted)
    response = RedirectResponse(url, 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
    # Lax: the provider, another site, leads the browser back.
    response.set_cookie(
        _COOKIE + attempt.state[:_STATE_CHARACTERS],
        _encode(_Begun(attempt, wanted)),
        max_age=_LIFETIME,
        path=_cookie_path(request),
        secure=_is_secure(request, external),
        httponly=True,
        samesite="lax",
    )
    return response


async def finish(request: Request) -> Response:
    """Open a session for the identity that the provider vouches for; every defect shows the sign-in page with its reason."""
    external = app_context(request).external_sign_in
    if external is None:
        return not_found(request)
    query = dict(request.query_params)
    hide_query(request)
    begun = _read_begun(request, query.get("state", ""))
    next_path = "" if begun is None else begun.next_path
    try:
        opened = await _open_session(request, external, begun, query)
    except HoraeError as error:
        response = show_refusal(request, error, next_path)
    else:
        target = local_path(next_path, request.scope.get("root_path", ""))
        # Not a redirect: a browser that comes from another site would withhold the strict cookie from its target.
        response = page_response(request, anonymous_viewer(request), "continue.html", {"target": target})
        response.headers["Referrer-Policy"] = "strict-origin"
        set_session_cookie(request, response, opened.cookie, is_secure=_is_secure(request, external))
    for name in [each for each in request.cookies if each.startswith(_COOKIE)]:
        response.delete_cookie(name, _cookie_path(request), httponly=True, samesite="lax")
    return response


async def _open_session(
    request: Request, external: ExternalSignIn, begun: _Begun | None, query: dict[str, str]
) -> OpenedSession:
    provider = external.provider
    try:
        if begun is None:
            raise refuse("provider_state")
        if "error" in query:
            raise refuse("provider_denied", provider=provider.name, problem=_word(query["error"]))
        if query.get("iss", provider.settings.issuer) != provider.settings.issuer:
            raise refuse("provider_token", provider=provider.name, problem="issuer")
        claims = await provider.fetch_claims(begun.attempt, query.get("code", ""), _redirect_uri(request, external))
        identity = external.rules.identify(claims)
        return await app_context(request).service.sessions.open_for_identity(
            identity,
            creates_owner=external.creates_owners,
            client=request.headers.get("user-agent", ""),
            request=request_id(request),
        )
    except HoraeError:
        count_failure(request)
        raise


def _redirect_uri(request: Request, external: ExternalSignIn) -> str:
    prefix, console = request.scope.get("root_path", ""), external.console_url
    if console is None:
        # Not `base_url`, which leaves out the prefix under which the console is mounted.
        console = f"{request.url.scheme}://{request.url.netloc}{prefix}"
    elif prefix != CONSOLE_PATH and console.endswith(CONSOLE_PATH):
        # Another view of the same server, such as the simple one.
        console = console.removesuffix(CONSOLE_PATH) + prefix
    return f"{console}{CALLBACK_PATH}"


def _is_secure(request: Request, external: ExternalSignIn) -> bool:
    return is_encrypted(request) or (external.console_url or "").startswith("https://")


def _cookie_path(request: Request) -> str:
    return f"{cookie_path(request).rstrip('/')}/oidc"


def _encode(begun: _Begun) -> str:
    return urlsafe_b64encode(json.dumps([*begun.attempt, begun.next_path]).encode()).decode()


def _read_begun(request: Request, state: str) -> _Begun | None:
    """Return what this browser began with this state; None if it did not, or the cookie is malformed."""
    content = request.cookies.get(_COOKIE + state[:_STATE_CHARACTERS], "")
    try:
        known, nonce, verifier, next_path = json.loads(urlsafe_b64decode(content.encode()))
        attempt = SignInAttempt(str(known), str(nonce), str(verifier))
    except (ValueError, TypeError, Base64Error):
        return None
    if not state or not compare_digest(attempt.state.encode(), state.encode()):
        return None
    return _Begun(attempt, str(next_path))


def _word(text: str) -> str:
    """Return an error code of the provider, as far as it is one."""
    return text[:60] if text.replace("_", "").isalnum() and text.isascii() else "error"
