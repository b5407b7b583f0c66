"""Pages of the console, found by their routes, with addresses from the seeded store."""

from __future__ import annotations

from typing import NamedTuple

from horae.console.app import _PAGES
from horae.console.request import SESSION_COOKIE
from tests.console.console_server import Console
from tests.console.seeded import Seed


class HtmlPage(NamedTuple):
    route: str
    paths: list[str]


async def html_pages(console: Console, seed: Seed, who: str) -> list[HtmlPage]:
    """Return the pages that the account may open; streams, downloads and answers for scripts are left out."""
    routes = [route.path for route in _PAGES if route.method == "GET"]
    opened = await console.service.sessions.open_with_token(console.api.tokens[who], client="test")
    pages = [HtmlPage(route, seed.paths(route)) for route in routes]
    return [each for each in pages if await _is_page(console, each.paths[0], opened.cookie)]


async def _is_page(console: Console, path: str, cookie: str) -> bool:
    headers = {"Cookie": f"{SESSION_COOKIE}={cookie}"}
    async with console.api.session.get(console.url + path, headers=headers) as answer:
        return answer.content_type == "text/html" and answer.status != 403
