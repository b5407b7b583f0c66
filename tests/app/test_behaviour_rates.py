"""Rates of lanes as docs/behaviour.md describes them: starts within a period, and what waits for the next one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from horae import Horae, TaskHandle
from horae.testing import TimeTravel


async def call_api() -> None: ...


async def fail_once() -> None:
    raise ConnectionError("no answer")


@contextmanager
def paced(rate: str, **options: Any) -> Iterator[TimeTravel]:
    app = Horae("memory://", zone="UTC")
    app.task(name="call", lane="api", **options)(call_api)
    app.task(name="fail", lane="api", retries=1, give_up_after="never")(fail_once)
    with TimeTravel(app, "2026-03-01 12:00", zone="UTC") as time:
        time.run(app.lane("api", rate=rate))
        yield time


def add(time: TimeTravel, number: int, **options: Any) -> list[TaskHandle]:
    return [time.run(time.app.schedule("call", "now", name=f"task {each}", **options)) for each in range(number)]


def starts(time: TimeTravel, tasks: list[TaskHandle]) -> list[str]:
    return [f"{run.started:%H:%M}" for task in tasks for run in time.runs(task) if run.started is not None]


def test_no_more_runs_start_within_the_period() -> None:
    with paced("2/10m") as time:
        tasks = add(time, 5)
        time.travel("30m")
        assert starts(time, tasks) == ["12:00", "12:00", "12:10", "12:10", "12:20"]


def test_window_begins_with_any_start() -> None:
    with paced("2/10m") as time:
        first = add(time, 1)
        time.travel("9m")
        later = add(time, 3)
        time.travel("30m")
        assert starts(time, first + later) == ["12:00", "12:09", "12:10", "12:19"]


def test_rate_alone_does_not_bound_concurrent_runs() -> None:
    with paced("3/1s") as time:
        tasks = add(time, 3)
        time.travel("1m")
        assert starts(time, tasks) == ["12:00", "12:00", "12:00"], "a lane without a rate or a limit runs one at a time"


def test_retries_count_as_starts() -> None:
    with paced("1/1h") as time:
        task = time.run(time.app.schedule("fail", "now"))
        time.travel("3h")
        assert starts(time, [task]) == ["12:00", "13:00"], "the retry was due within a minute"


def test_each_filled_in_name_has_its_own_rate() -> None:
    with paced("1/10m") as time:
        for owner in ("ada", "bob"):
            time.run(time.app.lane(f"api:{owner}", rate="1/10m"))
        tasks = [
            time.run(time.app.schedule("call", "now", name=f"{owner} {number}", owner=owner, lane="api:{owner}"))
            for owner in ("ada", "bob")
            for number in range(2)
        ]
        time.travel("30m")
        assert starts(time, tasks) == ["12:00", "12:10", "12:00", "12:10"]


def test_what_cannot_start_in_time_is_skipped_while_it_waits_for_the_rate() -> None:
    with paced("1/1h", start_within="10m") as time:
        _, second = add(time, 2)
        time.travel("11m")
        (run,) = time.runs(second)
        assert (run.state.value, str(run.reason)) == ("skipped", "start_deadline")
        assert f"{run.ended:%H:%M}" == "12:10"


def test_paused_and_cancelled_tasks_leave_their_place_to_others() -> None:
    with paced("1/10m") as time:
        first, second, third, fourth = add(time, 4)
        time.travel("1m")
        time.run(second.pause())
        time.run(third.cancel())
        time.travel("30m")
        assert starts(time, [first, second, third, fourth]) == ["12:00", "12:10"]


def test_removed_rate_lets_all_that_wait_go_on_at_once() -> None:
    with paced("1/1h") as time:
        tasks = add(time, 4)
        time.travel("5m")
        time.run(time.app.lane("api", rate=None))
        time.travel("1m")
        assert starts(time, tasks) == ["12:00", "12:05", "12:05", "12:05"]


def test_lower_rate_counts_the_starts_before_it() -> None:
    with paced("3/1m") as time:
        tasks = add(time, 4)
        time.travel("30s")
        time.run(time.app.lane("api", rate="1/1h"))
        time.travel("2h")
        assert starts(time, tasks) == ["12:00", "12:00", "12:00", "13:00"]


def test_higher_rate_lets_more_go_on_at_once() -> None:
    with paced("1/1h") as time:
        tasks = add(time, 3)
        time.travel("5m")
        time.run(time.app.lane("api", rate="2/1h"))
        time.travel("2h")
        assert starts(time, tasks) == ["12:00", "12:05", "13:00"]


def test_why_says_when_the_lane_starts_the_next_one() -> None:
    with paced("1/1h") as time:
        _, second = add(time, 2)
        time.travel("1m")
        why = time.run(second.why())
        assert "its lane 'api' has a rate of 1/1h; its next start is at 2026-03-01 13:00" in str(why)
