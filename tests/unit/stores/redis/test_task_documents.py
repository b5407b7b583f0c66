"""Documents of tasks on Redis: a decision writes the second line over the one before, wherever it begins and however long it was."""

from __future__ import annotations

import pytest

from horae.model.change import Change
from horae.stores.redis.layout.documents import decode_task_document
from horae.stores.redis.layout.keys import Keys
from horae.stores.redis.store import RedisStore
from horae.stores.redis.transactions.transaction import VERSION_LENGTH
from horae.testing.decisions import always, start_everything, succeed
from horae.testing.factories import NODE, NOON, a_new_task, a_node, a_settlement, a_task, an_entry


@pytest.mark.parametrize("name", ["water the plants", "浇花 🌱", "two\nlines", "é" * 500])
async def test_a_state_that_becomes_longer_and_shorter_is_read_as_it_is(redis_url: str, name: str) -> None:
    store, task = RedisStore(redis_url), a_task(name=name)
    await store.open()
    try:
        await store.join(a_node())
        await store.add([a_new_task(task, entries=[an_entry(task, due=NOON)])])
        lengths = [await _length(store, task.id)]
        claim = await store.claim_due(NOON, NODE, 10, start_everything)
        lengths.append(await _length(store, task.id))
        running = await store.facts(task.id, None)
        assert running is not None
        assert (running.task.name, [run.id for run in running.live]) == (name, [each.run.id for each in claim.runs])
        assert not await store.settle([a_settlement(each.run) for each in claim.runs], succeed)
        lengths.append(await _length(store, task.id))
        # The document does not shrink, and what was read before is not in the way of what follows.
        assert lengths[0] < lengths[1] == lengths[2]
        settled = await store.facts(task.id, None)
        assert settled is not None
        assert (settled.task, settled.live) == (task, ())
    finally:
        await store.close()


async def test_a_definition_that_was_edited_meanwhile_is_not_overwritten(redis_url: str) -> None:
    """The settlement of a run knows the task as it was claimed; another client has given it a longer name since then."""
    store, other, task = RedisStore(redis_url), RedisStore(redis_url), a_task()
    await store.open()
    await other.open()
    try:
        await store.join(a_node())
        await store.add([a_new_task(task, entries=[an_entry(task, due=NOON)])])
        claim = await store.claim_due(NOON, NODE, 10, start_everything)
        edited = task._replace(name="water the plants and feed the cat")
        assert await other.change(task.id, None, always(Change(task=edited))) is not None
        assert not await store.settle([a_settlement(each.run) for each in claim.runs], succeed)
        facts = await other.facts(task.id, None)
        assert facts is not None
        assert (facts.task, facts.live) == (edited, ())
    finally:
        await store.close()
        await other.close()


async def _length(store: RedisStore, task_id: str) -> int:
    text = await store._connections.call("GET", Keys().task(task_id))
    assert decode_task_document(text[VERSION_LENGTH:]).task.id == task_id
    return len(text.encode())
