"""`app.task`: the decorated function stays callable, and a declared schedule runs once the app is open."""

from __future__ import annotations

import logging
from datetime import datetime

import pytest

from horae import Conflict, Context, Horae, InvalidTask
from horae.app import TaskFunction
from horae.model.policy import Missed
from horae.model.task import Task
from horae.ports.store import TaskFilter
from horae.schedule import Cron, Every
from horae.testing.factories import HOUR, MINUTE, NOON
from horae.virtual_time import VirtualClock
from tests.app.virtual_app import an_app


async def list_tasks(app: Horae) -> list[Task]:
    return [facts.task for facts in (await app.store.tasks(TaskFilter())).items]


async def test_task_function_is_called_directly() -> None:
    app = Horae("memory://", engine=False)

    @app.task
    def add(one: int, other: int = 1) -> int:
        """Sums."""
        return one + other

    assert add(2) == 3
    assert add(2, other=5) == 7
    assert (add.__doc__, add.name.rpartition(".")[2]) == ("Sums.", "add")
    assert add.name.startswith(__name__)
    assert isinstance(add, TaskFunction)
    outcome = "now"
    assert outcome == "now"
    assert "add" in repr(add)


async def test_declared_schedule_is_created_when_the_app_opens(clock: VirtualClock) -> None:
    app = an_app(clock)
    ran: list[datetime] = []

    @app.task("every 5m", name="beat", retries=0, missed="skip", lane="heart")
    async def beat(context: Context) -> None:
        ran.append(context.planned)

    @app.task
    async def silent() -> None:
        ran.append(NOON)

    async with app:
        (task,) = await list_tasks(app)
        assert (task.name, task.key, task.lane) == ("beat", "code:beat", "heart")
        assert task.schedule == Every(interval=5 * MINUTE, zone="UTC")
        assert task.policies.retry.attempts == 1
        assert task.policies.missed == Missed("skip")
        await clock.pause(11 * 60)
    assert ran == [NOON + 5 * MINUTE, NOON + 10 * MINUTE]


async def test_zone_of_a_declaration_overrides_that_of_the_app(clock: VirtualClock) -> None:
    app = an_app(clock, engine=False)

    @app.task("0 9 * * *", zone="Asia/Shanghai")
    def morning() -> None: ...

    @app.task("0 9 * * *")
    def elsewhere() -> None: ...

    async with app:
        zones = {task.name.rpartition(".")[2]: task.schedule for task in await list_tasks(app)}
    assert zones == {
        "morning": Cron(expression="0 9 * * *", zone="Asia/Shanghai"),
        "elsewhere": Cron(expression="0 9 * * *", zone="UTC"),
    }


async def test_reopening_changes_nothing_and_a_changed_declaration_is_an_edit(clock: VirtualClock) -> None:
    app = an_app(clock, engine=False)

    def work() -> None: ...

    app.task("every 1h", name="work")(work)
    async with app:
        (first,) = await list_tasks(app)
        store = app.store
        second = an_app(clock, engine=False)
        second.task("every 1h", name="work")(work)
        second._store, second._service = store, app.service
        await second.begin()
        assert await list_tasks(app) == [first]
        third = an_app(clock, engine=False)
        third.task("every 2h", name="work")(work)
        third._store, third._service = store, app.service
        await third.begin()
        (edited,) = await list_tasks(app)
        assert (edited.id, edited.version) == (first.id, 2)
        assert edited.schedule == Every(interval=2 * HOUR, zone="UTC")


async def test_app_opens_although_a_declared_task_was_cancelled(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="horae"):
        app = an_app(clock, engine=False)

        def work() -> None: ...

        app.task("every 1h", name="work")(work)
        async with app:
            (task,) = await list_tasks(app)
            await app.service.tasks.cancel(app.who, task.id)
            again = an_app(clock, engine=False)
            again.task("every 2h", name="work")(work)
            again._store, again._service = app.store, app.service
            await again.begin()
            assert await list_tasks(app) == [task]
    assert "stays as it is" in caplog.text


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"retires": 3}, "unknown_option"),
        ({"retries": -1}, "bad_number"),
        ({"missed": "sometimes"}, "bad_choice"),
        ({"timeout": "soon"}, "bad_duration"),
    ],
)
async def test_invalid_declaration_is_refused_with_a_hint(
    clock: VirtualClock, options: dict[str, object], code: str
) -> None:
    app = an_app(clock, engine=False)

    def work() -> None: ...

    async def declared_and_opened() -> None:
        app.task("every 1h", **options)(work)  # type: ignore[call-overload]
        await app.__aenter__()

    with pytest.raises(InvalidTask) as refusal:
        await declared_and_opened()
    assert refusal.value.code == code
    assert refusal.value.hint
    with pytest.raises(Conflict):
        app.store  # noqa: B018 - the access itself raises


def test_two_functions_with_one_name_are_refused() -> None:
    app = Horae("memory://", engine=False)
    app.task(name="work")(lambda: None)
    with pytest.raises(InvalidTask) as refusal:
        app.task(name="work")(lambda: None)
    assert refusal.value.code == "function_taken"
