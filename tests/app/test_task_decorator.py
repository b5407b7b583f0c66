"""Decorated functions: a plain call just calls; what has a time runs by itself once the app is open."""

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


async def kept(app: Horae) -> list[Task]:
    return [facts.task for facts in (await app.store.tasks(TaskFilter())).items]


async def test_calling_a_task_function_just_calls_it() -> None:
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


async def test_what_has_a_time_is_made_when_the_app_opens_and_runs_by_itself(clock: VirtualClock) -> None:
    app = an_app(clock)
    ran: list[datetime] = []

    @app.task("every 5m", name="beat", retries=0, missed="skip", lane="heart")
    async def beat(context: Context) -> None:
        ran.append(context.planned)

    @app.task
    async def silent() -> None:
        ran.append(NOON)

    async with app:
        (task,) = await kept(app)
        assert (task.name, task.key, task.lane) == ("beat", "code:beat", "heart")
        assert task.schedule == Every(interval=5 * MINUTE, zone="UTC")
        assert task.policies.retry.attempts == 1
        assert task.policies.missed == Missed("skip")
        await clock.pause(11 * 60)
    assert ran == [NOON + 5 * MINUTE, NOON + 10 * MINUTE]


async def test_the_zone_of_a_declaration_is_its_own(clock: VirtualClock) -> None:
    app = an_app(clock, engine=False)

    @app.task("0 9 * * *", zone="Asia/Shanghai")
    def morning() -> None: ...

    @app.task("0 9 * * *")
    def elsewhere() -> None: ...

    async with app:
        zones = {task.name.rpartition(".")[2]: task.schedule for task in await kept(app)}
    assert zones == {
        "morning": Cron(expression="0 9 * * *", zone="Asia/Shanghai"),
        "elsewhere": Cron(expression="0 9 * * *", zone="UTC"),
    }


async def test_opening_again_changes_nothing_and_a_changed_declaration_is_an_edit(clock: VirtualClock) -> None:
    app = an_app(clock, engine=False)

    def work() -> None: ...

    app.task("every 1h", name="work")(work)
    async with app:
        (first,) = await kept(app)
        store = app.store
        second = an_app(clock, engine=False)
        second.task("every 1h", name="work")(work)
        second._store, second._service = store, app.service
        await second.begin()
        assert await kept(app) == [first]
        third = an_app(clock, engine=False)
        third.task("every 2h", name="work")(work)
        third._store, third._service = store, app.service
        await third.begin()
        (edited,) = await kept(app)
        assert (edited.id, edited.version) == (first.id, 2)
        assert edited.schedule == Every(interval=2 * HOUR, zone="UTC")


async def test_what_somebody_cancelled_does_not_keep_the_app_from_opening(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="horae"):
        app = an_app(clock, engine=False)

        def work() -> None: ...

        app.task("every 1h", name="work")(work)
        async with app:
            (task,) = await kept(app)
            await app.service.tasks.cancel(app.who, task.id)
            again = an_app(clock, engine=False)
            again.task("every 2h", name="work")(work)
            again._store, again._service = app.store, app.service
            await again.begin()
            assert await kept(app) == [task]
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
async def test_a_slip_in_a_declaration_is_refused_with_a_hint(
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
        app.store  # noqa: B018 - asking is enough


def test_two_functions_cannot_have_one_name() -> None:
    app = Horae("memory://", engine=False)
    app.task(name="work")(lambda: None)
    with pytest.raises(InvalidTask) as refusal:
        app.task(name="work")(lambda: None)
    assert refusal.value.code == "function_taken"
