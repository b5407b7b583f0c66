"""Declared tasks: upserted when the app opens, paused when the declaration is removed, resumed when it is back."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from horae import Horae, InvalidSchedule, InvalidTask
from horae.model.reason import Reason
from horae.model.task import PauseCause, TaskState
from horae.service.tasks.advisories import Advisory
from horae.testing import TimeTravel

START = "2026-03-01 12:00"


def an_app(path: Path, *names: str) -> Horae:
    app = Horae(f"sqlite:///{path}/horae.db", zone="UTC")
    for name in names:
        app.task("every 1h", name=name)(_work)
    app.task(name="silent")(_work)
    return app


async def _work() -> None: ...


class Reminders:
    def __init__(self) -> None:
        self.calls: list[tuple[int, str]] = []

    async def remind(self, user: int, text: str = "hi") -> None:
        self.calls.append((user, text))


async def states(app: Horae) -> dict[str, tuple[TaskState, PauseCause | None]]:
    found = {}
    async for task in app.tasks():
        standing = await task.standing()
        found[task.name] = standing.state, None if standing.pause is None else standing.pause.cause
    return found


def test_removed_declaration_pauses_the_task_and_restoring_it_resumes(tmp_path: Path) -> None:
    active = (TaskState.ACTIVE, None)
    with TimeTravel(an_app(tmp_path, "a", "b"), START, store="own") as time:
        assert time.run(states(time.app)) == {"a": active, "b": active}
    with TimeTravel(an_app(tmp_path, "a"), "2026-03-01 12:30", store="own") as time:
        assert time.run(states(time.app)) == {"a": active, "b": (TaskState.PAUSED, PauseCause.ORPHANED)}
        time.travel("2h")
        assert len(time.ran("a")) == 2
    with TimeTravel(an_app(tmp_path, "a", "b"), "2026-03-01 15:30", store="own") as time:
        assert time.run(states(time.app)) == {"a": active, "b": active}
        time.travel("1h")
        b = time.run(time.app.get("b"))
        (stretch,) = [run.span for run in time.runs(b) if run.reason is Reason.PAUSED]
        assert stretch is not None
        assert (stretch.first.hour, stretch.last.hour, stretch.count) == (13, 15, 3)
        assert time.ran(b)[-1].hour == 16


def test_declaration_does_not_resume_a_task_paused_by_request(tmp_path: Path) -> None:
    with TimeTravel(an_app(tmp_path, "a"), START, store="own") as time:
        task = time.run(time.app.get("a"))
        time.run(task.pause("holidays"))
    with TimeTravel(an_app(tmp_path, "a"), "2026-03-01 12:30", store="own") as time:
        assert time.run(states(time.app)) == {"a": (TaskState.PAUSED, PauseCause.REQUESTED)}


def test_invalid_schedule_is_refused_by_the_decorator() -> None:
    app = Horae("memory://", engine=False)
    with pytest.raises(InvalidSchedule):
        app.task("every 5x", name="a")(_work)


def test_conflicting_declarations_are_refused_with_the_difference() -> None:
    app = Horae("memory://", engine=False)
    app.task("every 1h", name="a")(_work)
    app.task("every 1h", name="a")(_work)
    with pytest.raises(InvalidTask) as refusal:
        app.task("every 2h", name="a")(_work)
    assert refusal.value.code == "declared_twice"
    assert "every 1h -> every 2h" in refusal.value.message


def test_functions_are_scheduled_with_plain_arguments() -> None:
    app = Horae("memory://", zone="UTC")
    reminders = Reminders()
    remind = app.task(reminders.remind)
    with TimeTravel(app, START) as time:
        time.run(remind.later("in 20m", 7, text="stretch"))
        time.run(remind.now(8))
        time.travel(timedelta(minutes=30))
        with pytest.raises(InvalidTask):
            time.run(remind.later("in 1m", 1, "a", "too many"))
    assert reminders.calls == [(8, "hi"), (7, "stretch")]


async def restart_beside_another_app(path: Path) -> dict[str, tuple[TaskState, PauseCause | None]]:
    other = Horae(f"sqlite:///{path}/horae.db", zone="UTC")
    other.task("every 1h", name="other.report")(_work)
    async with other:
        async with an_app(path, "a", "b"):
            pass
        async with an_app(path, "a"):
            return await states(other)


async def test_removed_declaration_is_paused_while_another_app_runs(tmp_path: Path) -> None:
    found = await restart_beside_another_app(tmp_path)
    assert found["b"] == (TaskState.PAUSED, PauseCause.ORPHANED)
    assert found["a"] == found["other.report"] == (TaskState.ACTIVE, None)


async def restart_beside_an_older_version(path: Path) -> list[dict[str, tuple[TaskState, PauseCause | None]]]:
    async with an_app(path, "a", "b"), an_app(path, "a") as newer:
        during = await states(newer)
    async with an_app(path, "a") as newer:
        return [during, await states(newer)]


async def test_declaration_of_an_older_running_node_is_paused_by_a_later_start(tmp_path: Path) -> None:
    during, after = await restart_beside_an_older_version(tmp_path)
    assert during["b"] == (TaskState.ACTIVE, None)
    assert after["b"] == (TaskState.PAUSED, PauseCause.ORPHANED)


async def advisories_of_a_removed_function(path: Path) -> tuple[Advisory | None, Advisory | None]:
    url = f"sqlite:///{path}/horae.db"
    async with an_app(path, "shop.pay", "shop.may") as app:
        task = await app.schedule("shop.may", "in 1h")
        target = (await task.facts()).task.target
    async with an_app(path, "shop.pay") as app:
        gone = (await app.service.functions.load(fresh=True)).missing(target)
    async with an_app(path, "shop.pay", "shop.may"):
        pass
    async with Horae(url, zone="UTC", engine=False) as app:
        back = (await app.service.functions.load(fresh=True)).missing(target)
    return gone, back


async def test_removed_function_gets_no_spelling_suggestion(tmp_path: Path) -> None:
    gone, back = await advisories_of_a_removed_function(tmp_path)
    assert gone is not None
    assert gone.code == "function_removed"
    assert "shop.pay" not in gone.in_language("en") + gone.in_language("zh")
    assert back is not None
    assert back.code == "function_not_running"
