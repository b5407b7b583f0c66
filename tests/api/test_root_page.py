"""`GET /`: a page for browsers and JSON for programs, without a token and without a word of what is kept here."""

from __future__ import annotations

import pytest

from horae.version import __version__
from tests.api.api_server import Api, served

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


async def ask_as_a_program(api: Api) -> None:
    await api.made()
    for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json, text/html;q=0.5"}):
        reply = await api.get("/", who=None, headers=accept)
        assert reply.status == 200
        assert reply.json["version"] == __version__
        assert reply.json["status"] in ("ready", "not ready")
        assert "name" not in reply.json or reply.json["name"] == "horae"


async def test_a_program_gets_json() -> None:
    async with served() as api:
        await ask_as_a_program(api)


async def follow_every_link(api: Api) -> None:
    for path in (await api.get("/", who=None)).json["links"].values():
        assert (await api.get(path)).status in (200, 503), path


async def test_every_link_leads_somewhere() -> None:
    async with served() as api:
        await follow_every_link(api)


@pytest.mark.parametrize(
    ("spoken", "expected"),
    [("en-GB", "This is its HTTP API"), ("zh-CN,zh;q=0.9", "状态：")],
    ids=["en", "zh"],
)
async def test_a_browser_gets_a_page(spoken: str, expected: str) -> None:
    headers = {"Accept": BROWSER, "Accept-Language": spoken}
    async with served() as api:
        made = await api.made()
        anonymous = await api.get("/", who=None, headers=headers)
        assert anonymous.headers["content-type"] == "text/html; charset=utf-8"
        assert "script" not in anonymous.headers["content-security-policy"]
        assert expected in anonymous.text
        assert __version__ in anonymous.text
        for secret in (made["id"], made["name"], "sqlite", "memory:"):
            assert secret not in anonymous.text
        assert (await api.get("/", headers=headers)).text == anonymous.text
