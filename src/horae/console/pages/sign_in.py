"""Sign-in page: a one-time link or a token is exchanged for a session cookie; a form that was interrupted is kept."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...errors import HoraeError, NotAuthenticated
from ...service.accounts.sessions import OpenedSession, csrf_token
from ...web.authentication import count_failure
from ...web.request_context import app_context, request_id
from ...wire.problems import problem_json
from ..page import NO_FORM, PageRequest, anonymous_viewer, error_response, load_viewer
from ..page import form as post_form
from ..rendering import page_response
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
_REFERRER_POLICY = "strict-origin"
"""The address of this page may hold a code: requests from here name the origin only, also those to this server."""


async def require_sign_in(request: Request, form: Form) -> Response:
    """Answer a request without a valid session: a GET is sent to the sign-in page, a POST gets it with its form kept."""
    if request.method != "GET":
        return _sign_in_page(request, next_path=request.url.path, kept=_kept(form), status=401)
    if request.headers.get("sec-fetch-site") == "cross-site" and not session_cookie(request):
        # The browser withholds a strict cookie from a link on another site; it sends it with a reload.
        return page_response(request, anonymous_viewer(request), "reload.html", {})
    base, wanted = request.scope.get("root_path", ""), request.url.path
    wanted += f"?{request.url.query}" if request.url.query else ""
    query = "" if wanted == f"{base}/" else f"?{NEXT_FIELD}={quote(wanted)}"
    return RedirectResponse(f"{base}{_PATH}{query}", 303)


async def show_sign_in(request: Request) -> Response:
    """Show the form; with `?code=…` of a link one button signs in, so that no preview of the link can use it up."""
    code, next_path = request.query_params.get(_CODE_FIELD, ""), request.query_params.get(NEXT_FIELD, "")
    if code:
        _hide_query(request)
    try:
        await load_viewer(request)
    except NotAuthenticated:
        return _sign_in_page(request, code=code, next_path=next_path)
    except HoraeError as error:
        return error_response(request, error)
    return RedirectResponse(_next_path(request, next_path), 303)


def _hide_query(request: Request) -> None:
    """Remove the query from the scope: servers and middleware that log requests read it there when the response starts."""
    request.scope["query_string"] = b""


async def sign_in(request: Request) -> Response:
    form = NO_FORM
    try:
        check_origin(request)
        form = await read_form(request)
        opened = await _open_session(request, form)
    except NotAuthenticated as error:
        problem = problem_json(error, anonymous_viewer(request).language)
        return _sign_in_page(
            request, next_path=form.text(NEXT_FIELD), kept=form.get(KEPT_FIELD, ""), problem=problem, status=401
        )
    except HoraeError as error:
        return error_response(request, error)
    kept = form.get(KEPT_FIELD, "")
    next_path = _next_path(request, form.text(NEXT_FIELD))
    response = _resume_page(request, opened, next_path, kept) if kept else RedirectResponse(next_path, 303)
    set_session_cookie(request, response, opened.cookie)
    return response


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
        return await sessions.open_with_token(form.text("token"), client=client, request=request_id(request))
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
    makes_links = app_context(request).settings.makes_links
    data = {"code": code, "next": next_path, "kept": kept, "problem": problem, "makes_links": makes_links}
    response = page_response(request, anonymous_viewer(request), "sign_in.html", data, status)
    response.headers["Referrer-Policy"] = _REFERRER_POLICY
    return response


def _resume_page(request: Request, opened: OpenedSession, path: str, kept: str) -> Response:
    """Show the interrupted form with a button that sends it, now with the token of the new session."""
    fields = [(name, value) for name, value in parse_qsl(kept, keep_blank_values=True) if name != CSRF_FIELD]
    data = {"action": path, "fields": fields, "token": csrf_token(opened.cookie)}
    return page_response(request, anonymous_viewer(request), "resume.html", data)


def _kept(form: Form) -> str:
    return urlencode([(name, value) for name, value in form.pairs if name != CSRF_FIELD])


def _next_path(request: Request, text: str) -> str:
    return local_path(text, request.scope.get("root_path", ""))


ROUTES: Final = (post_form("/sign-out", sign_out),)
