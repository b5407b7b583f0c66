"""`GET …/why` parses `at` in words, in the zone of the request, else in the caller's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest

from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL
from tests.api.api_server import Api, serve_api

SHANGHAI = "Asia/Shanghai"


def yesterday_at_nine(zone: str) -> datetime:
    day = SystemClock().now().astimezone(ZoneInfo(zone)).date() - timedelta(days=1)
    return datetime(day.year, day.month, day.day, 9, tzinfo=ZoneInfo(zone)).astimezone(UTC)


async def ask_why(moment: str) -> tuple[datetime, datetime]:
    """Return the parsed instant with the caller's zone, and with the zone of the request."""
    async with serve_api() as api:
        await api.service.accounts.put(LOCAL, "ada", zone=SHANGHAI)
        api.tokens["ada"] = (await api.service.tokens.make(LOCAL, owner="ada", name="second"))[1]
        task = await api.create_task(when="every day at 01:00", zone="UTC")
        path = f"/v1/tasks/{task['id']}/why?at={quote(moment)}"
        return await get_instant(api, path), await get_instant(api, f"{path}&zone=UTC")


async def get_instant(api: Api, path: str) -> datetime:
    reply = await api.get(path)
    assert reply.status == 200, reply.text
    return datetime.fromisoformat(reply.json["at"])


@pytest.mark.parametrize("moment", ["yesterday at 9am", "昨天早上9点"])
async def test_why_reads_moment_in_words(moment: str) -> None:
    callers, of_request = await ask_why(moment)
    assert callers == yesterday_at_nine(SHANGHAI)
    assert of_request == yesterday_at_nine("UTC")
