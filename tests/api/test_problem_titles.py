"""Titles of problems name the kind of the requested resource, not always a task."""

from __future__ import annotations

from tests.api.api_server import Api, serve_api


async def check_titles(api: Api) -> None:
    replies = [
        await api.post("/v1/webhooks", {"url": "ftp://example.com"}),
        await api.post("/v1/tokens", {"name": ""}),
        await api.request("PUT", "/v1/lanes/x", {"limit": -1}, who="admin"),
        await api.get("/v1/runs?state=nothing"),
    ]
    for reply in replies:
        assert reply.status in (400, 422)
        assert "task" not in reply.json["title"], reply.json
    chinese = await api.post("/v1/webhooks", {"url": "ftp://example.com"}, headers={"Accept-Language": "zh"})
    assert "任务" not in chinese.json["title"]


async def test_title_of_a_problem_names_the_resource() -> None:
    async with serve_api() as api:
        await check_titles(api)
