"""Idle runs: which of them are asked to yield, and the records of that."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from horae.lifecycle.control.edit import edit
from horae.lifecycle.lanes.idle import declare_idle, request_yields, yield_kind
from horae.model.change import Change, Facts
from horae.model.entry import Entry, EntryState
from horae.model.events.event import EventKind
from horae.model.lanes.idle import (
    IDLE_RUNS_KIND,
    YIELD_REQUEST_KIND,
    IdleRun,
    Waiter,
    YieldKind,
    YieldReason,
    YieldRequest,
    describe_yield,
    idle_run_of,
    idle_runs_of,
    record_writes,
    yield_request_of,
)
from horae.model.lanes.lane import LaneUse
from horae.model.policy import Policies
from horae.model.run import Run
from horae.model.task import NEW_TASK_STATUS
from horae.testing.factories import NOON, a_node, a_run, a_task, an_entry

IDLE = IdleRun("press", "run_1", "tsk_1", "ada", 3, a_node().id, NOON)
ASKED = IDLE._replace(yield_kind=YieldKind.OTHER_OWNER)


@pytest.mark.parametrize(
    ("waiter", "expected"),
    [
        (Waiter("ada", 3), None),
        (Waiter("ada", 2), None),
        (Waiter("ada", 4), YieldKind.HIGHER_PRIORITY),
        (Waiter("bob", 0), YieldKind.OTHER_OWNER),
        (Waiter("bob", 4), YieldKind.HIGHER_PRIORITY),
    ],
)
def test_an_idle_run_yields_to_a_higher_priority_or_another_owner(waiter: Waiter, expected: YieldKind | None) -> None:
    assert yield_kind(IDLE, waiter) is expected


def _facts(owner: str, *lanes: LaneUse) -> Facts:
    return Facts(a_task(owner=owner, lane="press"), NEW_TASK_STATUS, lanes=lanes)


def _parked(facts: Facts, lane: str | None = "press") -> Entry:
    return an_entry(facts.task, state=EntryState.PARKED, lane=lane)


def test_an_entry_that_is_parked_asks_the_idle_runs_of_its_lane_once() -> None:
    facts = _facts("bob", LaneUse("press", 3, 3, idle=(IDLE, ASKED._replace(run_id="run_2"))))
    change = request_yields(facts, Change(put=(_parked(facts),)), NOON)
    assert change.idle_runs == (ASKED,)
    (event,) = change.events
    assert (event.kind, event.owner, event.task_id, event.run_id) == (
        EventKind.RUN_YIELD_REQUESTED,
        "ada",
        "tsk_1",
        "run_1",
    )
    assert event.detail == "other_owner: press"


def test_an_entry_that_is_not_parked_in_the_lane_asks_no_run() -> None:
    facts = _facts("bob", LaneUse("press", 1, 1, idle=(IDLE,)), LaneUse("oven", 1, 1))
    for entry in (_parked(facts, "oven"), _parked(facts, None), an_entry(facts.task, lane="press")):
        change = Change(put=(entry,))
        assert request_yields(facts, change, NOON) is change
    without = facts._replace(lanes=(LaneUse("press", 1, 1),))
    change = Change(put=(_parked(facts),))
    assert request_yields(without, change, NOON) is change


def test_a_raised_priority_asks_the_idle_runs() -> None:
    facts = _facts("ada", LaneUse("press", 1, 1, idle=(IDLE,)))
    facts = facts._replace(entries=(_parked(facts),))
    edited = facts.task._replace(policies=Policies(priority=9))
    change = edit(facts, edited, NOON)
    assert [run.yield_kind for run in change.idle_runs] == [YieldKind.HIGHER_PRIORITY]


def test_a_run_is_idle_in_all_its_lanes_and_asked_where_an_entry_waits() -> None:
    task = a_task(owner="ada", priority=1)
    run: Run = a_run(task)._replace(lanes=("press", "oven", "attic"), node=None)
    waiting = {"oven": [Waiter("bob", 0), Waiter("ada", 2)], "attic": [Waiter("ada", 1)]}
    change = declare_idle(Facts(task, NEW_TASK_STATUS), run, NOON, waiting)
    assert [(each.lane, each.place, each.yield_kind) for each in change.idle_runs] == [
        ("press", 0, None),
        ("oven", 1, YieldKind.HIGHER_PRIORITY),
        ("attic", 2, None),
    ]
    assert [event.detail for event in change.events] == ["higher_priority: oven"]
    assert {each.node for each in change.idle_runs} == {""}


def test_records_of_idle_runs_are_written_replaced_and_dropped() -> None:
    (written,) = record_writes("press", None, {}, {"run_1": IDLE})
    assert (written.record.kind, written.record.key, written.replacing) == (IDLE_RUNS_KIND, "press", None)
    assert idle_runs_of(written.record) == (IDLE,)
    assert idle_runs_of(None) == ()
    request, replaced = record_writes("press", 1, {"run_1": IDLE}, {"run_1": ASKED})
    assert request.record.kind == YIELD_REQUEST_KIND
    assert yield_request_of(json.loads(request.record.body)) == YieldRequest(
        "run_1", NOON, YieldReason(YieldKind.OTHER_OWNER, "press")
    )
    assert idle_runs_of(replaced.record) == (ASKED,)
    dropped = record_writes("press", 2, {"run_1": ASKED}, {})
    assert [(each.record.kind, each.replacing, each.dropped) for each in dropped] == [
        (YIELD_REQUEST_KIND, 1, True),
        (IDLE_RUNS_KIND, 2, True),
    ]
    assert record_writes("press", None, {}, {}) == []


def test_reason_to_yield_names_the_lane() -> None:
    assert str(YieldReason(YieldKind.NODE_STOPPING)) == "node_stopping"
    assert str(ASKED.yield_reason) == "other_owner: press"
    assert IDLE.yield_reason is None
    assert IDLE.since + timedelta(0) == NOON


def test_idle_state_of_a_run_comes_from_the_records_of_its_lanes() -> None:
    records = [
        record_writes("press", None, {}, {"run_1": IDLE, "run_2": IDLE._replace(run_id="run_2")})[-1].record,
        record_writes("oven", None, {}, {"run_1": ASKED._replace(lane="oven", place=1)})[-1].record,
        None,
    ]
    asked = idle_run_of("run_1", records)
    assert asked is not None
    assert asked.yield_reason == YieldReason(YieldKind.OTHER_OWNER, "oven")
    assert idle_run_of("run_2", records) == IDLE._replace(run_id="run_2")
    assert idle_run_of("run_3", records) is None


@pytest.mark.parametrize("kind", YieldKind)
def test_reasons_to_yield_are_described_in_both_languages(kind: YieldKind) -> None:
    reason = YieldReason(kind, None if kind is YieldKind.NODE_STOPPING else "press")
    english, chinese = describe_yield(reason), describe_yield(reason, "zh")
    assert english.startswith("asked to yield: ")
    assert chinese.startswith("已请求让出：")
    assert ("press" in english, "press" in chinese) == (reason.lane is not None,) * 2
