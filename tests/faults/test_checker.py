"""Each rule of the checker, alone: an honest case is clean, and each way of breaking it has its word."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

import pytest

from tests.faults.checker import Case, faults_in
from tests.faults.evidence import Evidence, Row
from tests.faults.ledger import Mark
from tests.faults.oracle import Due

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)
Broken: TypeAlias = Callable[[Case], Case]


def row(run: str, planned: datetime, attempt: int, state: str, token: int) -> Row:
    reason = None if state == "succeeded" else "lease_lost"
    at = planned + attempt * SECOND / 4
    return Row("tsk", run, planned, attempt, state, reason, token, at, at, at + SECOND / 8, None)


def mark(run: str, planned: datetime, attempt: int) -> Mark:
    return Mark("tsk", f"key {planned}", planned, attempt, run, 1, planned + attempt * SECOND / 4, "effect")


def honest() -> Case:
    """Three instants: one went well, one was lost and done again, and one was skipped."""
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
    return Case((Due("tsk", (first, second, third)),), marks, Evidence(rows, events))


def with_row(run: str, **changes: object) -> Broken:
    """The row of that run with something else in it."""

    def broken(case: Case) -> Case:
        rows = tuple(each._replace(**changes) if each.run == run else each for each in case.evidence.rows)  # type: ignore[arg-type]
        return case._replace(evidence=case.evidence._replace(rows=rows))

    return broken


def with_mark(of: str, **changes: object) -> Broken:
    def broken(case: Case) -> Case:
        marks = tuple(each._replace(**changes) if each.run == of else each for each in case.marks)  # type: ignore[arg-type]
        return case._replace(marks=marks)

    return broken


def with_due(**changes: object) -> Broken:
    return lambda case: case._replace(due=(case.due[0]._replace(**changes),))  # type: ignore[arg-type]


def without_row(case: Case) -> Case:
    return case._replace(evidence=case.evidence._replace(rows=case.evidence.rows[:3]))


def without_retry(case: Case) -> Case:
    rows, marks = case.evidence.rows, case.marks
    return case._replace(evidence=case.evidence._replace(rows=(*rows[:2], rows[3])), marks=marks[:2])


def with_another_mark(case: Case) -> Case:
    return case._replace(marks=(*case.marks, case.marks[0]))


def with_a_second_end(case: Case) -> Case:
    events = (*case.evidence.events, ("b1", "run.succeeded"))
    return case._replace(evidence=case.evidence._replace(events=events))


def words(case: Case) -> set[str]:
    return {sentence.partition(":")[0] for sentence in faults_in(*case)}


def test_an_honest_case_is_clean() -> None:
    assert faults_in(*honest()) == []


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
def test_each_broken_promise_has_its_word(broken: Broken, word: str) -> None:
    assert word in words(broken(honest()))
