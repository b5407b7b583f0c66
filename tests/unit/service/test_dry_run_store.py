"""The store of a dry run: reads reach the real store, writes do not, and every other operation is refused."""

from __future__ import annotations

import inspect

import pytest

from horae.model.messages import NewMessage, Stream
from horae.model.reason import Reason
from horae.model.record import Record, RecordWrite
from horae.ports.full_store import FullStore
from horae.service.tasks.dry_run import READS, make_dry_run_store
from horae.stores.memory.store import MemoryStore
from horae.testing.factories import NOON, a_new_task, a_task

DISCARDED = frozenset(
    {
        "add",
        "block_owner",
        "change",
        "drain",
        "drop_record",
        "put_record",
        "set_lane",
        "settle",
        "upsert",
        "write_lines",
        "append_messages",
        "delete_stream",
        "put_stream",
        "register_reader",
        "remove_reader",
        "write_metadata",
        "write_records",
        "write_with_events",
    }
)
REFUSED = frozenset(
    {
        "add_using",
        "admit",
        "backup",
        "claim_due",
        "claim_queued",
        "close",
        "commit_writes",
        "drop_expired",
        "renew_lease",
        "import_page",
        "declare_idle",
        "join",
        "leave",
        "observe_links",
        "open",
        "recover",
        "release",
        "start",
        "trim",
        "trim_messages",
    }
)


def operations() -> frozenset[str]:
    return frozenset(name for name, _ in inspect.getmembers(FullStore) if not name.startswith("_"))


def test_every_store_operation_is_read_discarded_or_refused() -> None:
    assert operations() == READS | DISCARDED | REFUSED
    assert len(operations()) == len(READS) + len(DISCARDED) + len(REFUSED)


@pytest.mark.parametrize("name", sorted(REFUSED))
async def test_operation_that_is_not_listed_does_not_reach_the_store(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(make_dry_run_store(MemoryStore()), name)


async def test_discarded_writes_leave_the_store_unchanged() -> None:
    store = MemoryStore()
    await store.open()
    dry = make_dry_run_store(store)
    before = await store.count_parts()
    await dry.add([a_new_task(a_task(owner="ada"))])
    await dry.block_owner("ada", Reason.OWNER_REVOKED)
    await dry.set_lane("gpu", 2)
    await dry.write_metadata("name", "value")
    assert await dry.put_record(Record("kind", "key", "ada", "{}"), replacing=None)
    assert await dry.write_records([RecordWrite(Record("kind", "key", "ada", "{}"), None)])
    assert await dry.write_with_events([RecordWrite(Record("kind", "key", "ada", "{}"), None)], [])
    assert await store.count_parts() == before
    assert await store.read_metadata("name") is None
    assert await store.get_record("kind", "key") is None


async def test_discarded_messages_leave_the_store_unchanged() -> None:
    store = MemoryStore()
    dry_run = make_dry_run_store(store)
    message = NewMessage("chat", "hello", "Ada", "web", "1", NOON)
    assert await dry_run.append_messages("ada", [message, message._replace(source_id="2")]) == (1, 2)
    assert await dry_run.put_stream(Stream("ada", "chat", NOON, keep=5)) == Stream("ada", "chat", NOON, keep=5)
    assert await dry_run.register_reader("ada", "chat", "handled", 0, NOON) is None
    assert await store.stream("ada", "chat") is None
    await store.append_messages("ada", [message])
    assert (await dry_run.put_stream(Stream("ada", "chat", NOON, keep=5))).last == 1
    cursor = await dry_run.register_reader("ada", "chat", "handled", 0, NOON)
    assert cursor is not None
    assert not await dry_run.remove_reader("ada", "chat", "handled")
    assert await dry_run.delete_stream("ada", "chat")
    state = await store.stream("ada", "chat")
    assert state is not None
    assert (state.stream.last, state.stream.keep, state.cursors) == (1, None, ())


@pytest.mark.parametrize("name", sorted(DISCARDED))
def test_discarded_write_takes_the_arguments_of_the_port(name: str) -> None:
    expected = inspect.signature(getattr(FullStore, name)).parameters.values()
    positional = [each.name for each in expected if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    by_name = [each.name for each in expected if each.kind is inspect.Parameter.KEYWORD_ONLY]
    dry_run = make_dry_run_store(MemoryStore())
    inspect.signature(getattr(dry_run, name)).bind(*positional[1:], **dict.fromkeys(by_name))
