"""Contract of plans, and of other tasks that began elsewhere: born with a past, skipped and counted, retried until they fail, reset; on every store the same."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from .....lifecycle.fire import fire
from .....lifecycle.plan import Draft, plan
from .....lifecycle.plans.rules import PlanStatus, begin_plan, plan_status, reset_plan
from .....lifecycle.settle import settle
from .....lifecycle.start import ClaimContext
from .....model.change import Change, Facts
from .....model.entry import Entry
from .....model.outcome import Failed, Outcome, Settlement, Succeeded
from .....model.plans.codes import PlanState, Status
from .....model.plans.plan import (
    Plan,
    encode_plan,
    past_of_plan,
    plan_of,
    policies_of,
    read_plan,
    received_at,
    schedule_of,
    skips_of,
)
from .....model.policy import Policies
from .....model.reason import Reason
from .....model.run import Run, Span
from .....model.task import Target, TaskPast, TaskState
from .....ports.full_store import FullStore
from .....ports.store import DEFAULT_TERMS, RunFilter
from .....schedule import Every
from ....factories import HOUR, NODE, NOON, a_node
from ..contract import Contract

_TASK_ID = "tsk_019ca9450a0000000000000000000001"
_FIELDS: dict[str, Any] = {"station": "api", "plan_type": "minute", "plan_value": 1, "plan_repet": 3, "command": "run"}
_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)


async def _add(store: FullStore, **fields: Any) -> Plan:
    read, progress = read_plan(_FIELDS | fields, 255)
    chosen = received_at(read, NOON)
    schedule = schedule_of(chosen)
    past = past_of_plan(chosen, schedule, NOON, progress.real_repet)
    payload, target = encode_plan(chosen), Target("event", "{}")
    draft = Draft("ada", chosen.title, schedule, target, payload, policies_of(chosen), chosen.key, past=past)
    await store.add([begin_plan(plan(draft, _TASK_ID, NOON), chosen, skips_of(chosen), NOON)])
    await store.join(a_node())
    return chosen


async def _claim(store: FullStore, now: datetime) -> list[Run]:
    claim = ClaimContext(NODE, now, DEFAULT_TERMS.poll_ceiling)

    def decide(facts: Facts, entry: Entry, token: int) -> Change:
        return fire(facts, entry, token, claim)

    return [each.run for each in (await store.claim_due(now, NODE, 100, decide)).runs]


async def _execute(store: FullStore, now: datetime, outcome: Outcome) -> Run:
    (run,) = await _claim(store, now)
    assert await store.settle([Settlement(run.id, run.token, outcome, run.started, now)], settle) == frozenset()
    return run


async def _status(store: FullStore, now: datetime) -> PlanStatus:
    facts = await store.facts(_TASK_ID, "ada")
    assert facts is not None
    found = plan_of(facts.task)
    assert found is not None
    runs = (await store.outcomes([_TASK_ID], 100)).get(_TASK_ID, ())
    return plan_status(found, facts, runs, now)


class PlansContract(Contract):
    async def test_a_task_that_began_elsewhere_goes_on_where_it_was(self, store: FullStore) -> None:
        past = TaskPast(NOON - 6 * HOUR, 3, NOON - 3 * HOUR, NOON - 2.5 * HOUR)
        schedule = Every(interval=HOUR, repeat=5)
        draft = Draft("ada", "hourly", schedule, Target("event", "{}"), "{}", Policies(), past=past)
        await store.add([plan(draft, _TASK_ID, NOON)])
        await store.join(a_node())
        facts = await store.facts(_TASK_ID, "ada")
        assert facts is not None
        assert (facts.task.created, facts.status.counted, facts.status.last_end) == past[:3]
        run = await _execute(store, NOON + _SECOND, Succeeded())
        assert run.planned == NOON
        rows = (await store.runs(RunFilter(task_id=_TASK_ID))).items
        assert [row.span for row in rows if row.reason is Reason.MERGED] == [Span(NOON - 2 * HOUR, NOON - HOUR, 2)]
        assert (await _execute(store, NOON + HOUR, Succeeded())).planned == NOON + HOUR
        facts = await store.facts(_TASK_ID, "ada")
        assert facts is not None
        assert (facts.status.state, facts.entries) == (TaskState.COMPLETED, ())

    async def test_instants_before_the_receipt_of_a_plan_are_skipped_and_counted(self, store: FullStore) -> None:
        await _add(store, plan_time=int(NOON.timestamp()) - 90)
        status = await _status(store, NOON)
        assert status[:4] == (PlanState.QUEUED, 1, 0, 1)
        assert await _claim(store, NOON) == []
        await _execute(store, NOON + _MINUTE / 2, Succeeded())
        assert (await _status(store, NOON + _MINUTE))[:2] == (PlanState.QUEUED, 2)

    async def test_a_plan_whose_last_instant_is_over_is_closed_at_once(self, store: FullStore) -> None:
        await _add(store, plan_time=int(NOON.timestamp()) - 9_000)
        assert (await _status(store, NOON))[:4] == (PlanState.CLOSED, 3, 0, 3)
        assert await store.next_due() is None

    async def test_a_plan_catches_up_one_by_one(self, store: FullStore) -> None:
        await _add(store, plan_time=int(NOON.timestamp()) - 9_000, no_keep=True)
        planned = [(await _execute(store, NOON + number * _SECOND, Succeeded())).planned for number in range(3)]
        assert planned == [NOON - timedelta(seconds=9_000) + number * _MINUTE for number in (1, 2, 3)]
        assert (await _status(store, NOON + _MINUTE))[:2] == (PlanState.CLOSED, 3)

    async def test_a_plan_skips_all_and_counts(self, store: FullStore) -> None:
        await _add(store, skip_set=-1)
        for number in (1, 2):
            assert await _claim(store, NOON + number * _MINUTE) == []
        assert (await _status(store, NOON + 2 * _MINUTE))[:4] == (PlanState.SKIPPING, 2, -1, 2)

    async def test_a_plan_fails_after_three_retries_and_is_reset(self, store: FullStore) -> None:
        chosen = await _add(store, plan_repet=-1)
        now = NOON + _MINUTE
        runs = [await _execute(store, now + number * _SECOND, Failed("no")) for number in range(4)]
        now += 4 * _SECOND
        assert (await _status(store, now))[:4] == (PlanState.ERROR, 0, -2, 3)
        last = await store.run(runs[-1].id, "ada")
        await store.change(_TASK_ID, "ada", lambda facts: reset_plan(facts, chosen, last, now))
        assert (await _execute(store, now, Succeeded())).planned == NOON + _MINUTE
        status = await _status(store, now)
        assert (status.state, status.real_repet, status.last_state) == (PlanState.QUEUED, 1, Status.OK)
