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
from tests.faults.oracle import Due
from tests.faults.processes import Worker, Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, marks, violations
from tests.faults.store_snapshot import Row, read_entries, read_snapshot, read_tasks, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until

pytestmark = ON_SERVERS

ANSWERS: Final = 40
MOST_SERIES: Final = 20


@pytest.fixture
def lost_reply_proxy(server: DatabaseServer) -> Iterator[LostReplyProxy]:
    with LostReplyProxy(server.port) as made:
        yield made


def test_f16_lost_commit_replies_repeat_nothing(
    testbed: Testbed, workers: Workers, lost_reply_proxy: LostReplyProxy, measured: Measure
) -> None:
    """Drops replies to claims, settlements, renewals and other writes of a node, at random."""
    node = workers.ready(url=lost_reply_proxy.through(testbed.url), **LOCAL_NODE)
    due: list[Due] = []
    # Which commits are hit is by chance: another series, until both claims and settlements were.
    while not (_released(testbed) and _settled_twice(node)):
        assert len(due) < MOST_SERIES, "no claim, or no settlement, has lost its reply"
        before = len(marks(testbed, "effect"))
        due.extend(add(testbed, *(steady_series(8.0, every=0.4) for _ in range(4))))
        wait_until(has_marks(testbed, "effect", before + 1), TIMEOUT, "the first effect")
        lost_reply_proxy.lose_replies(ANSWERS, spare_share=0.5)
        wait_until_quiet(testbed, last_instant(*due), TIMEOUT)
    assert lost_reply_proxy.lost >= ANSWERS
    released = _released(testbed)
    measured("F16 claims without a reply", len(released))
    assert violations(testbed, *due) == []
    assert effects(testbed) == once_per_instant(*due)
    # Unanswered claims were released.
    assert {row.reason for row in released} == {"released"}


def _released(testbed: Testbed) -> list[Row]:
    return [row for row in read_snapshot(testbed).rows if row.state == "lost"]


def _settled_twice(node: Worker) -> bool:
    """Whether an end that was recorded without a reply was settled a second time."""
    return node.is_ready and any(line.startswith("stale ") for line in node.output)


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
        assert len(await asyncio.to_thread(read_tasks, testbed)) == 2
        found = await app.schedule("note", later, **options)
    assert lost_reply_proxy.lost == 1
    tasks = await asyncio.to_thread(read_tasks, testbed)
    assert sorted(task for task, _, _ in tasks) == sorted([before.id, found.id])
    assert len(await asyncio.to_thread(read_entries, testbed)) == 2
