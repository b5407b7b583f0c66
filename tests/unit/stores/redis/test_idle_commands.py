"""Commands of an idle deployment on Redis: what a node asks for again and again is one round trip each."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from horae.model.messages import KeepRules
from horae.stores.redis import RedisStore
from horae.stores.redis.connections.connection import RedisConnections
from horae.testing.factories import NOON, a_new_task, a_node, a_task, an_entry


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Round trips since the last `clear`."""
    seen: list[str] = []
    run = RedisConnections._run

    async def counted(self: RedisConnections, command: Any) -> Any:
        seen.append("command")
        return await run(self, command)

    monkeypatch.setattr(RedisConnections, "_run", counted)
    return seen


async def test_idle_upkeep_and_counts_are_one_command_each(redis_url: str, sent: list[str]) -> None:
    store = RedisStore(redis_url)
    await store.open()
    try:
        node, task = a_node(), a_task()
        await store.join(node)
        sent.clear()
        assert await store.upcoming(None, 100) == ()
        assert len(sent) == 1
        await store.add([a_new_task(task, entries=[an_entry(task, due=NOON)])])
        month: datetime = task.created - timedelta(days=30)
        after = (await store.trim(month, 100, 1_000)).after
        while (result := await store.trim(month, 100, 1_000, after)).more:
            after = result.after
        after = result.after
        sent.clear()
        assert (await store.trim(month, 100, 1_000, after)).after == after
        assert len(sent) == 1
        sent.clear()
        assert await store.drop_expired(NOON, 1_000) == 0
        assert (await store.trim_messages(NOON, KeepRules(), 1_000)).messages == 0
        assert (await store.waiting(None, NOON - timedelta(hours=1))).overdue == 0
        assert await store.renew_lease(node.id, NOON)
        assert len(sent) == 4
        sent.clear()
        assert await store.stranded(None, NOON, 100) == ()
        assert len(sent) == 1
    finally:
        await store.close()
