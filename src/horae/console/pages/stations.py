"""Stations: which programs may join, who has joined which node, their load and last answers."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from ..page import PageRequest, page

LIST_SIZE: Final = 100


async def show(request: PageRequest) -> Response:
    query = request.request.query_params
    found = await request.service.stations.page(request.viewer.principal, query.get("after") or None, LIST_SIZE)
    data: dict[str, Any] = {
        "page": "stations",
        "stations": found.items,
        "has_owners": request.viewer.is_admin,
        "after": found.after,
        "query": {"after": query["after"]} if query.get("after") else {},
    }
    return request.render("stations.html", data)


ROUTES: Final = (page("/stations", show),)
