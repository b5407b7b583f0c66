"""`GET /`: an HTML page for browsers and JSON for programs, without a token and without stored data."""

from __future__ import annotations

import pytest

from horae.version import __version__
from tests.api.api_server import Api, serve_api

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


async def check_json_response(api: Api) -> None:
    await api.create_task()
    for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json, text/html;q=0.5"}):
        reply = await api.get("/", who=None, headers=accept)
        assert reply.status == 200
        assert reply.json["version"] == __version__
        assert reply.json["status"] in ("ready", "not ready")
        assert "name" not in reply.json or reply.json["name"] == "horae"


async def test_client_that_accepts_json_gets_json() -> None:
    async with serve_api() as api:
        await check_json_response(api)


async def check_links(api: Api) -> None:
    for path in (await api.get("/", who=None)).json["links"].values():
        assert (await api.get(path)).status in (200, 503), path


async def test_every_link_answers() -> None:
    async with serve_api() as api:
        await check_links(api)


@pytest.mark.parametrize(
    ("accept_language", "expected"),
    [("en-GB", "This is its HTTP API"), ("zh-CN,zh;q=0.9", "状态：")],
    ids=["en", "zh"],
)
async def test_browser_gets_a_page_in_its_language(accept_language: str, expected: str) -> None:
    headers = {"Accept": BROWSER, "Accept-Language": accept_language}
    async with serve_api() as api:
        made = await api.create_task()
        anonymous = await api.get("/", who=None, headers=headers)
        assert anonymous.headers["content-type"] == "text/html; charset=utf-8"
        assert "script" not in anonymous.headers["content-security-policy"]
        assert expected in anonymous.text
        assert __version__ in anonymous.text
        for secret in (made["id"], made["name"], "sqlite", "memory:"):
            assert secret not in anonymous.text
        assert (await api.get("/", headers=headers)).text == anonymous.text
