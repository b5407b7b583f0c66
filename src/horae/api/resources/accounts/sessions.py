"""Browser sessions of the console: list and revoke; and one-time sign-in links."""

from __future__ import annotations

from typing import Annotated, Final

from starlette.requests import Request
from starlette.responses import Response

from ....model.accounts.principal import Principal
from ....model.refusals import refuse
from ....web.middleware import console_path
from ....web.pagination import decode_cursor, page_response
from ....web.parameters import Path
from ....web.request_context import app_context
from ....web.responses import json_response
from ....web.routing import RouteGroup
from ....wire.accounts import session_json, sign_in_url
from ....wire.instants import utc
from ...openapi import Operation
from ...parameters import Cursor, DryRun, Limit, service_for
from ...parameters import Owner as OwnerQuery

routes: Final = RouteGroup("/v1", "sessions")

SessionId = Annotated[str, Path(max_length=200, description="The id of a session: `ses_…`.")]


@routes.get("/sessions", Operation("list_sessions", "Browsers that are signed in to the console", "SessionPage"))
async def list_sessions(
    request: Request, principal: Principal, *, owner: OwnerQuery = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    after = decode_cursor(request, principal, cursor)
    page = await app_context(request).service.sessions.page(principal, owner, after, limit)
    return page_response(request, principal, page, session_json)


@routes.delete(
    "/sessions/{session_id}",
    Operation(
        "revoke_session", "Sign a browser out; its event streams end within a second", "Session", problems=(404,)
    ),
)
async def revoke_session(
    request: Request, principal: Principal, session_id: SessionId, *, dry_run: DryRun = False
) -> Response:
    sessions = service_for(request, dry_run=dry_run).sessions
    return json_response(session_json(await sessions.revoke(principal, session_id)))


@routes.post(
    "/sign-in-links",
    Operation(
        "make_sign_in_link",
        "A link to the console that signs one browser in as the owner of the token, once, within ten minutes",
        "SignInLink",
        description="The link begins with the address that the request was sent to. Each request makes a link of its own.",
    ),
)
async def make_sign_in_link(request: Request, principal: Principal) -> Response:
    link = await app_context(request).service.sessions.make_link(principal)
    # The rights are checked first: without them, the answer is the same with and without a console.
    if console_path(request) is None:
        raise refuse("missing_part", library="jinja2", extra="console")
    url = sign_in_url(str(request.base_url).rstrip("/"), link.code)
    return json_response({"url": url, "expires": utc(link.expires)})
