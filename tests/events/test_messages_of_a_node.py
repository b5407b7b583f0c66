"""Messages of a real node about runs that really fail: `horae up`, apprise in its process, and services on loopback."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import aiohttp

from horae.clock import SystemClock
from tests.api.up_process import TIMEOUT_SECONDS, run_up
from tests.unit.notifiers.message_servers import http_receiver, smtp_receiver

HOUR: Final = timedelta(hours=1)
SETTINGS: Final = 'outgoing_networks = ["127.0.0.0/8"]\nzone = "UTC"\n'
NOBODY_LISTENS: Final = "http://127.0.0.1:9/"
OFTEN: Final = {"when": "every 1s", "http": NOBODY_LISTENS}


def quiet_hours_around(now: datetime) -> str:
    return f"{now - HOUR:%H:%M}-{now + 2 * HOUR:%H:%M}"


async def answer_of(answer: aiohttp.ClientResponse) -> Any:
    assert answer.status < 300, await answer.text()
    return await answer.json()


async def notices(session: aiohttp.ClientSession, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await answer_of(await session.get(f"/v1/destinations/{name}/notices")))["items"]
    return found


async def test_tasks_that_go_on_failing_are_one_digest_with_a_line_for_each_incident(tmp_path: Path) -> None:
    """At once by HTTP and by mail; a destination in its quiet hours gets nothing, and its messages wait for their end."""
    (tmp_path / "horae.toml").write_text(SETTINGS, encoding="utf-8")
    now = SystemClock().now()
    notify = {"to": ["ops", "mail", "night"], "on": ["failed", "recovered"]}
    policies = {"retry": {"attempts": 1}, "give_up_after": None, "notify": notify}
    with run_up(tmp_path, "--port", "0") as node:
        ready = node.expect("api.ready")
        token = Path(ready["token_file"]).read_text(encoding="ascii").strip()
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            http_receiver() as ops,
            http_receiver() as night,
            smtp_receiver() as mail,
            aiohttp.ClientSession(ready["url"], headers=headers) as session,
        ):
            for name, fields in (
                ("ops", {"url": ops.url()}),
                ("mail", {"url": mail.url}),
                ("night", {"url": night.url(), "quiet": quiet_hours_around(now), "zone": "UTC"}),
            ):
                await answer_of(await session.put(f"/v1/destinations/{name}", json=fields))
            for name in ("backup", "report"):
                task = {"name": name, "zone": "UTC", "policies": policies, **OFTEN}
                await answer_of(await session.post("/v1/tasks", json=task))
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await ops.arrived.wait()
                await mail.arrived.wait()
            failures = (await answer_of(await session.get("/v1/runs?state=failed")))["items"]
            assert len(failures) > 4, "each task has failed several times by now"
            (message,) = ops.messages
            assert message["title"] == "2 notices: 2 failed"
            lines = message["message"].splitlines()
            assert sorted(line.partition(" UTC ")[2].partition(":")[0] for line in lines) == [
                "backup failed",
                "report failed",
            ]
            assert [each["Subject"] for each in mail.mails] == ["2 notices: 2 failed"]
            held = await notices(session, "night")
            assert [each["state"] for each in held] == ["pending", "pending"]
            assert all(datetime.fromisoformat(each["next_attempt"]) > now + HOUR for each in held)
            assert night.messages == []
            async with asyncio.timeout(TIMEOUT_SECONDS):
                # The answer has left the service; the node writes it down a moment later.
                while [each["state"] for each in await notices(session, "ops")] != ["delivered", "delivered"]:
                    await SystemClock().pause(0.05)
        assert node.stop() == 0
