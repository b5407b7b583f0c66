"""Sign-in page: a one-time link or a token is exchanged for a session cookie; a form that was interrupted is kept."""

from __future__ import annotations

from contextlib import suppress
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...errors import HoraeError, NotAuthenticated, NotFound, Refusal, StoreError
from ...service.accounts.sessions import OpenedSession, csrf_token
from ...web.authentication import count_failure
from ...web.problems import status_of
from ...web.request_context import app_context, request_id
from ...wire.problems import problem_json
from ..page import NO_FORM, PageRequest, anonymous_viewer, error_response, load_viewer
from ..page import form as post_form
from ..renderer import page_response
from ..request import (
    CSRF_FIELD,
    NEXT_FIELD,
    Form,
    check_origin,
    drop_session_cookie,
    local_path,
    read_form,
    session_cookie,
    set_session_cookie,
)

KEPT_FIELD = "kept"
"""The interrupted form, URL-encoded."""
_PATH = "/sign-in"
_CODE_FIELD = "code"
_TOKEN_FIELD = "token"  # noqa: S105 - the name of a field
_SECRET_WORDS = ("secret", "token", "password", "value")
_REFERRER_POLICY = "strict-origin"
"""The address of this page may hold a code: requests from here name the origin only, also those to this server."""


async def require_sign_in(request: Request, form: Form) -> Response:
    """Answer a request without a valid session: a GET is sent to the sign-in page, a POST gets it with its form kept."""
    wanted = f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
    if request.method != "GET":
        return _sign_in_page(request, next_path=wanted, kept=_encode_form(form), status=401)
    if request.headers.get("sec-fetch-site") == "cross-site" and not session_cookie(request):
        # The browser withholds a strict cookie from a link on another site; it sends it with a reload.
        return page_response(request, anonymous_viewer(request), "reload.html", {})
    base = request.scope.get("root_path", "")
    query = "" if wanted == f"{base}/" else f"?{NEXT_FIELD}={quote(wanted)}"
    return RedirectResponse(f"{base}{_PATH}{query}", 303)


async def show_sign_in(request: Request) -> Response:
    """Show the form; with `?code=…` of a link one button signs in, so that no preview of the link can use it up.

    A link also signs in where the browser is signed in already: it may be for another owner.
    """
    code, next_path = request.query_params.get(_CODE_FIELD, ""), request.query_params.get(NEXT_FIELD, "")
    if code:
        hide_query(request)
        return _sign_in_page(request, code=code, next_path=next_path)
    try:
        await load_viewer(request)
    except NotAuthenticated:
        return _sign_in_page(request, next_path=next_path)
    except HoraeError as error:
        return error_response(request, anonymous_viewer(request), error)
    return RedirectResponse(_next_path(request, next_path), 303)


def hide_query(request: Request) -> None:
    """Remove the query from the scope: servers and middleware that log requests read it there when the response starts."""
    request.scope["query_string"] = b""


async def sign_in(request: Request) -> Response:
    form = NO_FORM
    try:
        check_origin(request)
        form = await read_form(request)
        if form.get(KEPT_FIELD) and not form.text(_CODE_FIELD) and not form.text(_TOKEN_FIELD):
            # The browser has signed in elsewhere, in another tab.
            await load_viewer(request)
            return _resume_page(request, session_cookie(request), form)
        opened = await _open_session(request, form)
        await _end_former_session(request)
    except NotAuthenticated as error:
        problem = problem_json(error, anonymous_viewer(request).language)
        return _sign_in_page(
            request, next_path=form.text(NEXT_FIELD), kept=form.get(KEPT_FIELD, ""), problem=problem, status=401
        )
    except HoraeError as error:
        return error_response(request, anonymous_viewer(request), error)
    response = (
        _resume_page(request, opened.cookie, form)
        if form.get(KEPT_FIELD)
        else RedirectResponse(_next_path(request, form.text(NEXT_FIELD)), 303)
    )
    set_session_cookie(request, response, opened.cookie)
    return response


async def _end_former_session(request: Request) -> None:
    """Revoke the session that this browser had before: nothing uses its cookie any more."""
    cookie, sessions = session_cookie(request), app_context(request).service.sessions
    with suppress(NotAuthenticated, NotFound):
        principal = await sessions.authenticate(cookie, request=request_id(request))
        await sessions.revoke(principal, cookie.rpartition("_")[0])


def show_refusal(request: Request, error: HoraeError, next_path: str) -> Response:
    """Show the sign-in page with the reason why another way to sign in failed."""
    problem = problem_json(error, anonymous_viewer(request).language)
    if isinstance(error, StoreError) and not isinstance(error, Refusal):
        return error_response(request, anonymous_viewer(request), error)
    return _sign_in_page(request, next_path=next_path, problem=problem, status=status_of(error))


def not_found(request: Request) -> Response:
    return page_response(request, anonymous_viewer(request), "not_found.html", {}, 404)


async def sign_out(page: PageRequest) -> Response:
    cookie = session_cookie(page.request)
    await page.service.sessions.revoke(page.viewer.principal, cookie.rpartition("_")[0])
    response = page.redirect(_PATH)
    drop_session_cookie(page.request, response)
    return response


async def _open_session(request: Request, form: Form) -> OpenedSession:
    sessions, client = app_context(request).service.sessions, request.headers.get("user-agent", "")
    try:
        if form.text(_CODE_FIELD):
            return await sessions.open_with_link(form.text(_CODE_FIELD), client=client, request=request_id(request))
        return await sessions.open_with_token(form.text(_TOKEN_FIELD), client=client, request=request_id(request))
    except NotAuthenticated:
        count_failure(request)
        raise


def _sign_in_page(
    request: Request,
    *,
    code: str = "",
    next_path: str = "",
    kept: str = "",
    problem: dict[str, object] | None = None,
    status: int = 200,
) -> Response:
    context = app_context(request)
    external = context.external_sign_in
    data = {
        "code": code,
        "next": next_path,
        "kept": kept,
        "problem": problem,
        "makes_links": context.settings.makes_links,
        "provider": None if external is None else external.provider.name,
    }
    response = page_response(request, anonymous_viewer(request), "sign_in.html", data, status)
    response.headers["Referrer-Policy"] = _REFERRER_POLICY
    return response


def _resume_page(request: Request, cookie: str, form: Form) -> Response:
    """Show the interrupted form with a button that sends it, now with the token of the new session."""
    kept = parse_qsl(form.get(KEPT_FIELD, ""), keep_blank_values=True)
    fields = [(name, value, _is_secret(name)) for name, value in kept if name != CSRF_FIELD]
    path = _next_path(request, form.text(NEXT_FIELD))
    data = {"action": path, "fields": fields, "token": csrf_token(cookie)}
    return page_response(request, anonymous_viewer(request), "resume.html", data)


def _is_secret(name: str) -> bool:
    """Whether the page does not show the value of this field, only sends it."""
    return any(word in name.lower() for word in _SECRET_WORDS)


def _encode_form(form: Form) -> str:
    return urlencode([(name, value) for name, value in form.pairs if name != CSRF_FIELD])


def _next_path(request: Request, text: str) -> str:
    return local_path(text, request.scope.get("root_path", ""))


ROUTES: Final = (post_form("/sign-out", sign_out),)
