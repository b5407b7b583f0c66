"""Events of results: one for each execution by a station that has ended, and none for anything else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from horae.lifecycle.plans.results import with_result_event
from horae.lifecycle.settle import settle
from horae.model.change import Change, Facts, OrdinarySuccess
from horae.model.events.event import EventKind
from horae.model.outcome import Failed, Outcome, Skipped, Succeeded, TimedOut, Waiting
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.model.task import NEW_TASK_STATUS, Target, Task
from horae.schedule import Every
from horae.testing.factories import NOON, a_run, a_settlement, a_task

STATION = Target("station", '{"station":"orders","command":"pack"}')


def settled(outcome: Outcome, task: Task) -> Change:
    run = a_run(task, state=RunState.RUNNING, started=NOON)
    facts = Facts(task, NEW_TASK_STATUS, live=(run,))
    return settle(facts, run, a_settlement(run, outcome=outcome))


def details(outcome: Outcome, target: Target = STATION) -> list[str | None]:
    change = settled(outcome, a_task(target=target, schedule=Every(timedelta(hours=1))))
    return [each.detail for each in change.events if each.kind is EventKind.PLAN_RESULT]


def test_each_settled_execution_has_one_event_with_its_status() -> None:
    """「执行结果将进行广播」"""
    assert details(Succeeded("1")) == ["ok"]
    assert details(Skipped("no")) == ["failed"]
    assert details(TimedOut()) == ["timeout"]
    assert details(Failed("x", reason=Reason.NO_WORKER)) == ["no_worker"]
    assert details(Failed("x", permanent=True)) == ["error"]


def test_event_is_the_last_one_of_a_plain_change() -> None:
    task = a_task(target=STATION, schedule=Every(timedelta(hours=1)))
    change = settled(Succeeded("1"), task)
    assert change.__class__ is Change
    assert change.events[-1].kind is EventKind.PLAN_RESULT
    assert settled(Succeeded("1"), task._replace(target=Target("event", "{}"))).__class__ is OrdinarySuccess


def test_other_targets_and_runs_that_go_on_have_none() -> None:
    assert details(Succeeded("1"), Target("event", "{}")) == []
    assert details(Waiting(NOON + timedelta(hours=1))) == []


def test_run_that_never_started_and_a_check_of_the_gate_have_none() -> None:
    facts = Facts(a_task(target=STATION), NEW_TASK_STATUS)
    for run in (_ended(started=None), _ended(reason=Reason.GATE_CHECKED)):
        assert with_result_event(facts, run, Change(updated_runs=(run,)), NOON) == Change(updated_runs=(run,))


def _ended(**fields: Any) -> Run:
    return a_run(a_task(target=STATION), state=RunState.SUCCEEDED, **fields)
