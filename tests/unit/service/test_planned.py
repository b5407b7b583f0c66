"""Planned runs: what is planned is what the engine's decisions then start; bounded, cached, and per owner."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.model.accounts.principal import Principal
from horae.model.outcome import Failed, Succeeded
from horae.model.run import Origin
from horae.service.runs import planned
from horae.service.runs.planned import CACHED_SECONDS, CACHED_SECONDS_AFTER_WRITE, MAX_PERIODS, PlannedCounts
from horae.service.tasks.task_request import Options, RetryRequest
from horae.testing.factories import DAY, HOUR, MINUTE, NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.unit.service.service_harness import ADA, BOB, ROOT, ServiceHarness, code_of, open_harness

START = datetime(2026, 3, 28, 12, 0, 7, tzinfo=UTC)
"""The day before the clock change in Berlin."""
UNTIL = START + 2 * DAY
WHENS = (
    "every 50m",
    "every 2h, 5 times",
    "every 3h with jitter up to 2h",
    "every 5h after end",
    "30 2 * * *",
    "*/40 1-4 * * *",
    "every day at 02:30 with jitter up to 30m",
    "every weekday at 9am",
    "every day at 10:00 except 2026-03-29",
    "every 1h until 2026-03-29 06:00",
    "RRULE:FREQ=HOURLY;INTERVAL=7",
    "in 90m",
    "at 2026-03-29 18:00",
)


class Case(NamedTuple):
    """A task and what happens to it before the plan is read."""

    when: str
    skips: int
    paused_for: int | None
    fails_once: bool


cases = st.builds(
    Case,
    st.sampled_from(WHENS),
    st.sampled_from((0, 0, 0, 1, 3)),
    st.sampled_from((None, None, None, 1, 7, 26)),
    st.booleans(),
)


async def create(harness: ServiceHarness, case: Case) -> str:
    retry = RetryRequest(attempts=3, backoff="4h", factor=1.0, jitter="none")
    task = await harness.add(case.when, zone="Europe/Berlin", options=Options(retry=retry))
    if case.fails_once:
        await harness.tasks.run_now(ADA, task.id)
        for run in await harness.claim():
            await harness.settle(run, Failed("no") if run.origin is Origin.MANUAL else Succeeded())
    if case.skips:
        await harness.tasks.skip_next(ADA, task.id, case.skips)
    if case.paused_for is not None:
        await harness.tasks.pause(ADA, task.id, until=harness.clock.now() + case.paused_for * HOUR)
    return task.id


async def run_until(harness: ServiceHarness, until: datetime) -> list[tuple[datetime, str, int]]:
    """Claim at each due instant and settle at once; return instant, task and attempt of every run that started."""
    started = []
    while (due := await harness.store.next_due()) is not None and due < until:
        harness.advance(max(timedelta(0), due - harness.clock.now()))
        for run in await harness.claim():
            started.append((harness.clock.now(), run.task_id, run.attempt))
            await harness.settle(run, Succeeded())
    return sorted(started)


@settings(max_examples=80, deadline=None)
@given(drawn=st.lists(cases, min_size=1, max_size=4))
async def test_what_is_planned_is_what_runs(drawn: list[Case]) -> None:
    harness = ServiceHarness(clock=VirtualClock(START))
    for case in drawn:
        await create(harness, case)
    listed = await harness.service.planned.list(ADA, START, UNTIL, 1_000)
    bounds = [START + place * 4 * HOUR for place in range(13)]
    counts = await harness.service.planned.per_period(ADA, bounds)
    assert not listed.is_partial
    plan = sorted((run.due, run.task.id, run.occurrence.attempt) for run in listed.items)
    assert [run.due for run in listed.items] == [due for due, _, _ in plan]
    assert [period.number for period in counts.periods] == [
        sum(period.since <= due < period.until for due, _, _ in plan) for period in counts.periods
    ]
    assert await run_until(harness, UNTIL) == plan


# --- content ---------------------------------------------------------------------------------------------------------


async def test_hours_begin_with_the_current_one() -> None:
    async with open_harness() as harness:
        harness.advance(10 * MINUTE)
        await harness.add("every 20m")
        now = harness.clock.now()
        counts = await harness.service.planned.per_hour(ADA, now, now + 2 * HOUR)
        assert [(period.since - NOON, period.number) for period in counts.periods] == [
            (0 * HOUR, 2),
            (HOUR, 3),
            (2 * HOUR, 3),
        ]
        assert counts.total == 8


async def test_retry_and_estimates_are_marked() -> None:
    async with open_harness() as harness:
        await harness.add("every 2h after end")
        retried = await harness.add(
            "every 1d", options=Options(retry=RetryRequest(attempts=2, backoff="1h", jitter="none"))
        )
        await harness.tasks.run_now(ADA, retried.id)
        (run,) = await harness.claim()
        await harness.settle(run, Failed("no"))
        listed = await harness.service.planned.list(ADA, NOON, NOON + 5 * HOUR)
        assert [
            (each.due - NOON, each.occurrence.origin, each.occurrence.attempt, each.occurrence.is_estimate)
            for each in listed.items
        ] == [
            (HOUR, Origin.MANUAL, 2, False),
            (2 * HOUR, Origin.SCHEDULED, 1, False),
            (4 * HOUR, Origin.SCHEDULED, 1, True),
        ]


async def test_owners_see_their_own_and_an_admin_sees_all() -> None:
    async with open_harness() as harness:
        await harness.add("every 1h")
        await harness.add("every 1h", who=BOB)

        async def total(who: Principal) -> int:
            return (await harness.service.planned.per_hour(who, NOON, NOON + 5 * HOUR)).total

        assert [await total(who) for who in (ADA, BOB, ROOT, Principal("cyd"))] == [4, 4, 8, 0]


# --- bounds ----------------------------------------------------------------------------------------------------------


async def test_more_tasks_than_are_considered_make_the_result_partial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "MAX_TASKS", 3)
    async with open_harness() as harness:
        for hours in range(1, 6):
            await harness.add(f"in {hours}h")
        service = harness.service.planned
        full = await service.per_hour(ADA, NOON, NOON + 4 * HOUR)
        assert (full.total, full.is_partial) == (3, False), "the fourth task is due when the period ends"
        assert (await service.per_hour(ADA, NOON, NOON + 5 * HOUR)).is_partial
        listed = await service.list(ADA, NOON, NOON + DAY)
        assert (len(listed.items), listed.is_partial) == (3, True)


async def test_of_too_many_tasks_fewer_are_considered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "MAX_TASKS", 3)
    monkeypatch.setattr(planned, "FEWER_TASKS", 2)
    async with open_harness() as harness:
        for hours in range(1, 5):
            await harness.add(f"in {hours}h")
        listed = await harness.service.planned.list(ADA, NOON, NOON + DAY)
        assert (len(listed.items), listed.is_partial) == (2, True)
        full = await harness.service.planned.per_hour(ADA, NOON, NOON + 3 * HOUR)
        assert (full.total, full.is_partial) == (2, False), "the third task is due when the period ends"


async def test_counts_of_one_page_read_the_tasks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        await harness.add("every 1h")
        reads: list[str | None] = []
        upcoming = harness.store.upcoming

        async def counted(owner: str | None, limit: int = 20) -> object:
            reads.append(owner)
            return await upcoming(owner, limit)

        monkeypatch.setattr(harness.store, "upcoming", counted)
        service = harness.service.planned
        assert (await service.per_hour(ADA, NOON, NOON + 5 * HOUR)).total == 4
        assert (await service.per_period(ADA, [NOON, NOON + 2 * HOUR])).total == 1
        assert (await service.per_period(ROOT, [NOON, NOON + 2 * HOUR])).total == 1
        await harness.add("every 1h")
        assert (await service.per_period(ROOT, [NOON, NOON + 3 * HOUR])).total == 4
        assert reads == [ADA.list_scope, ROOT.list_scope, ROOT.list_scope]


async def test_list_says_that_there_are_more_than_its_limit() -> None:
    async with open_harness() as harness:
        await harness.add("every 1h")
        listed = await harness.service.planned.list(ADA, NOON, NOON + DAY, 5)
        assert ([each.due - NOON for each in listed.items], listed.is_partial) == (
            [n * HOUR for n in range(1, 6)],
            True,
        )


async def test_periods_without_end_or_too_long_are_refused() -> None:
    async with open_harness() as harness:
        service = harness.service.planned
        hours = [NOON + place * HOUR for place in range(MAX_PERIODS + 2)]
        assert await code_of(service.per_hour(ADA, NOON, NOON)) == "bad_period"
        assert await code_of(service.per_hour(ADA, NOON, NOON + 63 * DAY)) == "bad_period"
        assert await code_of(service.per_period(ADA, hours)) == "bad_period"
        assert await code_of(service.per_period(ADA, [NOON, NOON + HOUR, NOON + HOUR])) == "bad_period"
        assert await code_of(service.list(ADA, NOON.replace(tzinfo=None), NOON)) == "naive_instant"
        assert await code_of(service.list(ADA, NOON, NOON + HOUR, 0)) == "bad_number"


# --- cache -----------------------------------------------------------------------------------------------------------


async def test_numbers_are_cached_and_follow_writes_of_this_process_sooner() -> None:
    async with open_harness() as harness:

        async def counted() -> PlannedCounts:
            return await harness.service.planned.per_hour(ADA, NOON, NOON + 3 * HOUR)

        await harness.add("in 1h")
        first = await counted()
        harness.advance(timedelta(seconds=CACHED_SECONDS) - SECOND)
        assert await counted() is first
        await harness.add("in 1h")
        second = await counted()
        assert (first.total, second.total) == (1, 2), "what is older than a moment is read again after a write"
        await harness.add("in 1h")
        assert await counted() is second, "a storm of writes does not read more often"
        harness.advance(timedelta(seconds=CACHED_SECONDS_AFTER_WRITE))
        third = await counted()
        assert third.total == 3
        harness.advance(timedelta(seconds=CACHED_SECONDS))
        assert await counted() is not third
