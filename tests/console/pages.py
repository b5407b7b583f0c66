"""Pages of the console, found by their routes, with addresses from the seeded store."""

from __future__ import annotations

from typing import Final, NamedTuple

from horae.console.app import _PAGES
from horae.console.request import SESSION_COOKIE
from tests.console.console_server import Console
from tests.console.seeded import Seed

_QUERIES: Final = {
    "/tasks/bulk": "?action=pause&all=1&q=label%3Akind%3Dheartbeat",
    "/stream": "?name=chat:12",
    "/group": "?folder=family",
    "/chat": "?chat=web:family",
}
"""Queries without which a page has nothing to show."""
_OF_ADMINS: Final = frozenset({"/chat", "/group"})
"""Pages of a group, which are absent for the members among the accounts."""


class HtmlPage(NamedTuple):
    """`who` is the account that opens the page: the first of those asked for that finds it."""

    route: str
    who: str
    paths: list[str]


async def html_pages(console: Console, seed: Seed, *accounts: str) -> list[HtmlPage]:
    """Return the pages that one of the accounts may open; streams, downloads and answers for scripts are left out."""
    cookies = {who: await _sign_in(console, who) for who in accounts}
    pages = []
    for route in (each.path for each in _PAGES if each.method == "GET"):
        if route in _OF_ADMINS and "admin" not in accounts:
            continue
        paths = [path + _QUERIES.get(route, "") for path in seed.paths(route)]
        who = await _find_reader(console, paths[0], cookies)
        if who is not None:
            pages.append(HtmlPage(route, who, paths))
    return pages


async def _sign_in(console: Console, who: str) -> str:
    return (await console.service.sessions.open_with_token(console.api.tokens[who], client="test")).cookie


async def _find_reader(console: Console, path: str, cookies: dict[str, str]) -> str | None:
    """Return the first account that gets the page. One that none of them gets is for the first, whose visit then fails."""
    is_refused = False
    for who, cookie in cookies.items():
        headers = {"Cookie": f"{SESSION_COOKIE}={cookie}"}
        async with console.api.session.get(console.url + path, headers=headers) as answer:
            if answer.content_type != "text/html":
                return None
            if answer.ok:
                return who
            is_refused = answer.status == 403
    return None if is_refused else next(iter(cookies))
