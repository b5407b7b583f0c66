"""Runs as docs/behaviour.md describes them: timeouts, heartbeats, large results and logs, backlogs."""

from __future__ import annotations

import asyncio

from horae import Context, Horae
from horae.app.handles import RunHandle
from horae.engine.settings import EngineSettings
from horae.model.limits import RESULT_BYTES
from horae.testing import TimeTravel
from tests.app.behaviour_scenarios import NOON, hourly_task, render_ledger

MINUTE = 60
KEPT_LINES = 1_500
"""More than one page of lines."""


async def work_for(minutes: float) -> None:
    await asyncio.sleep(minutes * MINUTE)  # noqa: TID251 - virtual time passes where a function sleeps


async def work_with_heartbeats(ctx: Context) -> str:
    for _ in range(10):
        await work_for(4)
        ctx.heartbeat()
    return "done"


async def work_without_end(ctx: Context) -> None:
    while True:
        await work_for(4)
        ctx.heartbeat()


async def return_ten_megabytes() -> list[str]:
    return ["x" * 1_000] * 10_000


async def log_five_times_the_limit(ctx: Context) -> None:
    for number in range(5 * KEPT_LINES):
        ctx.log.info("line %05d", number)
        if number % KEPT_LINES == 0:
            await work_for(0.1)


class Calls:
    """Task functions that record their argument."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.owners: list[str] = []

    async def record_number(self, number: int) -> None:
        self.numbers.append(number)

    async def record_owner(self, whose: str) -> None:
        self.owners.append(whose)


def test_run_without_heartbeat_times_out_and_is_retried() -> None:
    with hourly_task(minutes=10, timeout="5m", retries=1) as (time, task):
        time.travel("1h59m")
        assert render_ledger(time, task) == ["13:00 timed_out deadline"] * 2
        first = time.runs(task)[0]
        assert first.ended is not None
        assert first.started is not None
        assert (first.ended - first.started).total_seconds() == 5 * MINUTE


def test_heartbeat_extends_the_timeout() -> None:
    app = Horae("memory://", zone="UTC")
    app.task(name="slow", timeout="5m")(work_with_heartbeats)
    with TimeTravel(app, NOON) as time:
        task = time.run(app.schedule("slow", "now"))
        time.travel("1h")
        assert render_ledger(time, task) == ["12:00 succeeded"]


def test_total_timeout_ends_a_run_despite_heartbeats() -> None:
    app = Horae("memory://", zone="UTC")
    app.task(name="slow", timeout="5m", max_duration="30m", retries=0)(work_without_end)
    with TimeTravel(app, NOON) as time:
        task = time.run(app.schedule("slow", "now"))
        time.travel("2h")
        (run,) = time.runs(task)
        assert run.state == "timed_out"
        assert f"{run.ended:%H:%M}" == "12:30"


def test_huge_result_is_truncated_and_the_run_succeeds() -> None:
    app = Horae("memory://", zone="UTC")
    app.task(name="huge")(return_ten_megabytes)
    with TimeTravel(app, NOON) as time:
        task = time.run(app.schedule("huge", "now"))
        time.travel("1s")
        (run,) = time.runs(task)
        assert run.state == "succeeded"
        assert run.result_json is not None
        assert len(run.result_json.encode()) <= RESULT_BYTES
        assert run.value.endswith("…")


def test_log_is_truncated_with_a_final_notice() -> None:
    app = Horae("memory://", zone="UTC", settings=EngineSettings(run_log_bytes=KEPT_LINES * len("line 00000")))
    app.task(name="loud")(log_five_times_the_limit)
    with TimeTravel(app, NOON) as time:
        task = time.run(app.schedule("loud", "now"))
        time.travel("1h")
        (run,) = time.runs(task)
        *lines, last = time.run(RunHandle(app, run.task_id, run.id).lines())
        assert run.state == "succeeded"
        assert [each.text for each in lines] == [f"line {number:05}" for number in range(KEPT_LINES)]
        assert last.text.startswith("More was said")


def test_many_tasks_due_at_one_instant_run_once_and_not_early() -> None:
    app = Horae("memory://", zone="UTC")
    calls = Calls()
    app.task(name="one")(calls.record_number)
    with TimeTravel(app, NOON) as time:
        time.run(app.schedule_many(("one", "in 1h", {"number": number}) for number in range(3_000)))
        time.travel("59m59s")
        assert calls.numbers == []
        time.travel("1s")
        assert sorted(calls.numbers) == list(range(3_000))


def test_backlog_is_claimed_fairly_between_owners() -> None:
    """A thousand due runs of one owner do not delay the run of another owner until all have run."""
    app = Horae("memory://", zone="UTC")
    calls = Calls()
    app.task(name="note")(calls.record_owner)
    with TimeTravel(app, NOON) as time:
        time.run(app.schedule_many((("note", "in 1h", {"whose": "many"}) for _ in range(1_000)), owner="many"))
        time.run(app.schedule("note", "in 61m", {"whose": "few"}, owner="few"))
        time.crash()
        time.travel("2h")
        time.restart()
        time.travel("1m")
        assert len(calls.owners) == 1_001
        assert calls.owners.index("few") < 300
