"""Lookup of credentials for trusted routers: it exists only where `trusted_proxies` is set, and only for those."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import HoraeError
from ...service.accounts.credential_lookup import read_lookup
from ...web.body import read_json_body
from ...web.problems import problem_response
from ...web.refusals import refuse
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.trusted_proxies import FORWARDED_FOR, is_from_trusted_proxy

LOOKUP_PATH: Final = "/internal/credential-lookup"
"""A router in front forwards no request to it."""


async def locate_credential(request: Request) -> Response:
    try:
        # A request that a proxy passes on is a client's, and not the router's own.
        if not is_from_trusted_proxy(request) or FORWARDED_FOR.decode() in request.headers:
            raise refuse("no_such_path", path=LOOKUP_PATH)
        credential = read_lookup(await read_json_body(request))
        if credential is None:
            raise refuse("no_such_path", path=LOOKUP_PATH)
        location = await app_context(request).service.credential_lookup.locate(credential)
        return json_response(location._asdict())
    except HoraeError as error:
        return problem_response(request, error)


LOOKUP_ROUTE: Final = Route(LOOKUP_PATH, locate_credential, methods=["POST"])
