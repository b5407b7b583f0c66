"""Stored runs for the console: tasks with runs in every state, written to the store directly."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from horae.clock import SystemClock
from horae.model.inputs.run_input import RunInput
from horae.model.reason import Reason
from horae.model.run import Origin, Run, RunState, Span
from horae.model.task import Task
from horae.testing.factories import MINUTE, SECOND, a_new_task, a_run, a_task, an_ended_run, an_entry
from tests.console.console_server import Console

HOSTILE_NAME: Final = "<script>alert(1)</script> \u202egnp.exe & " + "很长的任务名称" * 12
HOSTILE_ERROR: Final = "\x1b[31mdisk <b>full</b>\x1b[0m \u202e=cmd|'/c calc'!A1\nTraceback: line 2"


def moment(minutes: float = 0) -> datetime:
    """Return so many minutes ago."""
    return SystemClock().now().replace(microsecond=0) - minutes * MINUTE


async def add_runs(console: Console, task: Task, *runs: Run) -> None:
    entry = an_entry(task, due=moment(-60))
    await console.service.store.add([a_new_task(task, entries=[entry], runs=runs)])


def make_failed_run(task: Task, minutes: float, error: str | None = "HTTP 503 from api", **fields: Any) -> Run:
    planned = moment(minutes)
    ended = {"started": planned + 18 * timedelta(milliseconds=1), "ended": planned + SECOND}
    values = {"state": RunState.FAILED, "reason": Reason.TARGET_FAILED, "error": error, **ended, **fields}
    return an_ended_run(task, planned=planned, **values)


def retried_occurrence(task: Task, minutes: float = 30) -> tuple[Run, ...]:
    """Three attempts at one occurrence: lost, timed out and succeeded."""
    planned = moment(minutes)

    def attempt(number: int, begin: float, end: float, state: RunState, **fields: Any) -> Run:
        times = {"started": planned + begin * SECOND, "ended": planned + end * SECOND}
        return an_ended_run(task, planned=planned, attempt=number, state=state, **times, **fields)

    return (
        attempt(1, 0.018, 30, RunState.LOST, reason=Reason.LEASE_LOST, forgiven=0),
        attempt(2, 45, 55.5, RunState.TIMED_OUT, reason=Reason.DEADLINE, forgiven=1, error="no answer in 10 s"),
        attempt(3, 75, 75.64, RunState.SUCCEEDED, forgiven=1, result_json='{"rows": 7, "text": "\u202e完成"}'),
    )


async def add_every_state(console: Console, owner: str = "ada") -> dict[str, Run]:
    """Add one run of each state, with long and hostile texts; return them by a word."""
    plain = a_task(owner=owner, name="morning report", lane=f"{owner}/press")
    hostile = a_task(owner=owner, name=HOSTILE_NAME, payload='{"to": "ada", "text": "' + "x" * 70_000 + '"}')
    planned = moment(50)
    runs = {
        "running": a_run(plain, planned=moment(1), lanes=("press",)),
        "succeeded": an_ended_run(plain, planned=moment(40), result_json='"done"', lanes=(f"{owner}/press",)),
        "failed": make_failed_run(hostile, 20, HOSTILE_ERROR),
        "cancelled": an_ended_run(
            plain,
            planned=moment(21),
            origin=Origin.MANUAL,
            state=RunState.CANCELLED,
            reason=Reason.CANCELLED,
            input=RunInput("merge", '{"city": "Oslo"}'),
        ),
        "skipped": a_run(
            plain,
            planned=planned,
            state=RunState.SKIPPED,
            reason=Reason.MISSED_SKIPPED,
            started=None,
            node=None,
            claimed=None,
        )._replace(ended=planned + MINUTE, span=Span(planned - 9 * MINUTE, planned, 10)),
    }
    lost, timed_out, again = retried_occurrence(plain)
    runs |= {"lost": lost, "timed_out": timed_out, "again": again}
    mine = [run for run in runs.values() if run.task_id == plain.id]
    await add_runs(console, plain, *mine)
    await add_runs(console, hostile, runs["failed"])
    return runs


def drop_refusals(console: Console) -> None:
    """Forget that pages answered 422, which the browser reports: the test expected it."""
    console.problems[:] = [each for each in console.problems if "responded with a status of 422" not in each]
