"""The fast path of start and settle equals the general path in every lifecycle, and is taken."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from horae.lifecycle.batch import ClaimDecision, SettlementDecision
from horae.lifecycle.fast_path import fast_claim, fast_settlement
from horae.lifecycle.fire import fire, fire_by_rules
from horae.lifecycle.settle import settle, settle_by_rules
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change, Facts, OrdinaryStart, OrdinarySuccess
from horae.model.entry import Entry, EntryKind, EntryState
from horae.model.events.event import EventKind
from horae.model.inputs.run_input import RunInput
from horae.model.origin import ChainPlace
from horae.model.outcome import Settlement, Succeeded
from horae.model.plans.plan import STATION_TARGET
from horae.model.run import Origin, Run, RunState, Span
from horae.model.task import NEW_TASK_STATUS, Target, TaskState
from horae.schedule import Cron, Every, Now, Once
from horae.stores.codec.rows import encode_entry
from horae.stores.start_classes import StartClasses
from horae.stores.task_cache import CachedTask
from horae.testing.factories import a_run, a_settlement, a_task, an_entry
from tests.unit.lifecycle import task_world as worlds
from tests.unit.lifecycle.task_steps import Chosen, Step, live
from tests.unit.lifecycle.task_strategies import chosen, steps
from tests.unit.lifecycle.task_world import HOUR, MINUTE, NOON, World

taken: Counter[str] = Counter()


def claim_both_ways(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    short, long = fast_claim(facts, entry, token, claim), fire_by_rules(facts, entry, token, claim)
    check_member(facts, entry, token, claim, short)
    if short is not None:
        taken["claim"] += 1
        assert short == long
        if short.__class__ is OrdinaryStart:
            check_ordinary_start(facts, entry, short)
    return long


def check_member(facts: Facts, entry: Entry, token: int, claim: ClaimContext, short: Change | None) -> None:
    """A class that was decided by another task and other instants gives the change of the single decision."""
    decision, task = ClaimDecision(claim), facts.task
    another = entry._replace(task_id="tsk_another", planned=entry.planned + HOUR, due=entry.due - HOUR)
    found = decision.start_class(task.owner, task.target, task.policies, another, token)
    assert found == decision.start_class(task.owner, task.target, task.policies, entry, token)
    is_single = not (facts.lanes or facts.live or facts.block_reason) and facts.entries == (entry,)
    if found is None or not is_single:
        assert not (is_single and short.__class__ is OrdinaryStart)
        return
    start = decision.start_member(found, task, facts.status, entry.planned, entry.due)
    if start is None:
        assert short is None
        return
    taken["class"] += 1
    assert short.__class__ is OrdinaryStart
    assert short is not None
    put = () if start.following is None else (start.following,)
    assert (short.new_runs, short.status, short.put) == ((start.run,), start.status, put)
    assert decision(facts, entry, token) == short


def check_ordinary_start(facts: Facts, entry: Entry, change: Change) -> None:
    """What stores rely on when they write a tagged start."""
    (run,) = change.new_runs
    defaults = Run(*run[:7], run.state)
    assert run == defaults._replace(token=run.token, node=run.node, claimed=run.claimed, started=run.started)
    assert run.live
    assert change.status == facts.status._replace(counted=facts.status.counted + 1)
    assert (facts.entries, facts.live, facts.lanes, facts.block_reason) == ((entry,), (), (), None)
    assert entry.lane is None
    if change.put:
        (following,) = change.put
        assert following == entry._replace(due=following.due, planned=following.planned, state=EntryState.TIMED)
    assert change.dropped == (() if change.put else (entry.slot,))
    assert change.events == ((EventKind.RUN_STARTED, run.claimed, run.owner, facts.task.id, run.id, None),)
    assert change == Change(None, change.status, (run,), put=change.put, dropped=change.dropped, events=change.events)


def check_ordinary_success(facts: Facts, run: Run, change: Change) -> None:
    """What stores rely on when they write a tagged success."""
    (ended,) = change.updated_runs
    assert ended.started is not None
    assert ended == run._replace(
        state=RunState.SUCCEEDED, started=ended.started, ended=ended.ended, deadline=None, result_json=ended.result_json
    )
    assert (facts.live, run.lanes, run.error, run.reason) == ((run,), (), None, None)
    assert change.status is not None
    state = TaskState.ACTIVE if facts.entries else TaskState.COMPLETED
    end = facts.status.ended if facts.entries else ended.ended
    summary = change.status.last_result
    assert change.status == facts.status._replace(
        state=state, failures=0, last_end=ended.ended, last_result=summary, ended=end
    )
    kinds = [EventKind.RUN_SUCCEEDED] if facts.entries else [EventKind.RUN_SUCCEEDED, EventKind.TASK_COMPLETED]
    assert [(event.kind, event.at, event.detail) for event in change.events] == [(k, ended.ended, None) for k in kinds]
    assert change == Change(None, change.status, updated_runs=(ended,), events=change.events)


def settle_both_ways(facts: Facts, run: Run, report: Settlement) -> Change:
    short, long = fast_settlement(facts, run, report), settle_by_rules(facts, run, report)
    decision = SettlementDecision()
    success = decision.success(facts.task, facts.status, facts.entries, facts.live, run, report)
    assert (success is None) is (short.__class__ is not OrdinarySuccess)
    if success is not None and short is not None:
        (ended,) = short.updated_runs
        assert success == (ended.started, ended.ended, ended.result_json, short.status)
        assert decision(facts, run, report) == short
    if short is not None:
        taken["settle"] += 1
        assert short == long
        if short.__class__ is OrdinarySuccess:
            check_ordinary_success(facts, run, short)
    return long


@pytest.fixture(autouse=True)
def both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "fire", claim_both_ways)
    monkeypatch.setattr(worlds, "settle", settle_both_ways)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen, st.lists(st.tuples(steps, chosen), max_size=40))
def test_fast_path_equals_the_general_path(first: Chosen, happening: list[tuple[Step, Chosen]]) -> None:
    live(first, happening)


@pytest.mark.parametrize(
    "schedule",
    [Once(at=NOON + MINUTE), Now(), Every(interval=HOUR), Cron(expression="5 * * * *", zone="UTC")],
    ids=["once", "now", "every", "cron"],
)
def test_single_successful_run_takes_the_fast_path(schedule: Once | Now | Every | Cron) -> None:
    taken.clear()
    world = World(schedule)
    (entry,) = world.entries.values()
    world.now = entry.due + timedelta(milliseconds=3)
    world.claim()
    world.settle(Succeeded('"done"'))
    assert set(taken) == {"claim", "class", "settle"}


CLAIM = ClaimContext("node-1", NOON, MINUTE)
ANOTHER: dict[str, Any] = {
    "task_id": "tsk_another",
    "slot": "retry",
    "kind": EntryKind.RETRY,
    "due": NOON - HOUR,
    "planned": NOON - MINUTE,
    "owner": "bob",
    "priority": 7,
    "state": EntryState.PARKED,
    "origin": Origin.MANUAL,
    "attempt": 2,
    "forgiven": 1,
    "deaths": 2,
    "through": NOON,
    "span": Span(NOON - HOUR, NOON, 2),
    "waited": True,
    "in_order": True,
    "lane": "kitchen",
    "run_id": "run_1",
    "input": RunInput("merge", "{}"),
    "chain": ChainPlace(None),
    "reparks": 3,
}


def test_ordinary_changes_are_tagged_and_a_copy_is_not() -> None:
    task = a_task()
    entry = an_entry(task)
    start = fast_claim(Facts(task, NEW_TASK_STATUS, (entry,)), entry, 1, CLAIM)
    assert start.__class__ is OrdinaryStart
    assert start is not None
    assert start.status is not None
    (run,) = start.new_runs
    success = fast_settlement(Facts(task, start.status, start.put, (run,)), run, a_settlement(run))
    assert success.__class__ is OrdinarySuccess
    assert success is not None
    for change in (start, success):
        copy = change._replace(events=())
        assert copy.__class__ is Change
        assert copy == (*change[:7], (), *change[8:])
        assert change._replace() == change


@pytest.mark.parametrize(
    "more",
    [
        {"lane": "kitchen"},
        {"priority": 7},
        {"owner": "bob"},
        {"deaths": 1},
        {"forgiven": 1},
        {"in_order": True},
        {"span": Span(NOON - HOUR, NOON, 2)},
    ],
)
def test_entry_that_says_more_starts_without_the_tag(more: dict[str, Any]) -> None:
    task = a_task()
    entry = an_entry(task)._replace(**more)
    change = fast_claim(Facts(task, NEW_TASK_STATUS, (entry,)), entry, 1, CLAIM)
    assert change.__class__ is Change


def test_success_of_a_station_is_decided_with_the_event_of_its_result() -> None:
    for kind, is_plain in (("function", True), (STATION_TARGET, False)):
        task = a_task(target=Target(kind, "{}"))
        run = a_run(task)
        report = a_settlement(run)
        assert (SettlementDecision().success(task, NEW_TASK_STATUS, (), (run,), run, report) is not None) is is_plain
        change = settle(Facts(task, NEW_TASK_STATUS, (), (run,)), run, report)
        assert (EventKind.PLAN_RESULT in {each.kind for each in change.events}) is not is_plain
        assert (change.__class__ is OrdinarySuccess) is is_plain


@pytest.mark.parametrize("more", [{"lanes": ("kitchen",)}, {"started": None}])
def test_run_in_a_lane_succeeds_without_the_tag(more: dict[str, Any]) -> None:
    task = a_task()
    run = a_run(task)._replace(**more)
    report = a_settlement(run)
    change = fast_settlement(Facts(task, NEW_TASK_STATUS, (), (run,)), run, report)
    assert change.__class__ is Change
    assert change == settle_by_rules(Facts(task, NEW_TASK_STATUS, (), (run,)), run, report)


def test_a_task_that_the_node_cannot_run_has_no_class() -> None:
    task = a_task()
    entry = an_entry(task)
    nowhere = ClaimDecision(CLAIM._replace(routes=frozenset()))
    assert nowhere.start_class(task.owner, task.target, task.policies, entry, 1) is None
    assert ClaimDecision(CLAIM).start_class(task.owner, task.target, task.policies, entry, 1) is not None
    other = an_entry(task, priority=7)
    assert ClaimDecision(CLAIM).start_class(task.owner, task.target, task.policies, other, 1) is None


def test_a_claim_decision_calls_the_given_one_for_single_entries() -> None:
    task = a_task()
    entry = an_entry(task)
    expected = Change(dropped=("x",))
    assert ClaimDecision(CLAIM, lambda *_: expected)(Facts(task, NEW_TASK_STATUS, (entry,)), entry, 1) is expected


@pytest.mark.parametrize("field", Entry._fields)
def test_every_field_of_an_entry_is_in_the_class_or_a_member_decides_by_it(field: str) -> None:
    """Entries of one class differ in no column but those of task and instants: a class of another entry is never used."""
    task = a_task()
    entry, other = an_entry(task), an_entry(task, **{field: ANOTHER[field]})
    rows = [(*encode_entry(1, each), 1) for each in (entry, other)]
    known = CachedTask(1, 1, task, NEW_TASK_STATUS)
    classes = StartClasses(ClaimDecision(CLAIM), 1)
    for each, row in zip((entry, other), rows, strict=True):
        start = classes.decide(row, known)
        single = fire(Facts(task, NEW_TASK_STATUS, (each,)), each, 1, CLAIM)
        assert start is None or (single.new_runs, single.status) == ((start.run,), start.status)
        assert start is not None or each is other
