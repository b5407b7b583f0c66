"""A run that has handled the messages of a stream, written to a store directly."""

from __future__ import annotations

from horae.clock import SystemClock
from horae.lifecycle.settle import settle
from horae.model.messages import CursorMove, NewMessage, RunWrites
from horae.model.outcome import Succeeded
from horae.model.run import Run
from horae.ports.full_store import FullStore
from horae.testing.contracts.stores.setup import start_run
from horae.testing.factories import a_settlement, a_task

STREAM = "chat:1"
READER = "handled"


async def handle_messages(store: FullStore, owner: str, count: int = 3) -> Run:
    """Append messages, and let a run of a new task handle all of them."""
    now = SystemClock().now()
    messages = [NewMessage(STREAM, f"message {place}", "Ada", "web", f"m-{place}", now) for place in range(count)]
    await store.append_messages(owner, messages)
    await store.register_reader(owner, STREAM, READER, 0, now)
    run = await start_run(store, a_task(owner=owner, name="answer"))
    moves = (CursorMove(STREAM, READER, ((1, count),), now),)
    report = a_settlement(run, outcome=Succeeded(), writes=RunWrites(moves=moves))
    assert await store.settle([report], settle) == frozenset()
    return run
