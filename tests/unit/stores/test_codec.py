"""Row and JSON codecs: values round-trip, including unusual ids and text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import horae.stores
from horae.model.change import Change, OrdinaryStart, OrdinarySuccess, Success
from horae.model.outcome import Failed
from horae.model.run import RunState
from horae.model.task import NEW_TASK_STATUS
from horae.ports.journal import Line
from horae.schedule import Once, from_json, to_json
from horae.stores.codec.columns import (
    TaskIdentity,
    edited_task_identity,
    entry_key,
    entry_lane,
    entry_order,
    entry_owner,
    entry_priority,
    entry_slot,
    entry_task,
    entry_task_version,
    new_task_identities,
)
from horae.stores.codec.json_codecs import (
    ComputedCache,
    decode,
    encode,
    instant_of,
    microseconds_of,
    replace_lone_surrogates,
    schedule_text,
    schedules,
)
from horae.stores.codec.rows import (
    encode_entry,
    encode_laned_run,
    encode_success,
    encode_task,
    is_named_by_instant,
    names_planned_instant,
)
from horae.stores.sql.claims.ordinary_batch import start_of, success_of
from horae.testing.contracts.stores.setup import get_facts, start_run
from horae.testing.decisions import always
from horae.testing.factories import (
    NOON,
    SECOND,
    a_new_task,
    a_run,
    a_settlement,
    a_task,
    an_ended_run,
    an_entry,
    an_event,
)
from tests.unit.stores.sqlite.store_setup import new_store

INSTANTS = st.datetimes(datetime(1, 1, 2), datetime(9998, 1, 1)).map(lambda each: each.replace(tzinfo=UTC))


@given(INSTANTS)
def test_instants_round_trip(at: datetime) -> None:
    assert instant_of[microseconds_of[at]] == at


def test_computed_cache_is_cleared_before_it_grows_too_large() -> None:
    doubles = ComputedCache[int, int](lambda number: 2 * number)
    assert all(doubles[number] == 2 * number for number in range(10_000))
    assert len(doubles) <= 4_096


def test_run_whose_id_does_not_name_its_instant_has_no_short_row() -> None:
    run = a_run(a_task(), planned=NOON)
    assert is_named_by_instant(run)
    assert encode_laned_run(1, run) is not None
    other = run._replace(id="run_by_another_name")
    assert not is_named_by_instant(other)
    assert encode_laned_run(1, other) is None
    start = OrdinaryStart(status=NEW_TASK_STATUS, new_runs=(run,))
    assert start_of(start) == (run, NEW_TASK_STATUS, None)
    assert start_of(OrdinaryStart(status=NEW_TASK_STATUS, new_runs=(other,))) is None
    success = OrdinarySuccess(status=NEW_TASK_STATUS, updated_runs=(run._replace(ended=NOON),))
    assert success_of(success) == (run.started, NOON, None, NEW_TASK_STATUS)
    assert success_of(OrdinarySuccess(status=NEW_TASK_STATUS, updated_runs=(other._replace(ended=NOON),))) is None


def test_row_of_a_success_has_its_end_and_result() -> None:
    run = an_ended_run(a_task())
    started, ended = microseconds_of[run.planned], microseconds_of[run.planned + SECOND]
    success = Success(run.planned, run.planned + SECOND, '"\ud800"', NEW_TASK_STATUS)
    assert encode_success(run.id, success) == (run.id, "succeeded", None, started, ended, None, '"?"', None)


def test_run_id_contains_its_planned_instant() -> None:
    run = a_run(a_task())
    assert names_planned_instant(run.id, microseconds_of[run.planned])
    assert not names_planned_instant(run.id, microseconds_of[run.planned + SECOND])
    assert not names_planned_instant("run_", microseconds_of[NOON])


async def test_runs_are_found_by_any_id(tmp_path: Path) -> None:
    """Also ids without the planned instant, and instants before 1970."""

    async with new_store(tmp_path) as store:
        task = a_task()
        ordinary = [an_ended_run(task, planned=NOON + timedelta(microseconds=each)) for each in range(5)]
        ancient = an_ended_run(task, planned=datetime(1969, 7, 20, tzinfo=UTC))
        named = an_ended_run(task, planned=NOON - SECOND, id="run_by_another_name")
        misnamed = an_ended_run(task, planned=NOON - 2 * SECOND, id=f"run_{0:012x}{'f' * 20}")
        runs = [*ordinary, ancient, named, misnamed, a_run(task, planned=NOON - 3 * SECOND, id="still going")]
        await store.add([a_new_task(task, runs=runs)])
        for run in runs:
            assert await store.run(run.id, None) == run
        for absent in ("run_", "", "run_zzzzzzzzzzzz", ordinary[0].id + "0", ordinary[0].id[:-1] + "!"):
            assert await store.run(absent, None) is None


async def test_lone_surrogate_does_not_prevent_settlement(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        task = a_task()
        run = await start_run(store, task)
        broken = "half \ud83d of it"
        ended = run._replace(state=RunState.FAILED, ended=NOON, error=broken, result_json=broken)
        status = (await get_facts(store, task)).status._replace(last_result=broken)
        event = an_event(task, detail=broken)
        change = Change(status=status, updated_runs=(ended,), events=(event,))
        await store.settle([a_settlement(run, outcome=Failed(broken))], lambda *_: change)
        await store.write_lines([Line(run.id, NOON, "error", broken)])
        stored = await store.run(run.id, None)
        assert stored is not None
        assert (stored.state, stored.error) == (RunState.FAILED, "half ? of it")
        assert (await store.events(0))[-1].event.detail == "half ? of it"
        assert [each.line.text for each in await store.lines(run.id)] == ["half ? of it"]


@given(st.text(st.characters(exclude_categories=())))
def test_storable_text_is_unchanged(text: str) -> None:
    stored = replace_lone_surrogates(text)
    assert stored is not None
    assert stored.encode().decode() == stored
    assert stored == text or any("\ud800" <= letter <= "\udfff" for letter in text)


async def test_unchanged_payload_is_not_rewritten(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        task = a_task(payload='"' + "x" * 200_000 + '"')
        await store.add([a_new_task(task)])
        pages: list[int] = []
        await store._writer.submit(lambda link: link.on_wal(pages.append))
        status = (await get_facts(store, task)).status
        await store.change(task.id, None, always(Change(status=status._replace(counted=1))))
        await store.change(task.id, None, always(Change(status=status._replace(counted=2))))
        assert pages[-1] - pages[-2] < 10


@given(INSTANTS, st.sampled_from([None, "Europe/Berlin"]), st.sampled_from([None, 3]))
def test_once_schedule_round_trips_like_any_other(at: datetime, zone: str | None, repeat: int | None) -> None:
    schedule = Once(at, zone=zone, repeat=repeat)
    text = schedule_text(schedule)
    assert text == encode(to_json(schedule))
    assert schedules[text] == from_json(decode(text)) == schedule


def test_named_columns_are_those_of_the_encoded_rows() -> None:
    task = a_task(owner="bob", key="report", lane="mail")
    entry = an_entry(task, priority=3, lane="mail")
    row = (*encode_entry(7, entry), 12)
    due = microseconds_of[entry.due]
    assert (entry_task(row), entry_slot(row), entry_owner(row), entry_priority(row)) == (7, entry.slot, "bob", 3)
    assert (entry_key(row), entry_order(row)) == ((7, entry.slot), (3, due, 7, entry.slot))
    assert (entry_task_version(row), entry_lane(row)) == ((7, 12), "mail")
    identity = TaskIdentity(7, task.id, "bob", "report")
    other = a_task()
    values = [7, *encode_task(task), 8, *encode_task(other)]
    assert new_task_identities(values) == [identity, TaskIdentity(8, other.id, other.owner, None)]
    assert edited_task_identity((*encode_task(task), 7)) == identity


def test_only_the_codec_reads_columns_by_their_position() -> None:
    root = Path(horae.stores.__file__).parent
    modules = [path for path in root.rglob("*.py") if path.parent.name != "codec"]
    assert len(modules) > 80
    assert [found for path in modules for found in positions_in(path)] == []


def positions_in(path: Path) -> Iterator[str]:
    """Subscripts like `row[3]` and `rows[0][3]`; one number alone is the place in a list of rows."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            value = node.value.value if isinstance(node.value, ast.Await) else node.value
            if isinstance(value, ast.Subscript) or (isinstance(value, ast.Name) and value.id == "row"):
                yield f"{path.name}: {ast.unparse(node)}"
