"""Input of a run: run now, retry and backfill with another payload, as docs/behaviour.md describes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from horae import Horae, InvalidTask
from horae.app.handles import TaskHandle
from horae.model.inputs.run_input import RunInput
from horae.model.run import Run
from horae.testing import TimeTravel

PAYLOAD = {"city": "Rome", "unit": "C"}


class Report:
    """A task whose function notes its arguments, and fails as often as it is told to."""

    def __init__(self, time: TimeTravel, task: TaskHandle, app: Horae) -> None:
        self.time = time
        self.task = task
        self.app = app
        self.seen: list[dict[str, Any]] = []
        self.failures = 0
        self.minutes = 0

    def payload(self) -> Any:
        return json.loads(self.time.run(self.task.facts()).task.payload)

    def runs(self) -> list[Run]:
        return self.time.runs(self.task)


@contextmanager
def a_report(payload: dict[str, Any] | None = None, **options: Any) -> Iterator[Report]:
    app = Horae("memory://", zone="UTC")
    made: list[Report] = []

    @app.task(name="report", **options)
    async def report(**values: Any) -> None:
        made[0].seen.append(values)
        if made[0].minutes:
            await app.clock.pause(60 * made[0].minutes)
        if made[0].failures:
            made[0].failures -= 1
            raise RuntimeError

    with TimeTravel(app, "2026-03-01 12:30", zone="UTC") as time:
        task = time.run(app.schedule(report, "0 * * * *", PAYLOAD if payload is None else payload))
        made.append(Report(time, task, app))
        yield made[0]


def test_run_now_replaces_the_payload_for_one_run() -> None:
    with a_report() as report:
        report.time.run(report.task.run_now(input={"city": "Oslo"}))
        report.time.travel("1h")
        assert report.seen == [{"city": "Oslo"}, PAYLOAD]
        assert report.payload() == PAYLOAD
        scheduled, manual = sorted(report.runs(), key=lambda run: run.origin, reverse=True)
        assert manual.input == RunInput("replace", '{"city":"Oslo"}')
        assert scheduled.input is None


def test_run_now_merges_into_the_payload() -> None:
    with a_report({**PAYLOAD, "options": {"a": 1, "b": 2}}) as report:
        report.time.run(report.task.run_now(merge={"unit": None, "options": {"b": 3}, "day": "Monday"}))
        report.time.travel("1m")
        assert report.seen == [{"city": "Rome", "options": {"a": 1, "b": 3}, "day": "Monday"}]


def test_automatic_retry_has_the_input_of_its_run() -> None:
    with a_report(retries=2) as report:
        report.failures = 2
        report.time.run(report.task.run_now(merge={"city": "Oslo"}))
        report.time.travel("20m")
        assert [each["city"] for each in report.seen] == ["Oslo"] * 3
        assert {run.input for run in report.runs()} == {RunInput("merge", '{"city":"Oslo"}')}


def test_manual_retry_has_the_input_of_its_run_unless_another_one_is_given() -> None:
    with a_report(retries=0) as report:
        report.failures = 2
        run = report.time.run(report.task.run_now(merge={"city": "Oslo"}))
        report.time.travel("1m")
        report.time.run(run.retry())
        report.time.travel("1m")
        report.time.run(run.retry(input={"city": "Lima"}))
        report.time.travel("1m")
        assert report.seen == [{"city": "Oslo", "unit": "C"}, {"city": "Oslo", "unit": "C"}, {"city": "Lima"}]


def test_retry_of_a_scheduled_run_with_input() -> None:
    with a_report(retries=1) as report:
        report.failures = 3
        report.time.travel("35m")
        (last,) = [run for run in report.runs() if run.attempt == 2]
        report.time.run(report.time.run(report.app.get_run(last.id)).retry(merge={"city": "Oslo"}))
        report.time.travel("10m")
        assert [each["city"] for each in report.seen] == ["Rome", "Rome", "Oslo", "Oslo"]
        report.time.travel("1h")
        assert report.seen[-1] == PAYLOAD


def test_waiting_retry_that_is_requested_with_input_has_it() -> None:
    with a_report(retries=1) as report:
        report.failures = 1
        report.time.travel("30m")
        (first,) = report.runs()
        report.time.run(report.time.run(report.app.get_run(first.id)).retry(merge={"city": "Oslo"}))
        report.time.travel("1s")
        assert [each["city"] for each in report.seen] == ["Rome", "Oslo"]


def test_every_run_of_a_backfill_has_its_input() -> None:
    with a_report() as report:
        first, last = (datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (9, 11))
        report.time.run(report.task.backfill(first, last, merge={"day": "{horae.planned}"}))
        report.time.travel("1m")
        assert [each["day"][11:16] for each in report.seen] == ["09:00", "10:00", "11:00"]
        report.time.run(report.task.backfill(first, first, again=True))
        report.time.travel("1m")
        assert report.seen[-1] == PAYLOAD, "a second backfill is a request of its own"


def test_run_that_is_taken_over_keeps_its_input() -> None:
    with a_report() as report:
        report.minutes = 4
        report.time.run(report.task.run_now(merge={"city": "Oslo"}))
        report.time.travel("1m")
        report.time.crash()
        report.time.restart()
        report.time.travel("15m")
        assert [each["city"] for each in report.seen] == ["Oslo", "Oslo"]
        assert [run.state for run in report.runs()] == ["lost", "succeeded"]


def test_skipped_request_keeps_its_input_for_a_retry() -> None:
    with a_report(overlap="queue") as report:
        report.minutes = 4
        report.time.run(report.task.run_now())
        report.time.travel("1s")
        waiting = report.time.run(report.task.run_now(merge={"city": "Oslo"}))
        report.time.travel("1s")
        report.time.run(waiting.cancel())
        assert report.time.run(waiting.get()).input == RunInput("merge", '{"city":"Oslo"}')


def test_edit_between_the_request_and_the_start_is_the_base_of_the_merge() -> None:
    with a_report(overlap="queue") as report:
        report.minutes = 4
        report.time.run(report.task.run_now())
        report.time.travel("1s")
        report.time.run(report.task.run_now(merge={"city": "Oslo"}))
        report.time.run(report.task.edit(payload={"city": "Rome", "unit": "F"}))
        report.time.travel("15m")
        assert report.seen[1] == {"city": "Oslo", "unit": "F"}


def test_placeholders_of_an_input_are_filled() -> None:
    with a_report() as report:
        report.time.run(report.task.run_now(input={"at": "{horae.planned}", "try": "{horae.attempt}"}))
        report.time.travel("1m")
        assert report.seen == [{"at": "2026-03-01T12:30:00+00:00", "try": "1"}]


def test_why_says_that_the_run_had_an_input() -> None:
    with a_report() as report:
        report.time.run(report.task.run_now(merge={"city": "Oslo"}))
        report.time.travel("1m")
        why = report.time.run(report.task.why())
        assert "Its input changes the task's payload." in str(why)
        report.time.run(report.task.run_now(input={}))
        report.time.travel("1m")
        assert "It has its own input" in str(report.time.run(report.task.why()))


async def test_unknown_placeholder_in_an_input_is_refused() -> None:
    async with Horae("memory://", zone="UTC", engine=False) as app:
        task = await app.schedule({"kind": "event"}, "every 1h")
        with pytest.raises(InvalidTask) as refusal:
            await task.run_now(merge={"text": "{horae.now}"})
        assert refusal.value.code == "unknown_placeholder"
        assert (await task.facts()).entries[0].kind == "next"


async def test_input_is_either_a_payload_or_a_patch() -> None:
    async with Horae("memory://", zone="UTC", engine=False) as app:
        task = await app.schedule({"kind": "event"}, "every 1h")
        with pytest.raises(InvalidTask) as refusal:
            await task.run_now(input={}, merge={})
        assert refusal.value.code == "one_input"


async def test_merge_that_makes_the_payload_too_large_is_refused() -> None:
    async with Horae("memory://", zone="UTC", engine=False) as app:
        task = await app.schedule({"kind": "event"}, "every 1h", {"a": "x" * 200_000})
        with pytest.raises(InvalidTask) as refusal:
            await task.run_now(merge={"b": "x" * 100_000})
        assert refusal.value.code == "input_too_large"


async def test_large_input_of_a_long_backfill_is_refused() -> None:
    async with Horae("memory://", zone="UTC", engine=False) as app:
        task = await app.schedule({"kind": "event"}, "0 * * * *")
        first, last = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
        with pytest.raises(InvalidTask) as refusal:
            await task.backfill(first, last, input={"a": "x" * 200_000})
        assert refusal.value.code == "backfill_input_too_large"


async def test_input_that_does_not_fit_the_function_is_refused() -> None:
    app = Horae("memory://", zone="UTC", engine=False)

    @app.task(name="greet")
    async def greet(name: str) -> None: ...

    async with app:
        task = await app.schedule(greet, "every 1h", {"name": "Ada"})
        with pytest.raises(InvalidTask) as refusal:
            await task.run_now(merge={"nmae": "Bob"})
        assert refusal.value.code == "unknown_argument"
        await task.run_now(merge={"name": "Bob"})
