"""Failures: grouped by the shape of their error, bounded, and retried as a group."""

from __future__ import annotations

import pytest

from horae.model.outcome import Failed
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.ports.store import RunFilter
from horae.service.runs import failures
from horae.service.runs.failures import error_pattern, group_failures, newest_attempts, normalize_error
from horae.service.tasks.task_request import Options
from horae.testing.factories import HOUR, NOON, a_run, a_task, an_ended_run
from tests.unit.service.service_harness import ADA, BOB, ROOT, open_harness

NEVER_AGAIN = Failed("HTTP 503 from host 7", permanent=True)


@pytest.mark.parametrize(
    ("one", "other", "pattern"),
    [
        ("HTTP 503 after 812 ms", "HTTP 504 after 3.5 ms", "HTTP N after N ms"),
        ("key 'a' is missing", 'key "b c" is missing', "key '…' is missing"),
        ("object at 0x7f3a", "object at 0xdeadbeef", "object at HEX"),
        ("run run_0199f3a1b2 is gone", "run run_0000000000ff is gone", "run ID is gone"),
        ("no 3fa85f64-5717-4562-b3fc-2c963f66afa6", "no 12345678abcd", "no HEX"),
        ("GET https://a.example/x?y=1 failed", "GET http://b.example:80/ failed", "GET URL failed"),
        ("took 12345678 steps", "took 9 steps", "took N steps"),
    ],
)
def test_errors_that_differ_in_values_have_one_pattern(one: str, other: str, pattern: str) -> None:
    assert normalize_error(one) == normalize_error(other) == pattern


def test_words_are_compared() -> None:
    assert normalize_error("disk full") != normalize_error("disk gone")


def test_run_without_an_error_is_grouped_by_its_reason() -> None:
    lost = a_run(a_task(), state=RunState.LOST, reason=Reason.LEASE_LOST)
    assert error_pattern(lost) == "lease_lost"
    assert error_pattern(lost._replace(reason=None)) == "lost"
    assert error_pattern(lost._replace(error="\x1b[31m\nline 7\nmore")) == "line N"


def test_largest_group_comes_first_with_its_newest_run() -> None:
    task = a_task()
    runs = [an_ended_run(task, planned=NOON - number * HOUR, error=f"E{number % 3 // 2}") for number in range(9)]
    runs = [run._replace(error="rare" if number % 3 == 2 else f"often {number}") for number, run in enumerate(runs)]
    often, rare = group_failures(runs)
    assert (often.pattern, len(often.runs), often.newest) == ("often N", 6, runs[0])
    assert (rare.pattern, len(rare.runs), rare.newest) == ("rare", 3, runs[2])
    assert often.key != rare.key
    assert often.task_ids == (task.id,)


def test_newest_attempt_of_each_occurrence_is_chosen() -> None:
    task = a_task()
    runs = [an_ended_run(task, attempt=attempt) for attempt in (2, 3, 1)]
    runs.append(an_ended_run(task, planned=NOON + HOUR))
    assert newest_attempts(runs) == (runs[1], runs[3])


async def test_groups_hold_failures_of_the_filter_only() -> None:
    async with open_harness() as harness:
        await harness.add()
        failed = await harness.run_due(HOUR, NEVER_AGAIN)
        await harness.run_due(HOUR)
        found = await harness.service.failures.groups(ADA)
        assert [group.runs for group in found.groups] == [(failed,)]
        assert (found.total, found.is_cut) == (1, False)
        assert await harness.service.failures.groups(ROOT) == found
        succeeded = RunFilter(states=frozenset({RunState.SUCCEEDED}))
        for nothing in (RunFilter(since=failed.planned + HOUR), succeeded, RunFilter(owner="bob")):
            assert (await harness.service.failures.groups(ADA, nothing)).groups == ()
        assert (await harness.service.failures.groups(BOB)).groups == ()
        assert found.find(found.groups[0].key) == found.groups[0]
        assert found.find("unknown") is None
        summaries = await harness.service.failures.summaries(ADA)
        (one,) = summaries.items
        assert (one.newest, one.number, one.run_ids, one.task_ids) == (failed, 1, (failed.id,), (failed.task_id,))
        assert summaries == await harness.service.failures.summaries(ADA, key=one.key[:3])
        assert (await harness.service.failures.summaries(ADA, key="-")).groups == 0


async def test_only_the_newest_failures_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "MAX_FAILURES", 3)
    monkeypatch.setattr(failures, "MAX_PAGE_SIZE", 2)
    async with open_harness() as harness:
        await harness.add()
        runs = [await harness.run_due(HOUR, Failed(f"no {number}", permanent=True)) for number in range(5)]
        found = await harness.service.failures.groups(ADA)
        assert (found.total, found.is_cut) == (3, True)
        assert [run for group in found.groups for run in group.runs] == runs[:1:-1]


async def test_retry_of_a_group_reports_what_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        await harness.add(options=Options(retries=0))
        first, second = [await harness.run_due(HOUR, NEVER_AGAIN) for _ in range(2)]
        await harness.runs.retry(ADA, first.id)
        (again,) = await harness.claim()
        await harness.settle(again)
        report = await harness.service.failures.retry(ADA, [first.id, second.id, second.id])
        assert report.retried == (second.id,)
        assert [(each.run_id, each.error.code) for each in report.refused] == [(first.id, "nothing_to_retry")]
        (retried,) = await harness.claim()
        assert (retried.planned, retried.attempt) == (second.planned, 2)
        monkeypatch.setattr(failures, "MAX_RETRIES", 1)
        assert (await harness.service.failures.retry(ADA, [first.id, second.id])).left == 1


async def test_attempts_are_those_of_one_occurrence_in_order() -> None:
    async with open_harness() as harness:
        await harness.add(options=Options(retries=0))
        first = await harness.run_due(HOUR, NEVER_AGAIN)
        await harness.run_due(HOUR)
        await harness.runs.retry(ADA, first.id)
        (second,) = await harness.claim()
        for each in (first.id, second.id):
            assert [run.id for run in await harness.runs.attempts(ADA, each)] == [first.id, second.id]


async def test_names_of_tasks_leave_out_absent_and_foreign_ones() -> None:
    async with open_harness() as harness:
        mine, other = await harness.add(name="mine"), await harness.add(name="hers", who=BOB)
        ids = [mine.id, other.id, "tsk_000000000000"]
        assert await harness.tasks.names(ADA, ids) == {mine.id: "mine"}
        assert await harness.tasks.names(ROOT, ids) == {mine.id: "mine", other.id: "hers"}
        robot = await harness.make_member("ada", agent="robot")
        made = await harness.add(name="made", who=robot)
        assert await harness.tasks.names(robot, [*ids, made.id]) == {made.id: "made"}
