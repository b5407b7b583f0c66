"""Requests of a browser without one: links, forms and pages of the console, sent with chosen headers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlencode

from horae.console.request import SESSION_COOKIE
from horae.model.accounts.principal import LOCAL
from horae.model.accounts.session import Session
from horae.runtime.api_service import mount_console
from tests.api.api_server import Api, Reply, serve_api

ROOT = LOCAL._replace(actor="local", via="test")


@asynccontextmanager
async def serve_console_api() -> AsyncIterator[Api]:
    """Serve the API with the console, without starting a browser."""
    async with serve_api() as api:
        mount_console(api.app)
        yield api


async def make_link(api: Api, who: str = "admin") -> tuple[str, str]:
    """Return a sign-in link for the owner of a token, and its code."""
    principal = await api.service.tokens.authenticate(api.tokens[who], via="")
    code = (await api.service.sessions.make_link(principal)).code
    return f"{api.base}/console/sign-in?code={code}", code


async def post(api: Api, path: str, fields: Mapping[str, str], cookie: str = "", **headers: str | None) -> Reply:
    """Send a form as a browser does, with the headers that are given instead of its own; None leaves one out."""
    own: dict[str, str | None] = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": api.base,
        "Cookie": f"{SESSION_COOKIE}={cookie}",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    sent = {name: value for name, value in own.items() if value is not None}
    return await api.request("POST", f"/console{path}", who=None, headers=sent, raw=urlencode(fields).encode())


async def get(api: Api, path: str, cookie: str = "", **headers: str) -> Reply:
    sent = {"Cookie": f"{SESSION_COOKIE}={cookie}", "Accept": "text/html", **headers}
    return await api.get(f"/console{path}", who=None, headers=sent)


async def sessions_of(api: Api, owner: str) -> list[Session]:
    return list((await api.service.sessions.page(ROOT, owner)).items)
