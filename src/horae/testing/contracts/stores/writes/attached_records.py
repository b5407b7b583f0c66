"""Contract of attached records: records commit in the same transaction as the change, or neither does."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

from .....errors import Conflict
from .....lifecycle.control.control import cancel, pause, restore_pause
from .....lifecycle.control.restore import restorable_change, restore_cancelled
from .....model.accounts.pause_change import (
    CANCEL_RETENTION,
    PAUSE_CHANGE_KIND,
    PAUSE_CHANGE_RETENTION,
    PauseChange,
    cancel_operation,
    first_key,
    pause_change,
    pause_change_from,
    pause_change_record,
)
from .....model.change import Change, Facts
from .....model.reason import Reason
from .....model.record import Record, RecordWrite
from .....model.run import Run
from .....model.task import NEW_TASK_STATUS, Pause, PauseCause, Task
from .....ports.full_store import FullStore
from ....decisions import always, fail, lose, start_everything, succeed
from ....factories import HOUR, NODE, NOON, a_new_task, a_node, a_run, a_settlement, a_task, an_entry, an_event
from ..contract import Contract
from ..setup import add_tasks, claim, get_facts, read_all

_KIND: Final = "note"
_MANY: Final = 100


async def _read_changes(store: FullStore, operation: str) -> list[Record]:
    """Read the records of one operation, page by page, in the range of their keys."""
    found: list[Record] = []
    after: str | None = first_key(operation)
    while after is not None and after.startswith(first_key(operation)):
        page = await store.records(PAUSE_CHANGE_KIND, None, after, 25)
        found += [record for record in page.items if record.key.startswith(first_key(operation))]
        after = page.after
    return found


class _Setup(NamedTuple):
    """A due task with a key, and live runs of another task."""

    task: Task
    runs: tuple[Run, ...]


_Attached = tuple[RecordWrite, ...]
_WriteCall = Callable[[FullStore, _Setup, _Attached], Awaitable[None]]


def _new(key: str, body: str = "{}") -> RecordWrite:
    return RecordWrite(Record(_KIND, key, "ada", body))


async def _set_up(store: FullStore) -> _Setup:
    task, busy = a_task(key="report"), a_task()
    runs = tuple(a_run(busy, planned=NOON + place * HOUR) for place in range(3))
    await store.join(a_node())
    await add_tasks(store, task)
    await store.add([a_new_task(busy, runs=runs)])
    return _Setup(task, runs)


async def _read_state(store: FullStore) -> tuple[Any, ...]:
    """Everything that can be read, except records."""
    return *(await read_all(store)), await store.lanes(), await store.nodes(), await store.counts(None, [0])


async def _list_notes(store: FullStore) -> tuple[Record, ...]:
    return (await store.records(_KIND)).items


async def _catch_conflict(call: Awaitable[object]) -> Conflict:
    try:
        await call
    except Conflict as conflict:
        return conflict
    raise AssertionError("a record that was written meanwhile was overwritten")


async def _add(store: FullStore, _: _Setup, attached: _Attached) -> None:
    await store.add([a_new_task(a_task())._replace(attached=attached)])


async def _add_many(store: FullStore, _: _Setup, attached: _Attached) -> None:
    plain = [a_new_task(a_task()) for _ in range(_MANY)]
    await store.add([*plain, a_new_task(a_task())._replace(attached=attached)])


async def _add_with_a_run(store: FullStore, _: _Setup, attached: _Attached) -> None:
    task = a_task()
    await store.add([a_new_task(task, runs=[a_run(task)])._replace(attached=attached)])


async def _change(store: FullStore, setup: _Setup, attached: _Attached) -> None:
    renamed = (await get_facts(store, setup.task)).task._replace(name="renamed")
    later = an_entry(setup.task, due=NOON - HOUR)
    change = Change(task=renamed, put=(later,), events=(an_event(setup.task),), attached=attached)
    await store.change(setup.task.id, None, always(change))


async def _upsert_existing(store: FullStore, setup: _Setup, attached: _Attached) -> None:
    def decide(facts: Facts | None) -> Change:
        return fail() if facts is None else Change(task=facts.task._replace(name="edited"), attached=attached)

    await store.upsert("ada", setup.task.key or "", decide)


async def _upsert_new(store: FullStore, _: _Setup, attached: _Attached) -> None:
    fresh = a_new_task(a_task(key="fresh"))._replace(attached=attached)
    await store.upsert("ada", "fresh", lambda facts: fresh if facts is None else fail())


async def _limit_a_lane(store: FullStore, _: _Setup, attached: _Attached) -> None:
    await store.set_lane("press", 7, attached_records=attached)


async def _block_owner(store: FullStore, _: _Setup, attached: _Attached) -> None:
    await store.block_owner("ada", Reason.OWNER_REVOKED, attached_records=attached)


async def _unblock_owner(store: FullStore, _: _Setup, attached: _Attached) -> None:
    await store.block_owner("ada", None, attached_records=attached)


async def _drain_a_node(store: FullStore, _: _Setup, attached: _Attached) -> None:
    await store.drain(NODE, attached_records=attached)


async def _claim(store: FullStore, _: _Setup, attached: _Attached) -> None:
    await claim(store, decide=lambda *args: start_everything(*args)._replace(attached=attached), room=1)


async def _settle(store: FullStore, setup: _Setup, attached: _Attached) -> None:
    settled = [a_settlement(setup.runs[0])]
    await store.settle(settled, lambda *args: succeed(*args)._replace(attached=attached))


async def _release(store: FullStore, setup: _Setup, attached: _Attached) -> None:
    run = setup.runs[1]
    await store.release([(run.id, run.token)], lambda *args: lose(*args)._replace(attached=attached))


async def _recover(store: FullStore, _: _Setup, attached: _Attached) -> None:
    await store.recover(NODE, 0, lambda *args: lose(*args)._replace(attached=attached), 1)


async def _delete(store: FullStore, setup: _Setup, attached: _Attached) -> None:
    await store.change(setup.task.id, None, always(Change(deleted=True, attached=attached)))


_WRITE_CALLS: Final[tuple[_WriteCall, ...]] = (
    _add,
    _add_many,
    _add_with_a_run,
    _change,
    _upsert_existing,
    _upsert_new,
    _limit_a_lane,
    _block_owner,
    _unblock_owner,
    _drain_a_node,
    _claim,
    _settle,
    _release,
    _recover,
    _delete,
)
"""In this order each call finds the rows that it needs."""


class AttachedRecordsContract(Contract):
    async def test_records_are_written_with_each_kind_of_change(self, store: FullStore) -> None:
        setup = await _set_up(store)
        for call in _WRITE_CALLS:
            before = await _read_state(store)
            await call(store, setup, (_new(f"{call.__name__} 1"), _new(f"{call.__name__} 2", '"漢字 🌱"')))
            assert await _read_state(store) != before, call.__name__
            found = [await store.get_record(_KIND, f"{call.__name__} {place}") for place in (1, 2)]
            assert found == [_new(f"{call.__name__} 1").record, _new(f"{call.__name__} 2", '"漢字 🌱"').record]
        assert await store.check() == ()

    async def test_a_record_version_conflict_rolls_the_change_back(self, store: FullStore) -> None:
        setup = await _set_up(store)
        await store.put_record(_new("taken", "1").record, replacing=None)
        before, notes = await _read_state(store), await _list_notes(store)
        for call in _WRITE_CALLS:
            for late in (_new("taken", "2"), RecordWrite(_new("taken").record, 2), RecordWrite(_new("none").record, 1)):
                refused = await _catch_conflict(call(store, setup, (_new("fresh"), late)))
                assert (refused.code, refused.facts["key"]) == ("record_changed", late.record.key), call.__name__
                assert await _read_state(store) == before, call.__name__
                assert await _list_notes(store) == notes, call.__name__
        assert await store.check() == ()
        for call in _WRITE_CALLS:
            await call(store, setup, (_new(call.__name__),))
        assert {note.key for note in await _list_notes(store)} == {"taken", *(call.__name__ for call in _WRITE_CALLS)}

    async def test_an_attached_record_replaces_or_deletes_the_expected_version(self, store: FullStore) -> None:
        setup = await _set_up(store)
        for key in ("replaced", "dropped"):
            await store.put_record(_new(key, "1").record, replacing=None)
        attached = (
            RecordWrite(_new("replaced", "2").record._replace(owner="bob", expires=NOON), 1),
            RecordWrite(_new("dropped").record, 1, dropped=True),
        )
        await _change(store, setup, attached)
        assert await _list_notes(store) == (Record(_KIND, "replaced", "bob", "2", 2, NOON),)
        await _catch_conflict(_change(store, setup, (RecordWrite(_new("dropped").record, 1, dropped=True),)))
        await _catch_conflict(_change(store, setup, (RecordWrite(_new("dropped").record, dropped=True),)))

    async def test_recorded_pauses_are_restored_exactly(self, store: FullStore) -> None:
        """As the undo of a bulk pause: each change has its record, which goes with the change that restores the pause."""
        tasks = [a_task(name=f"task {place}") for place in range(60)]
        held = Pause(NOON - HOUR, PauseCause.ORPHANED, "gone 漢字", NOON + HOUR)
        for task in tasks[:30]:
            await store.add([a_new_task(task, entries=[an_entry(task, due=NOON + HOUR)])])
        for task in tasks[30:]:
            plain = Facts(task, NEW_TASK_STATUS, (an_entry(task, due=NOON + HOUR),))
            paused = restore_pause(plain, held, NOON)
            await store.add([a_new_task(task, status=paused.status or NEW_TASK_STATUS, entries=paused.put)])
        before = [await get_facts(store, task) for task in tasks]

        def pause_and_record(operation: str) -> Callable[[Facts], Change]:
            def decide(facts: Facts) -> Change:
                change = pause(facts, NOON, note=operation)
                recorded = pause_change(operation, facts, change)
                assert recorded is not None
                return change._replace(attached=(RecordWrite(pause_change_record(recorded, "ada", NOON)),))

            return decide

        for task in tasks:
            await store.change(task.id, None, pause_and_record("opn_1"))
        await store.change(tasks[0].id, None, pause_and_record("opn_10"))
        await store.change(tasks[0].id, None, pause_and_record("opn_0"))
        records = await _read_changes(store, "opn_1")
        assert [record.key for record in records] == sorted(first_key("opn_1") + task.id for task in tasks)
        for record in records:
            change = pause_change_from(record)

            def decide(facts: Facts, record: Record = record, change: PauseChange = change) -> Change:
                drop = RecordWrite(record, record.version, dropped=True)
                return restore_pause(facts, change.before, NOON)._replace(attached=(drop,))

            await store.change(change.task_id, None, decide)
        assert [await get_facts(store, task) for task in tasks] == before
        assert await _read_changes(store, "opn_1") == []
        assert [len(await _read_changes(store, name)) for name in ("opn_0", "opn_10")] == [1, 1]
        assert await store.drop_expired(NOON + PAUSE_CHANGE_RETENTION + HOUR, 10) == 2

    async def test_a_cancel_with_its_record_is_undone_exactly(self, store: FullStore) -> None:
        """Twice: the undo drops the record of its cancel, so that the next cancel writes a new one."""
        task, held = a_task(), Pause(NOON - HOUR, PauseCause.ORPHANED, "gone 漢字", NOON + 9 * HOUR)
        plain = Facts(task, NEW_TASK_STATUS, (an_entry(task, due=NOON + HOUR),))
        paused = restore_pause(plain, held, NOON)
        await store.add([a_new_task(task, status=paused.status or NEW_TASK_STATUS, entries=paused.put)])
        before = await get_facts(store, task)

        def cancel_and_record(facts: Facts) -> Change:
            change = cancel(facts, NOON)
            recorded = restorable_change(cancel_operation(NOON), facts, change)
            assert recorded is not None
            record = pause_change_record(recorded, task.owner, NOON, CANCEL_RETENTION)
            return change._replace(attached=(RecordWrite(record),))

        for _ in range(2):
            await store.change(task.id, None, cancel_and_record)
            (record,) = await _read_changes(store, cancel_operation(NOON))
            recorded = pause_change_from(record)
            assert (recorded.cancelled, recorded.before, record.expires) == (NOON, held, NOON + CANCEL_RETENTION)

            def undo(facts: Facts, record: Record = record) -> Change:
                drop = RecordWrite(record, record.version, dropped=True)
                return restore_cancelled(facts, held, NOON, NOON)._replace(attached=(drop,))

            await store.change(task.id, None, undo)
            restored = await get_facts(store, task)
            assert (restored.status, restored.task) == (before.status, before.task)
            assert await _read_changes(store, cancel_operation(NOON)) == []

    async def test_a_change_of_records_alone_is_written(self, store: FullStore) -> None:
        setup = await _set_up(store)
        before = await _read_state(store)
        await store.change(setup.task.id, None, always(Change(attached=(_new("audit"),))))
        assert await _read_state(store) == before
        assert [note.key for note in await _list_notes(store)] == ["audit"]

    async def test_one_record_may_be_written_twice_by_one_request(self, store: FullStore) -> None:
        first = a_new_task(a_task())._replace(attached=(_new("counter", "1"),))
        second = a_new_task(a_task())._replace(attached=(RecordWrite(_new("counter", "2").record, 1),))
        third = a_new_task(a_task())._replace(attached=(_new("counter", "3"),))
        await store.add([first, second])
        assert await _list_notes(store) == (_new("counter", "2").record._replace(version=2),)
        before = await _read_state(store)
        await _catch_conflict(store.add([a_new_task(a_task()), third]))
        assert await _read_state(store) == before

    async def test_a_change_that_is_not_made_writes_no_record(self, store: FullStore) -> None:
        setup = await _set_up(store)
        change = always(Change(attached=(_new("audit"),)))
        assert await store.change("tsk_none", None, change) is None
        assert await store.change(setup.task.id, "bob", change) is None
        assert not await store.drain("unknown", attached_records=(_new("audit"),))
        assert await store.settle([a_settlement(setup.runs[0])._replace(token=99)], fail) == {setup.runs[0].id}
        assert await _list_notes(store) == ()

    async def test_a_taken_key_is_refused_before_a_changed_record(self, store: FullStore) -> None:
        await _set_up(store)
        await store.put_record(_new("taken").record, replacing=None)
        for changes in (("report", "taken"), ("report", "fresh"), ("other", "taken")):
            key, note = changes
            refused = await _catch_conflict(store.add([a_new_task(a_task(key=key))._replace(attached=(_new(note),))]))
            assert refused.code == ("key_taken" if key == "report" else "record_changed")
        assert [note.key for note in await _list_notes(store)] == ["taken"]

    async def test_one_of_many_changes_with_the_same_record_wins_and_the_others_change_nothing(
        self, store: FullStore
    ) -> None:
        tasks = [a_task() for _ in range(8)]
        await add_tasks(store, *tasks)
        await store.put_record(_new("head").record, replacing=None)

        def make_change(task: Task) -> Change:
            head = RecordWrite(_new("head", f'"{task.id}"').record, 1)
            return Change(task=task._replace(name="won"), events=(an_event(task, detail="won"),), attached=(head,))

        async with self.another(store) as other:
            calls = zip(tasks, (store, other) * 4, strict=True)
            change = [each.change(task.id, None, always(make_change(task))) for task, each in calls]
            won = _winner_index(await asyncio.gather(*change, return_exceptions=True))
        for place, task in enumerate(tasks):
            assert ((await get_facts(store, task)).task.name == "won") == (place == won)
        assert [each.event.task_id for each in await store.events(0) if each.event.detail] == [tasks[won].id]
        (head,) = await _list_notes(store)
        assert (head.version, head.body) == (2, f'"{tasks[won].id}"')
        assert await store.check() == ()

    async def test_a_refused_request_does_not_affect_concurrent_requests(self, store: FullStore) -> None:
        await store.put_record(_new("taken").record, replacing=None)
        tasks = [a_task() for _ in range(20)]
        async with self.another(store) as other:
            change = [
                (store, other)[place % 4 // 2].add(
                    [a_new_task(task)._replace(attached=(_new("taken" if place % 2 else task.id),))]
                )
                for place, task in enumerate(tasks)
            ]
            answers = await asyncio.gather(*change, return_exceptions=True)
        assert [isinstance(answer, Conflict) for answer in answers] == [bool(place % 2) for place in range(20)]
        for place, task in enumerate(tasks):
            assert (await store.facts(task.id, None) is None) == bool(place % 2)
        assert {note.key for note in await _list_notes(store)} == {"taken", *(task.id for task in tasks[::2])}

    async def test_concurrent_adds_with_one_idempotency_record_create_one_task(self, store: FullStore) -> None:
        """The record stands for an idempotency key of the request."""
        async with self.another(store) as other:
            change = [
                each.add([a_new_task(a_task(name=f"{place}"))._replace(attached=(_new("answer", f"{place}"),))])
                for place, each in enumerate((store, other) * 4)
            ]
            won = _winner_index(await asyncio.gather(*change, return_exceptions=True))
        facts, *_ = await read_all(store)
        assert isinstance(facts, list)
        assert [each.task.name for each in facts] == [f"{won}"]
        assert [note.body for note in await _list_notes(store)] == [f"{won}"]


def _winner_index(answers: Sequence[object]) -> int:
    """Index of the only call that was not refused."""
    assert [answer.code for answer in answers if isinstance(answer, Conflict)] == ["record_changed"] * (
        len(answers) - 1
    ), answers
    (won,) = [place for place, answer in enumerate(answers) if not isinstance(answer, BaseException)]
    return won
