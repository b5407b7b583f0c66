"""The title of a problem fits what was asked for, and not only tasks."""

from __future__ import annotations

from tests.api.api_server import Api, served


async def ask_for_what_is_no_task(api: Api) -> None:
    replies = [
        await api.post("/v1/webhooks", {"url": "ftp://example.com"}),
        await api.post("/v1/tokens", {"name": ""}),
        await api.ask("PUT", "/v1/lanes/x", {"limit": -1}, who="admin"),
        await api.get("/v1/runs?state=nothing"),
    ]
    for reply in replies:
        assert reply.status in (400, 422)
        assert "task" not in reply.json["title"], reply.json
    chinese = await api.post("/v1/webhooks", {"url": "ftp://example.com"}, headers={"Accept-Language": "zh"})
    assert "任务" not in chinese.json["title"]


async def test_titles_speak_of_what_was_asked_for() -> None:
    async with served() as api:
        await ask_for_what_is_no_task(api)
