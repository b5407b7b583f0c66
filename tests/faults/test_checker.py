"""Rules of the checker: a correct history is clean, and each violation is reported by its code."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

import pytest

from tests.faults.checker import Case, find_violations
from tests.faults.ledger import Mark
from tests.faults.oracle import Due
from tests.faults.store_snapshot import Row, Snapshot

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)
Broken: TypeAlias = Callable[[Case], Case]


def row(run: str, planned: datetime, attempt: int, state: str, token: int) -> Row:
    reason = None if state == "succeeded" else "lease_lost"
    at = planned + attempt * SECOND / 4
    return Row("tsk", run, planned, attempt, state, reason, token, at, at, at + SECOND / 8, None)


def mark(run: str, planned: datetime, attempt: int) -> Mark:
    return Mark("tsk", f"key {planned}", planned, attempt, run, 1, planned + attempt * SECOND / 4, "effect")


def correct_case() -> Case:
    """Three instants: one succeeded, one was lost and repeated, one was skipped."""
    first, second, third = NOON, NOON + SECOND, NOON + 2 * SECOND
    skipped = Row("tsk", "skip", third, 1, "skipped", "overlap", 0, None, None, third, (third, third, 1))
    rows = (
        row("a", first, 1, "succeeded", 1),
        row("b1", second, 1, "lost", 2),
        row("b2", second, 2, "succeeded", 3),
        skipped,
    )
    events = tuple((each.run, f"run.{each.state}") for each in rows)
    marks = (mark("a", first, 1), mark("b1", second, 1), mark("b2", second, 2))
    return Case((Due("tsk", (first, second, third)),), marks, Snapshot(rows, events))


def with_row(run: str, **changes: object) -> Broken:
    """Change fields of the row of that run."""

    def broken(case: Case) -> Case:
        rows = tuple(each._replace(**changes) if each.run == run else each for each in case.snapshot.rows)  # type: ignore[arg-type]
        return case._replace(snapshot=case.snapshot._replace(rows=rows))

    return broken


def with_mark(of: str, **changes: object) -> Broken:
    def broken(case: Case) -> Case:
        marks = tuple(each._replace(**changes) if each.run == of else each for each in case.marks)  # type: ignore[arg-type]
        return case._replace(marks=marks)

    return broken


def with_due(**changes: object) -> Broken:
    return lambda case: case._replace(due=(case.due[0]._replace(**changes),))  # type: ignore[arg-type]


def without_row(case: Case) -> Case:
    return case._replace(snapshot=case.snapshot._replace(rows=case.snapshot.rows[:3]))


def without_retry(case: Case) -> Case:
    rows, marks = case.snapshot.rows, case.marks
    return case._replace(snapshot=case.snapshot._replace(rows=(*rows[:2], rows[3])), marks=marks[:2])


def with_another_mark(case: Case) -> Case:
    return case._replace(marks=(*case.marks, case.marks[0]))


def with_a_second_end(case: Case) -> Case:
    events = (*case.snapshot.events, ("b1", "run.succeeded"))
    return case._replace(snapshot=case.snapshot._replace(events=events))


def words(case: Case) -> set[str]:
    return {sentence.partition(":")[0] for sentence in find_violations(*case)}


def test_correct_history_has_no_violations() -> None:
    assert find_violations(*correct_case()) == []


@pytest.mark.parametrize(
    ("broken", "word"),
    [
        (without_row, "lost"),
        (with_row("skip", span=(NOON, NOON + 2 * SECOND, 3)), "twice"),
        (with_row("skip", span=(NOON + 2 * SECOND, NOON + 2 * SECOND, 2)), "miscounted"),
        (with_row("skip", planned=NOON + SECOND / 2, span=None), "invented"),
        (with_row("a", state="running"), "unended"),
        (with_row("skip", reason=None), "unexplained"),
        (without_retry, "dropped"),
        (with_due(must_run=True), "undone"),
        (with_due(at_most_once=True), "repeated"),
        (with_mark("a", phase="start"), "hollow"),
        (with_mark("a", run="c"), "unrecorded"),
        (with_another_mark, "repeated"),
        (with_row("b1", state="succeeded"), "repeated"),
        (with_row("b2", claimed=NOON + SECOND), "two at once"),
        (with_mark("b2", key="another"), "key"),
        (with_mark("a", key=f"key {NOON + SECOND}"), "key"),
        (with_mark("a", instant=NOON - SECOND), "early"),
        (with_a_second_end, "stale"),
        (with_row("b2", token=2), "stale"),
    ],
)
def test_each_violation_is_reported_by_its_code(broken: Broken, word: str) -> None:
    assert word in words(broken(correct_case()))
