"""One request to a page: viewer, form with its problems, and service; the wrapper authenticates, checks and shows errors."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..errors import Conflict, HoraeError, InvalidSchedule, InvalidTask, NotAuthenticated, Refusal, StoreError, TooMuch
from ..service.accounts.sessions import csrf_token
from ..service.service import Service
from ..web.problems import status_of
from ..web.refusals import refuse as refuse_request
from ..web.request_context import AppContext, app_context, request_id
from ..wire.problems import problem_json, sentence_of
from .messages import TEXTS
from .notice import Notice, Undo, set_notice
from .refusals import refuse
from .renderer import page_response, requested_parts
from .request import NEXT_FIELD, Form, check_csrf, check_origin, local_path, read_form, session_cookie
from .viewer import ANONYMOUS, Viewer, make_viewer, viewer_zone

LOG: Final = logging.getLogger("horae.web")
NO_FORM: Final = Form([])


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request of a signed-in viewer. `form` is empty for a GET."""

    request: Request
    viewer: Viewer
    form: Form

    @property
    def context(self) -> AppContext:
        return app_context(self.request)

    @property
    def service(self) -> Service:
        return self.context.service

    @property
    def parts(self) -> list[str]:
        """The blocks of the page that a script asks for; empty for a whole page."""
        return requested_parts(self.request)

    def render(self, template: str, data: Mapping[str, Any], status: int = 200) -> Response:
        return page_response(self.request, self.viewer, template, data, status)

    def render_refused(self, template: str, data: Mapping[str, Any], refusal: HoraeError) -> Response:
        """Show a page again whose form or filter was refused: `problem` says why."""
        problem = problem_json(refusal, self.viewer.language)
        return self.render(template, {**data, "problem": problem}, status_of(refusal))

    def text(self, text: str, /, **facts: object) -> str:
        """Return a text of the console in the language of the viewer, by its name in the catalogue."""
        return TEXTS[text].in_language(self.viewer.language, **facts)

    def redirect(self, path: str, notice: Notice | None = None, **query: object) -> Response:
        """Go on to a page of the console after a form was handled."""
        return self._go(self.viewer.url(path, **query), notice)

    def back(self, path: str, notice: Notice | None = None) -> Response:
        """Return to the page that the form names in its field `next`, else to `path`."""
        wanted = self.form.text(NEXT_FIELD)
        return self._go(local_path(wanted, self.viewer.base) if wanted else self.viewer.url(path), notice)

    def notice(self, text: str, /, undo: Undo | None = None, **facts: object) -> Notice:
        """Return a notice with a text of the console, by its name in the catalogue."""
        return Notice(self.text(text, **facts), undo)

    def _go(self, url: str, notice: Notice | None) -> Response:
        response = RedirectResponse(url, 303)
        if notice is not None:
            set_notice(self.request, response, notice)
        return response


Handler: TypeAlias = Callable[[PageRequest], Awaitable[Response]]
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
SignInPage: TypeAlias = Callable[[Request, Form], Awaitable[Response]]


class PageRoute(NamedTuple):
    """A page or a form of signed-in viewers. A fixed path comes before one with a parameter in the same place."""

    method: str
    path: str
    handler: Handler


def page(path: str, handler: Handler) -> PageRoute:
    return PageRoute("GET", path, handler)


def form(path: str, handler: Handler) -> PageRoute:
    return PageRoute("POST", path, handler)


def signed_in(handler: Handler, sign_in_page: SignInPage) -> Endpoint:
    """Return an endpoint that serves signed-in viewers; other browsers get the sign-in page, with their form kept."""

    async def endpoint(request: Request) -> Response:
        form, viewer = NO_FORM, anonymous_viewer(request)
        try:
            if request.method == "POST":
                check_origin(request)
                form = await read_form(request)
            viewer = await load_viewer(request)
            if request.method == "POST":
                check_csrf(request, form)
            return await handler(PageRequest(request, viewer, form))
        except NotAuthenticated:
            return await sign_in_page(request, form)
        except HoraeError as error:
            return error_response(request, viewer, error)
        except Exception:
            LOG.exception("%s %s %s failed", request_id(request), request.method, request.url.path)
            return error_response(request, viewer, refuse_request("internal_error"))

    return endpoint


async def load_viewer(request: Request) -> Viewer:
    """Return the viewer of a request. Raises `session_ended` if the browser is not signed in."""
    context, cookie = app_context(request), session_cookie(request)
    principal = await context.service.sessions.authenticate(cookie, request=request_id(request))
    zone = viewer_zone(request, principal.zone, context.service.zone)
    return make_viewer(request, principal, zone, csrf_token(cookie))


def anonymous_viewer(request: Request) -> Viewer:
    """Return the viewer of pages for browsers that are not signed in: it has no rights."""
    return make_viewer(request, ANONYMOUS, viewer_zone(request, app_context(request).service.zone), "")


async def not_found_response(request: Request, status: int) -> Response:
    """Show that there is no such page; signed-in viewers keep their navigation."""
    try:
        viewer = await load_viewer(request)
    except HoraeError:
        viewer = anonymous_viewer(request)
    return page_response(request, viewer, "not_found.html", {}, status)


def error_response(request: Request, viewer: Viewer, error: HoraeError) -> Response:
    """Show an error in three lines: what happened, what to do, and the code with the request id."""
    status = status_of(error)
    problem = problem_json(error, viewer.language)
    if isinstance(error, StoreError) and not isinstance(error, Refusal):
        LOG.warning("%s %s: %s", request_id(request), type(error).__name__, error)
        # A driver's message may name hosts, files and tables.
        problem["detail"] = sentence_of(error, viewer.language).message
    data = {"problem": problem, "request_id": request_id(request)}
    return page_response(request, viewer, "error.html", data, status)


FORM_ERRORS: Final = (InvalidTask, InvalidSchedule, Conflict, TooMuch)
"""Errors that a user mends in the form. Others, such as an absent object, get a page of their own."""
CONFIRM_FIELD: Final = "confirm"


def form_problem(request: PageRequest, error: HoraeError | None) -> dict[str, Any]:
    """Return what a template shows of the problem; no `problem` where there is no error."""
    return {"problem": None if error is None else problem_json(error, request.viewer.language)}


def form_status(error: HoraeError | None) -> int:
    return 200 if error is None else status_of(error)


def check_confirmation(request: PageRequest, word: str) -> None:
    """Refuse a deletion whose form does not repeat this word."""
    typed = request.form.text(CONFIRM_FIELD)
    if typed != word:
        raise refuse("not_confirmed", value=typed, wanted=word)
