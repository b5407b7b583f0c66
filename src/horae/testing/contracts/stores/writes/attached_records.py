"""Beside a change: records that are written with it in one transaction, or neither of them."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

from .....errors import Conflict
from .....model.change import Change, Facts
from .....model.reason import Reason
from .....model.record import Record, RecordWrite
from .....model.run import Run
from .....model.task import Task
from ....decisions import fail, lose, saying, start_everything, succeed
from ....factories import HOUR, NODE, NOON, a_new_task, a_node, a_run, a_settlement, a_task, an_entry, an_event
from ..contract import Contract, WholeStore
from ..setup import claim, everything, facts_of, keep

_KIND: Final = "note"
_MANY: Final = 100


class _Stage(NamedTuple):
    """A task that is due, under a key, and runs of another one that go on."""

    task: Task
    runs: tuple[Run, ...]


_Beside = tuple[RecordWrite, ...]
_Way = Callable[[WholeStore, _Stage, _Beside], Awaitable[None]]


def _new(key: str, body: str = "{}") -> RecordWrite:
    return RecordWrite(Record(_KIND, key, "ada", body))


async def _set_the_stage(store: WholeStore) -> _Stage:
    task, busy = a_task(key="report"), a_task()
    runs = tuple(a_run(busy, planned=NOON + place * HOUR) for place in range(3))
    await store.join(a_node())
    await keep(store, task)
    await store.add([a_new_task(busy, runs=runs)])
    return _Stage(task, runs)


async def _state(store: WholeStore) -> tuple[Any, ...]:
    """All that can be read, but for the records."""
    return *(await everything(store)), await store.lanes(), await store.nodes(), await store.counts(None, [0])


async def _notes(store: WholeStore) -> tuple[Record, ...]:
    return (await store.records(_KIND)).items


async def _refused(call: Awaitable[object]) -> Conflict:
    try:
        await call
    except Conflict as conflict:
        return conflict
    raise AssertionError("a record that somebody else has written was overlooked")


async def _add(store: WholeStore, _: _Stage, beside: _Beside) -> None:
    await store.add([a_new_task(a_task())._replace(attached=beside)])


async def _add_many(store: WholeStore, _: _Stage, beside: _Beside) -> None:
    plain = [a_new_task(a_task()) for _ in range(_MANY)]
    await store.add([*plain, a_new_task(a_task())._replace(attached=beside)])


async def _add_with_a_run(store: WholeStore, _: _Stage, beside: _Beside) -> None:
    task = a_task()
    await store.add([a_new_task(task, runs=[a_run(task)])._replace(attached=beside)])


async def _change(store: WholeStore, stage: _Stage, beside: _Beside) -> None:
    renamed = (await facts_of(store, stage.task)).task._replace(name="renamed")
    later = an_entry(stage.task, due=NOON - HOUR)
    said = Change(task=renamed, put=(later,), events=(an_event(stage.task),), attached=beside)
    await store.change(stage.task.id, None, saying(said))


async def _upsert_what_is_there(store: WholeStore, stage: _Stage, beside: _Beside) -> None:
    def decide(facts: Facts | None) -> Change:
        return fail() if facts is None else Change(task=facts.task._replace(name="edited"), attached=beside)

    await store.upsert("ada", stage.task.key or "", decide)


async def _upsert_what_is_new(store: WholeStore, _: _Stage, beside: _Beside) -> None:
    fresh = a_new_task(a_task(key="fresh"))._replace(attached=beside)
    await store.upsert("ada", "fresh", lambda facts: fresh if facts is None else fail())


async def _limit_a_lane(store: WholeStore, _: _Stage, beside: _Beside) -> None:
    await store.set_lane("press", 7, attached_records=beside)


async def _bar_an_owner(store: WholeStore, _: _Stage, beside: _Beside) -> None:
    await store.block_owner("ada", Reason.OWNER_REVOKED, attached_records=beside)


async def _lift_it(store: WholeStore, _: _Stage, beside: _Beside) -> None:
    await store.block_owner("ada", None, attached_records=beside)


async def _drain_a_node(store: WholeStore, _: _Stage, beside: _Beside) -> None:
    await store.drain(NODE, attached_records=beside)


async def _claim(store: WholeStore, _: _Stage, beside: _Beside) -> None:
    await claim(store, decide=lambda *asked: start_everything(*asked)._replace(attached=beside), room=1)


async def _settle(store: WholeStore, stage: _Stage, beside: _Beside) -> None:
    settled = [a_settlement(stage.runs[0])]
    await store.settle(settled, lambda *asked: succeed(*asked)._replace(attached=beside))


async def _release(store: WholeStore, stage: _Stage, beside: _Beside) -> None:
    run = stage.runs[1]
    await store.release([(run.id, run.token)], lambda *asked: lose(*asked)._replace(attached=beside))


async def _recover(store: WholeStore, _: _Stage, beside: _Beside) -> None:
    await store.recover(NODE, 0, lambda *asked: lose(*asked)._replace(attached=beside), 1)


async def _delete(store: WholeStore, stage: _Stage, beside: _Beside) -> None:
    await store.change(stage.task.id, None, saying(Change(deleted=True, attached=beside)))


_WAYS: Final[tuple[_Way, ...]] = (
    _add,
    _add_many,
    _add_with_a_run,
    _change,
    _upsert_what_is_there,
    _upsert_what_is_new,
    _limit_a_lane,
    _bar_an_owner,
    _lift_it,
    _drain_a_node,
    _claim,
    _settle,
    _release,
    _recover,
    _delete,
)
"""In an order in which each of them finds what it needs."""


class AttachedRecordsContract(Contract):
    async def test_records_are_written_with_each_kind_of_change(self, store: WholeStore) -> None:
        stage = await _set_the_stage(store)
        for way in _WAYS:
            before = await _state(store)
            await way(store, stage, (_new(f"{way.__name__} 1"), _new(f"{way.__name__} 2", '"漢字 🌱"')))
            assert await _state(store) != before, way.__name__
            found = [await store.get_record(_KIND, f"{way.__name__} {place}") for place in (1, 2)]
            assert found == [_new(f"{way.__name__} 1").record, _new(f"{way.__name__} 2", '"漢字 🌱"').record]
        assert await store.check() == ()

    async def test_a_record_version_conflict_rolls_the_change_back(self, store: WholeStore) -> None:
        stage = await _set_the_stage(store)
        await store.put_record(_new("taken", "1").record, replacing=None)
        before, notes = await _state(store), await _notes(store)
        for way in _WAYS:
            for late in (_new("taken", "2"), RecordWrite(_new("taken").record, 2), RecordWrite(_new("none").record, 1)):
                refused = await _refused(way(store, stage, (_new("fresh"), late)))
                assert (refused.code, refused.facts["key"]) == ("record_changed", late.record.key), way.__name__
                assert await _state(store) == before, way.__name__
                assert await _notes(store) == notes, way.__name__
        assert await store.check() == ()
        for way in _WAYS:
            await way(store, stage, (_new(way.__name__),))
        assert {note.key for note in await _notes(store)} == {"taken", *(way.__name__ for way in _WAYS)}

    async def test_an_attached_record_replaces_or_deletes_the_expected_version(
        self, store: WholeStore
    ) -> None:
        stage = await _set_the_stage(store)
        for key in ("replaced", "dropped"):
            await store.put_record(_new(key, "1").record, replacing=None)
        beside = (
            RecordWrite(_new("replaced", "2").record._replace(owner="bob", expires=NOON), 1),
            RecordWrite(_new("dropped").record, 1, dropped=True),
        )
        await _change(store, stage, beside)
        assert await _notes(store) == (Record(_KIND, "replaced", "bob", "2", 2, NOON),)
        await _refused(_change(store, stage, (RecordWrite(_new("dropped").record, 1, dropped=True),)))
        await _refused(_change(store, stage, (RecordWrite(_new("dropped").record, dropped=True),)))

    async def test_a_change_of_records_alone_is_written(self, store: WholeStore) -> None:
        stage = await _set_the_stage(store)
        before = await _state(store)
        await store.change(stage.task.id, None, saying(Change(attached=(_new("audit"),))))
        assert await _state(store) == before
        assert [note.key for note in await _notes(store)] == ["audit"]

    async def test_one_record_may_be_written_twice_by_one_request(self, store: WholeStore) -> None:
        first = a_new_task(a_task())._replace(attached=(_new("counter", "1"),))
        second = a_new_task(a_task())._replace(attached=(RecordWrite(_new("counter", "2").record, 1),))
        third = a_new_task(a_task())._replace(attached=(_new("counter", "3"),))
        await store.add([first, second])
        assert await _notes(store) == (_new("counter", "2").record._replace(version=2),)
        before = await _state(store)
        await _refused(store.add([a_new_task(a_task()), third]))
        assert await _state(store) == before

    async def test_a_change_that_is_not_made_writes_no_record(self, store: WholeStore) -> None:
        stage = await _set_the_stage(store)
        said = saying(Change(attached=(_new("audit"),)))
        assert await store.change("tsk_none", None, said) is None
        assert await store.change(stage.task.id, "bob", said) is None
        assert not await store.drain("nobody", attached_records=(_new("audit"),))
        assert await store.settle([a_settlement(stage.runs[0])._replace(token=99)], fail) == {stage.runs[0].id}
        assert await _notes(store) == ()

    async def test_a_taken_key_is_refused_before_a_changed_record(self, store: WholeStore) -> None:
        await _set_the_stage(store)
        await store.put_record(_new("taken").record, replacing=None)
        for changes in (("report", "taken"), ("report", "fresh"), ("other", "taken")):
            key, note = changes
            refused = await _refused(store.add([a_new_task(a_task(key=key))._replace(attached=(_new(note),))]))
            assert refused.code == ("key_taken" if key == "report" else "record_changed")
        assert [note.key for note in await _notes(store)] == ["taken"]

    async def test_one_of_many_changes_with_the_same_record_wins_and_the_others_change_nothing(self, store: WholeStore) -> None:
        tasks = [a_task() for _ in range(8)]
        await keep(store, *tasks)
        await store.put_record(_new("head").record, replacing=None)

        def wish(task: Task) -> Change:
            head = RecordWrite(_new("head", f'"{task.id}"').record, 1)
            return Change(task=task._replace(name="won"), events=(an_event(task, detail="won"),), attached=(head,))

        async with self.another(store) as other:
            asked = zip(tasks, (store, other) * 4, strict=True)
            said = [each.change(task.id, None, saying(wish(task))) for task, each in asked]
            won = _only_winner(await asyncio.gather(*said, return_exceptions=True))
        for place, task in enumerate(tasks):
            assert ((await facts_of(store, task)).task.name == "won") == (place == won)
        assert [each.event.task_id for each in await store.events(0) if each.event.detail] == [tasks[won].id]
        (head,) = await _notes(store)
        assert (head.version, head.body) == (2, f'"{tasks[won].id}"')
        assert await store.check() == ()

    async def test_a_refused_request_does_not_affect_concurrent_requests(self, store: WholeStore) -> None:
        await store.put_record(_new("taken").record, replacing=None)
        tasks = [a_task() for _ in range(20)]
        async with self.another(store) as other:
            said = [
                (store, other)[place % 4 // 2].add(
                    [a_new_task(task)._replace(attached=(_new("taken" if place % 2 else task.id),))]
                )
                for place, task in enumerate(tasks)
            ]
            answers = await asyncio.gather(*said, return_exceptions=True)
        assert [isinstance(answer, Conflict) for answer in answers] == [bool(place % 2) for place in range(20)]
        for place, task in enumerate(tasks):
            assert (await store.facts(task.id, None) is None) == bool(place % 2)
        assert {note.key for note in await _notes(store)} == {"taken", *(task.id for task in tasks[::2])}

    async def test_concurrent_adds_with_one_idempotency_record_create_one_task(self, store: WholeStore) -> None:
        """As with a key that a caller chose for their request."""
        async with self.another(store) as other:
            said = [
                each.add([a_new_task(a_task(name=f"{place}"))._replace(attached=(_new("answer", f"{place}"),))])
                for place, each in enumerate((store, other) * 4)
            ]
            won = _only_winner(await asyncio.gather(*said, return_exceptions=True))
        facts, *_ = await everything(store)
        assert isinstance(facts, list)
        assert [each.task.name for each in facts] == [f"{won}"]
        assert [note.body for note in await _notes(store)] == [f"{won}"]


def _only_winner(answers: Sequence[object]) -> int:
    """The place of the one who was not refused."""
    assert [answer.code for answer in answers if isinstance(answer, Conflict)] == ["record_changed"] * (
        len(answers) - 1
    ), answers
    (won,) = [place for place, answer in enumerate(answers) if not isinstance(answer, BaseException)]
    return won
