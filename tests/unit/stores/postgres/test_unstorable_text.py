"""Characters that PostgreSQL cannot store (NUL, lone surrogates) are replaced, and the write succeeds."""

from __future__ import annotations

import pytest

from horae.model.change import Change, Facts
from horae.model.outcome import Settlement
from horae.model.run import Run, RunState
from horae.model.task import Pause, PauseCause, TaskState, TaskStatus
from horae.ports.journal import Line
from horae.ports.records import Record
from horae.ports.store import TaskFilter
from horae.testing.contracts.stores.setup import add_tasks, get_facts, get_run, settle, start_run
from horae.testing.decisions import always
from horae.testing.factories import NOON, a_node, a_task, an_event
from tests.servers.postgres import PostgresServer
from tests.unit.stores.postgres.store_setup import new_schema, open_store

UNSTORABLE = ["a\0b", "\0", "half \ud800 a character", "\0\udfff", "任务\0完成"]


def stored_form(text: str) -> str:
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


@pytest.mark.parametrize("text", UNSTORABLE)
async def test_unstorable_result_does_not_prevent_settlement(postgres_server: PostgresServer, text: str) -> None:
    def end(facts: Facts, run: Run, report: Settlement) -> Change:
        ended = run._replace(state=RunState.FAILED, ended=report.ended, result_json=text, error=text)
        status = facts.status._replace(last_result=text, last_end=report.ended)
        return Change(updated_runs=(ended,), status=status, events=(an_event(facts.task, detail=text),))

    async with open_store(new_schema(postgres_server)) as store:
        task = a_task()
        run = await start_run(store, task)
        await store.write_lines([Line(run.id, NOON, "info", text)])
        assert await settle(store, run, decide=end) == frozenset()
        now = await get_run(store, run)
        assert (now.state, now.result_json, now.error) == (RunState.FAILED, stored_form(text), stored_form(text))
        assert (await get_facts(store, task)).status.last_result == stored_form(text)
        assert (await store.events(0))[-1].event.detail == stored_form(text)
        assert [each.line.text for each in await store.lines(run.id)] == [stored_form(text)]


@pytest.mark.parametrize("text", UNSTORABLE)
async def test_unstorable_pause_note_is_replaced(postgres_server: PostgresServer, text: str) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        task = a_task()
        await add_tasks(store, task)
        paused = TaskStatus(TaskState.PAUSED, pause=Pause(NOON, PauseCause.REQUESTED, text, None))
        facts = await store.change(task.id, None, always(Change(status=paused)))
        assert facts is not None
        assert facts.status.pause is not None
        assert facts.status.pause.note == stored_form(text)


async def test_unstorable_characters_in_metadata_and_records_are_replaced(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.write_metadata("a\0", "b\0")
        assert await store.read_metadata("a\0") == "b\ufffd"
        assert await store.put_record(Record("kind", "key\0", "", '"\0"'), replacing=None)
        record = await store.get_record("kind", "key\0")
        assert record is not None
        assert record.body == '"\ufffd"'
        await store.join(a_node("node\0", host="host\0"))
        assert [node.host for node in (await store.renew_lease("node\0", NOON)).nodes] == []
        assert [node.host for node in await store.nodes()] == ["host\ufffd"]


async def test_label_with_any_character_is_found(postgres_server: PostgresServer) -> None:
    """JSON can contain the NUL character, which the server cannot store."""

    async with open_store(new_schema(postgres_server)) as store:
        labels = [("a", "\0"), ("b", 'x"],["c","y'), ("c", "y"), ("d", "\\u0000"), ("任务", "一")]
        tasks = [a_task(labels=(label,)) for label in labels]
        await add_tasks(store, *tasks, a_task())
        for task in tasks:
            found = (await store.tasks(TaskFilter(labels=task.labels))).items
            assert [facts.task for facts in found] == [task]
        both = a_task(labels=(labels[1], labels[2]))
        await add_tasks(store, both)
        found = (await store.tasks(TaskFilter(labels=both.labels))).items
        assert [facts.task for facts in found] == [both]
