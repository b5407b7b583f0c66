"""Lost replies to commits (F16): the caller finds out whether the write happened, and nothing is done twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import pytest

from horae import Horae
from horae.errors import StoreError
from tests.cluster.lost_reply_proxy import LostReplyProxy
from tests.cluster.scenario import LOCAL_NODE, ON_SERVERS, effects, last_instant, once_per_instant, steady_series
from tests.cluster.stores import DatabaseServer
from tests.faults.client import add, from_now
from tests.faults.functions import register
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, violations
from tests.faults.store_snapshot import query, read_snapshot, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until

pytestmark = ON_SERVERS

ANSWERS: Final = 40


@pytest.fixture
def lost_reply_proxy(server: DatabaseServer) -> Iterator[LostReplyProxy]:
    with LostReplyProxy(server.port) as made:
        yield made


def test_f16_lost_commit_replies_repeat_nothing(
    testbed: Testbed, workers: Workers, lost_reply_proxy: LostReplyProxy, measured: Measure
) -> None:
    """Drops replies to claims, settlements, renewals and other writes of a node, at random."""
    node = workers.ready(url=lost_reply_proxy.through(testbed.url), **LOCAL_NODE)
    due = add(testbed, *(steady_series(8.0, every=0.4) for _ in range(4)))
    wait_until(lambda: bool(effects(testbed)), TIMEOUT, "the first effect")
    lost_reply_proxy.lose_replies(ANSWERS, spare_share=0.5)
    wait_until_quiet(testbed, last_instant(*due), TIMEOUT)
    assert lost_reply_proxy.lost == ANSWERS
    released = [row for row in read_snapshot(testbed).rows if row.state == "lost"]
    measured("F16 claims without a reply", len(released))
    assert violations(testbed, *due) == []
    assert effects(testbed) == once_per_instant(*due)
    # Both were hit: unanswered claims were released, and recorded ends were settled a second time.
    assert {row.reason for row in released} == {"released"}
    assert node.is_ready
    assert any(line.startswith("stale ") for line in node.output)


async def test_f16_add_by_key_is_repeated_after_a_lost_reply(
    testbed: Testbed, lost_reply_proxy: LostReplyProxy
) -> None:
    later = from_now(3_600)
    options: dict[str, Any] = {"key": "one of its kind"}
    app = Horae(lost_reply_proxy.through(testbed.url), engine=False)
    register(app)
    async with app:
        before = await app.schedule("note", later)
        lost_reply_proxy.lose_replies(1)
        with pytest.raises(StoreError):
            await app.schedule("note", later, **options)
        # The task was stored despite the error.
        assert len(await asyncio.to_thread(query, testbed, "SELECT id FROM tasks")) == 2
        found = await app.schedule("note", later, **options)
    assert lost_reply_proxy.lost == 1
    tasks = await asyncio.to_thread(query, testbed, "SELECT id FROM tasks")
    assert sorted(task for (task,) in tasks) == sorted([before.id, found.id])
    assert len(await asyncio.to_thread(query, testbed, "SELECT task FROM agenda")) == 2
