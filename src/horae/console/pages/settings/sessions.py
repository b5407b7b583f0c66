"""Sessions: signed-in browsers with their client and last use; revoke."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from ...page import PageRequest, form, page
from ...request import drop_session_cookie, session_cookie
from .tabs import render_tab

PAGE_SIZE: Final = 50


async def show(request: PageRequest) -> Response:
    after = request.request.query_params.get("after")
    sessions = await request.service.sessions.page(request.viewer.principal, None, after or None, PAGE_SIZE)
    data = {
        "sessions": sorted(sessions.items, key=lambda each: each.used, reverse=True),
        "this": _this_session(request),
        "after": sessions.after,
        "query": {"after": after} if after else {},
    }
    return render_tab(request, "sessions", data)


async def revoke(request: PageRequest) -> Response:
    """End a session; the browser's own one ends with the sign-in page."""
    session = await request.service.sessions.revoke(request.viewer.principal, request.form.text("session"))
    if session.id != _this_session(request):
        notice = request.notice("settings_session_revoked", owner=session.owner)
        return request.redirect("/settings/sessions", notice)
    response = request.redirect("/sign-in")
    drop_session_cookie(request.request, response)
    return response


def _this_session(request: PageRequest) -> str:
    return session_cookie(request.request).rpartition("_")[0]


ROUTES: Final = (page("/settings/sessions", show), form("/settings/sessions/revoke", revoke))
