"""The store commits, and reports an error (F16): whoever asked finds out what became of it, and nothing happens twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import pytest

from horae import Horae
from horae.errors import StoreError
from tests.cluster.forgetful import ForgetfulProxy
from tests.cluster.scene import NEAR, ON_SERVERS, effects, last_of, once_each, steadily
from tests.cluster.stores import DatabaseServer
from tests.faults.client import add, soon
from tests.faults.evidence import gather, query, until_quiet
from tests.faults.functions import register
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import LONG, Measure, judged

pytestmark = ON_SERVERS

ANSWERS: Final = 40


@pytest.fixture
def forgetful(server: DatabaseServer) -> Iterator[ForgetfulProxy]:
    with ForgetfulProxy(server.port) as made:
        yield made


def test_f16_claims_and_settlements_are_done_and_nobody_hears_of_it(
    place: Place, workers: Workers, forgetful: ForgetfulProxy, measured: Measure
) -> None:
    """Claims, settlements, renewals and whatever else a node writes, as they come."""
    node = workers.ready(url=forgetful.through(place.url), **NEAR)
    due = add(place, *(steadily(8.0, every=0.4) for _ in range(4)))
    until(lambda: bool(effects(place)), LONG, "the first effect")
    forgetful.forget(ANSWERS, spared=0.5)
    until_quiet(place, last_of(*due), LONG)
    assert forgetful.lost == ANSWERS
    released = [row for row in gather(place).rows if row.state == "lost"]
    measured("F16 claims that nobody heard of", len(released))
    assert judged(place, *due) == []
    assert effects(place) == once_each(*due)
    # Both were really hit: claims that nobody carried were handed back, and ends that were recorded came a second time.
    assert {row.reason for row in released} == {"released"}
    assert node.is_ready
    assert any(said.startswith("stale ") for said in node.said)


async def test_f16_whoever_adds_by_key_asks_again(place: Place, forgetful: ForgetfulProxy) -> None:
    later = soon(3_600)
    wanted: dict[str, Any] = {"key": "one of its kind"}
    app = Horae(forgetful.through(place.url), engine=False)
    register(app)
    async with app:
        before = await app.schedule("note", later)
        forgetful.forget(1)
        with pytest.raises(StoreError):
            await app.schedule("note", later, **wanted)
        # It was kept, whatever was reported.
        assert len(await asyncio.to_thread(query, place, "SELECT id FROM tasks")) == 2
        found = await app.schedule("note", later, **wanted)
    assert forgetful.lost == 1
    tasks = await asyncio.to_thread(query, place, "SELECT id FROM tasks")
    assert sorted(task for (task,) in tasks) == sorted([before.id, found.id])
    assert len(await asyncio.to_thread(query, place, "SELECT task FROM agenda")) == 2
