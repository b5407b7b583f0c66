"""Imported tasks are accepted by the service and the targets; a repeated import changes nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from horae.interchange import ImportedTask, crontab, nanoclaw, openclaw
from horae.interchange.import_result import without_future_past
from horae.model.accounts.principal import Principal
from horae.model.gate import Gate
from horae.model.task import Task, TaskPast
from horae.ports.store import TaskFilter
from horae.schedule import Once
from horae.service.tasks.tasks import Tasks
from horae.stores.memory import MemoryStore
from horae.targets.command.programs import Programs
from horae.targets.command.settings import read_settings
from horae.targets.command.spec import check_spec
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock
from tests.unit.interchange.nanoclaw_files import SHANGHAI, TASK, made
from tests.unit.interchange.sample_files import sample, spec_of

ADMIN = Principal("operator", admin=True)


def everything(folder: Path) -> list[ImportedTask]:
    once = {**TASK, "id": "task-2", "schedule_type": "once", "schedule_value": "2026-01-01T00:00:00"}
    return [
        *crontab.read(sample("user.crontab"), zone=SHANGHAI, user="ann").tasks,
        *crontab.read(sample("system.crontab"), zone=SHANGHAI, user="", system=True).tasks,
        *openclaw.read(sample("openclaw_jobs.json"), zone=SHANGHAI).tasks,
        *nanoclaw.read(made(folder, {**TASK, "script": "echo '{}'"}, once), zone=SHANGHAI).tasks,
    ]


async def test_importing_twice_changes_nothing(tmp_path: Path) -> None:
    store = MemoryStore()
    service = Tasks(store, VirtualClock(NOON), "UTC")

    async def take_over() -> list[Task]:
        return [await service.create(ADMIN, without_future_past(found, NOON).request) for found in everything(tmp_path)]

    made_first = await take_over()
    (tmp_path / "messages.db").unlink()
    assert await take_over() == made_first
    kept = (await store.tasks(TaskFilter(), limit=1_000)).items
    assert len(kept) == len(made_first) == 16
    assert {task.owner for task in made_first} == {"operator", "group:main", "group:ops", "group:family"}


def test_the_command_target_accepts_every_command(tmp_path: Path) -> None:
    settings = read_settings({"allow": "*", "directory": "/srv"})
    commands = [found for found in everything(tmp_path) if found.request.target.kind == "command"]
    assert len(commands) == 10
    for found in commands:
        spec = check_spec(spec_of(found), settings, Programs(settings))
        assert spec_of(found).items() <= spec.items()


def test_the_command_target_accepts_every_gate(tmp_path: Path) -> None:
    settings = read_settings({"allow": ["bash", "node"]})
    gates = [gate for found in everything(tmp_path) if isinstance(gate := found.request.options.gate, Gate)]
    assert len(gates) == 2
    for gate in gates:
        check_spec(json.loads(gate.spec), settings, Programs(settings))


async def test_task_goes_on_from_its_past(tmp_path: Path) -> None:
    """An interval that counts from the end of a run goes on from the last one, as it would have in its source."""
    last = NOON - timedelta(minutes=20)
    interval = {"schedule_type": "interval", "schedule_value": "3600000", "last_run": last.isoformat()}
    (found,) = nanoclaw.read(made(tmp_path, {**TASK, **interval}), zone=SHANGHAI).tasks
    created = datetime(2026, 2, 20, tzinfo=UTC)
    assert found.request.past == TaskPast(created, last_end=last)
    assert "nanoclaw_next_run" not in [each.code for each in found.notes]
    store = MemoryStore()
    task = await Tasks(store, VirtualClock(NOON), "UTC").create(ADMIN, found.request)
    facts = await store.facts(task.id, None)
    assert facts is not None
    assert (task.created, facts.status.last_end) == (created, last)
    assert [entry.due for entry in facts.entries] == [last + timedelta(hours=1)]


def test_past_in_the_future_is_left_out(tmp_path: Path) -> None:
    wrong_clock = {**TASK, "created_at": "2099-01-01T00:00:00Z"}
    (found,) = nanoclaw.read(made(tmp_path, wrong_clock), zone=SHANGHAI).tasks
    assert found.request.past is not None
    assert without_future_past(found, NOON).request.past is None


def test_past_of_openclaw_is_its_creation_and_its_last_run() -> None:
    by_key = {found.request.key: found for found in openclaw.read(sample("openclaw_jobs.json"), zone=SHANGHAI).tasks}
    past = by_key["openclaw:morning"].request.past
    assert past is not None
    assert past.last_end == datetime(2026, 5, 27, 16, 40, 1, 500_000, tzinfo=UTC)
    assert all(found.request.past is None for found in by_key.values() if isinstance(found.request.when, Once))
