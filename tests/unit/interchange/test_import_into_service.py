"""Imported tasks are accepted by the service and the targets; a repeated import changes nothing."""

from __future__ import annotations

from pathlib import Path

from horae.interchange import ImportedTask, crontab, nanoclaw, openclaw
from horae.model.accounts.principal import Principal
from horae.model.task import Task
from horae.ports.store import TaskFilter
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
        *nanoclaw.read(made(folder, TASK, once), zone=SHANGHAI).tasks,
    ]


async def test_importing_twice_changes_nothing(tmp_path: Path) -> None:
    store = MemoryStore()
    service = Tasks(store, VirtualClock(NOON), "UTC")

    async def take_over() -> list[Task]:
        return [await service.create(ADMIN, found.request) for found in everything(tmp_path)]

    made_first = await take_over()
    (tmp_path / "messages.db").unlink()
    assert await take_over() == made_first
    kept = (await store.tasks(TaskFilter(), limit=1_000)).items
    assert len(kept) == len(made_first) == 15
    assert {task.owner for task in made_first} == {"operator", "group:main", "group:ops", "group:family"}


def test_the_command_target_accepts_every_command(tmp_path: Path) -> None:
    settings = read_settings({"allow": "*", "directory": "/srv"})
    commands = [found for found in everything(tmp_path) if found.request.target.kind == "command"]
    assert len(commands) == 10
    for found in commands:
        spec = check_spec(spec_of(found), settings, Programs(settings))
        assert spec_of(found).items() <= spec.items()
