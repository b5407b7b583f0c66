"""Lanes as docs/behaviour.md describes them: several lanes per task, and turns of owners."""

from __future__ import annotations

import asyncio

from horae import Context, Horae, TaskHandle
from horae.testing import TimeTravel
from tests.app.behaviour_scenarios import NOON, hourly_task

MINUTES = 10


def started_at(time: TimeTravel, task: TaskHandle) -> str:
    (run,) = time.runs(task)
    return f"{run.started:%H:%M}"


def test_run_starts_when_all_its_lanes_have_a_free_slot() -> None:
    with hourly_task(minutes=30, lane="one") as (time, _):
        app = time.app
        time.travel("1h10m")
        both = time.run(app.schedule("hourly", "now", name="both", lane="two", lanes=["one"]))
        time.travel("1h")
        assert started_at(time, both) == "13:30"


def test_owners_take_turns_in_a_full_lane() -> None:
    with hourly_task(minutes=MINUTES, lane="one") as (time, _):
        app = time.app
        time.travel("1h1m")
        tasks = {
            name: time.run(app.schedule("hourly", "now", name=name, lane="one", owner=owner, priority=priority))
            for name, owner, priority in (("a1", "ada", 5), ("a2", "ada", 9), ("b1", "bob", 0))
        }
        time.travel("50m")
        assert [started_at(time, tasks[name]) for name in ("a2", "b1", "a1")] == ["13:10", "13:20", "13:30"]


async def listen(ctx: Context) -> str:
    ctx.idle()
    for _ in range(100_000):
        if ctx.yield_requested:
            break
        await asyncio.sleep(1)  # noqa: TID251 - virtual time passes where a function sleeps
    return str(ctx.yield_reason)


async def report() -> None: ...


def test_idle_run_is_asked_to_yield_its_slot() -> None:
    app = Horae("memory://", zone="UTC")
    app.task(name="listen", lane="desk", timeout="1d")(listen)
    app.task(name="report", lane="desk")(report)
    with TimeTravel(app, NOON, zone="UTC") as time:
        listener = time.run(app.schedule("listen", "now", owner="ada"))
        own = time.run(app.schedule("report", "in 10m", owner="ada", name="own"))
        time.travel("30m")
        assert time.runs(own) == []
        other = time.run(app.schedule("report", "in 30m", owner="bob", name="other"))
        time.travel("1h")
        assert [run.result for run in time.runs(listener)] == ["other_owner: desk"]
        assert started_at(time, other) in ("13:00", "13:01")
        assert started_at(time, own) in ("13:00", "13:01")
