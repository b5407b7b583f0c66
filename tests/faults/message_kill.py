"""Scenario: kill -9 of a run that handles messages. Each message is handled by one occurrence and answered once."""

from __future__ import annotations

from collections import Counter
from typing import Final

from horae import Horae
from tests.faults.client import call_app, from_now
from tests.faults.ledger import read_links
from tests.faults.oracle import Series
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import Point

CHAT: Final = "chat:1"
COUNT: Final = 5


async def send_messages(app: Horae) -> str:
    for place in range(COUNT):
        await app.messages.send(CHAT, f"message {place}", id=f"{place}")
    return (await app.schedule("handle", Series(from_now(0.3)).when, {"stream": CHAT})).id


async def position(app: Horae) -> int:
    return max((cursor.number for cursor in (await app.messages.get(CHAT)).cursors), default=0)


async def answers(app: Horae) -> list[str]:
    streams = [each.name for each in await app.messages.streams()]
    if f"{CHAT}:answers" not in streams:
        return []
    return [each.message.text for each in (await app.messages.read(f"{CHAT}:answers")).messages]


def kill_around_the_settlement(testbed: Testbed, workers: Workers, point: Point) -> None:
    task = call_app(testbed, send_messages)
    worker = workers.ready(point=point)
    worker.expect(f"at {point}")
    worker.kill()
    handled = point == "settled"
    assert call_app(testbed, position) == (COUNT if handled else 0)
    assert len(call_app(testbed, answers)) == (COUNT if handled else 0), "answers and cursor commit together"
    workers.ready()
    wait_until(lambda: call_app(testbed, position) == COUNT, TIMEOUT, "the cursor at the end")
    assert call_app(testbed, answers) == [f"re: {number}" for number in range(1, COUNT + 1)]
    lines = read_links(testbed.links(task))
    # A run whose end was not recorded is repeated. On a busy machine a repetition may lose its lease, and is repeated too.
    runs = len({line.run for line in lines})
    assert runs == 1 if handled else runs > 1
    assert Counter(line.root for line in lines) == dict.fromkeys(map(str, range(1, COUNT + 1)), runs)
    # All of them have the same key: one occurrence handles each message.
    assert len({line.key for line in lines}) == 1
