"""Contract of batches: a store that decides entries by their class, and successes by their parts, writes what it would write
after deciding one by one."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from .....lifecycle.batch import ClaimDecision, SettlementDecision
from .....lifecycle.control.control import cancel, pause
from .....lifecycle.fire import fire
from .....lifecycle.settle import settle
from .....lifecycle.start import ClaimContext
from .....model.change import Change, Facts, facts_after
from .....model.entry import EntryState
from .....model.lanes.lane import owner_lane
from .....model.outcome import Failed, Settlement, Succeeded
from .....model.policy import Missed, Policies, RetryPolicy
from .....model.reason import Reason
from .....model.run import Run, Span
from .....model.task import NEW_TASK_STATUS, Target, Task
from .....ports.full_store import FullStore
from .....ports.store import Claimed
from .....schedule import Cron, Every, Once
from ....decisions import always
from ....factories import HOUR, MINUTE, NODE, NOON, SECOND, a_new_task, a_node, a_task, an_entry, an_extra_entry
from ..contract import Contract
from ..setup import get_facts, get_run

_NOW = NOON + 3 * SECOND
_CLAIM = ClaimContext(NODE, _NOW, 10 * SECOND, frozenset({"function:garden.water"}))


def _once(due: datetime = NOON, **fields: Any) -> Task:
    return a_task(schedule=Once(at=due), **fields)


def _of_every_kind() -> list[Change]:
    """New tasks whose entries are due. Each begins with an ordinary one of its class, from which the others differ."""
    late, early = NOON - HOUR, NOON - 2 * HOUR
    policies = Policies(missed=Missed(within=MINUTE))
    tasks = [
        *(_once() for _ in range(3)),
        *(a_task() for _ in range(3)),
        a_task(schedule=Every(interval=MINUTE)),
        a_task(schedule=Every(interval=HOUR, repeat=3)),
        a_task(schedule=Every(interval=HOUR, jitter=SECOND)),
        a_task(schedule=Every(interval=HOUR, since="end")),
        a_task(schedule=Every(interval=SECOND)),
        a_task(schedule=Cron(expression="0 * * * *", zone="UTC")),
        _once(owner="bob"),
        _once(payload='{"row":1}'),
        _once(labels=(("team", "garden"),)),
        _once(target=Target("function", '{"name":"elsewhere"}')),
        _once(policies=Policies(guarantee="at_most_once")),
        _once(policies=Policies(priority=5)),
        _once(policies=Policies(overlap="queue", retry=RetryPolicy(1))),
        _once(policies=Policies(start_within=SECOND)),
        _once(policies=Policies(start_within=HOUR)),
    ]
    others: list[tuple[Task, dict[str, Any]]] = [
        *(
            (task, {"due": late, "planned": late})
            for task in (_once(late, created=early), _once(late, created=early, policies=policies), a_task())
        ),
        (_once(), {"due": NOON + 2 * SECOND}),
        (_once(), {"priority": -7}),
        (_once(), {"attempt": 3, "forgiven": 1}),
        (_once(), {"deaths": 2}),
        (_once(), {"in_order": True}),
        (_once(), {"waited": True}),
        (_once(), {"span": Span(NOON - HOUR, NOON, 2)}),
        (a_task(), {"waited": True, "due": late, "planned": late}),
    ]
    statuses: tuple[dict[str, Any], ...] = (
        {"counted": 5},
        {"failures": 2},
        {"skips_left": 1},
        {"last_result": '"no"', "last_end": NOON - HOUR},
    )
    several = a_task()
    return [
        *(a_new_task(task) for task in tasks),
        *(a_new_task(task, entries=[an_entry(task)._replace(**fields)]) for task, fields in others),
        *(a_new_task(a_task(), status=NEW_TASK_STATUS._replace(**fields)) for fields in statuses),
        a_new_task(several, entries=[an_entry(several), an_extra_entry(several, due=NOON + MINUTE)]),
    ]


def _shown(facts: Facts) -> tuple[object, ...]:
    """Timed or ready: the state of a claimable entry is up to the store."""
    entries = [
        entry._replace(state=EntryState.TIMED) if entry.state is EntryState.READY else entry for entry in facts.entries
    ]
    return facts.task, facts.status, sorted(entries), sorted(facts.live)


async def _check(store: FullStore, expected: Iterable[tuple[Facts, list[Change]]], since: int) -> None:
    """Compare tasks, runs and the events after a number with what the changes of each task lead to."""
    events = await store.events(since)
    for before, changes in expected:
        facts = before
        for change in changes:
            facts = facts_after(facts, change)
            for run in (*change.new_runs, *change.updated_runs):
                assert await get_run(store, run) == run
        assert _shown(await get_facts(store, before.task)) == _shown(facts)
        told = [each.event for each in events if each.event.task_id == before.task.id]
        assert told == [event for change in changes for event in change.events]
    assert await store.check() == ()


async def _read(store: FullStore, task_ids: Iterable[str]) -> dict[str, Facts]:
    return {task_id: await get_facts(store, a_task(id=task_id)) for task_id in task_ids}


class BatchDecisionsContract(Contract):
    async def test_a_batch_of_starts_is_decided_as_one_by_one(self, store: FullStore) -> None:
        await _claim_every_kind(store)

    async def test_a_batch_of_settlements_is_decided_as_one_by_one(self, store: FullStore) -> None:
        runs = [run for _, run in await _claim_every_kind(store) if run.started is not None]
        outcomes = (
            Succeeded('"done"'),
            Failed("no"),
            Succeeded(),
            Succeeded('"x"', "topic"),
            Failed("no", permanent=True),
        )
        reports = [
            Settlement(run.id, run.token, outcomes[number % len(outcomes)], run.started, _NOW + number * SECOND)
            for number, run in enumerate(runs)
        ]
        foreign, again = reports[1]._replace(token=runs[1].token + 1), reports[2]._replace(outcome=Succeeded("2"))
        await _settle_and_check(store, runs, reports, stale=[foreign, again])

    async def test_a_task_that_changes_between_claim_and_settlement_is_settled_as_it_is_then(
        self, store: FullStore
    ) -> None:
        """Others of its batch are ordinary successes."""
        await store.join(a_node())
        tasks = [_once() for _ in range(3)] + [a_task() for _ in range(3)]
        await store.add([a_new_task(task) for task in tasks])
        runs = [run for _, run in (await store.claim_due(_NOW, NODE, 100, ClaimDecision(_CLAIM))).runs]
        assert len(runs) == len(tasks)
        for number, control in ((1, cancel), (3, pause), (4, cancel)):
            assert await store.change(tasks[number].id, None, partial(control, now=_NOW)) is not None
        await store.change(tasks[2].id, None, always(Change(put=(an_extra_entry(tasks[2], due=NOON + HOUR),))))
        reports = [Settlement(run.id, run.token, Succeeded('"x"'), run.started, _NOW + SECOND) for run in runs]
        await _settle_and_check(store, runs, reports)

    async def test_limited_and_blocked_owners_among_others_are_held_back_alone(self, store: FullStore) -> None:
        """Also a task in a lane, and failures among the successes. What waits starts when the slots are free."""
        await store.join(a_node())
        await store.set_lane(owner_lane("limited"), 1)
        await store.set_lane("press", 1)
        await store.block_owner("blocked", Reason.OWNER_REVOKED)
        tasks = [_once(owner=owner) for owner in ("limited", "horae:limited", "blocked") * 2]
        tasks += [_once(lane="press") for _ in range(2)] + [_once() for _ in range(20)]
        tasks += [a_task() for _ in range(20)]
        await store.add([a_new_task(task) for task in tasks])
        seen: list[Counter[str]] = []
        for _ in range(5):
            claimed: list[Claimed] = []
            more = True
            while more:
                claim = await store.claim_due(_NOW, NODE, 1_000, ClaimDecision(_CLAIM))
                claimed, more = [*claimed, *claim.runs], claim.more
            seen.append(Counter(task.owner for task, _ in claimed))
            reports = [
                Settlement(
                    run.id,
                    run.token,
                    Failed("no", permanent=True) if number % 7 == 0 else Succeeded(),
                    run.started,
                    _NOW + SECOND,
                )
                for number, (_, run) in enumerate(claimed)
            ]
            assert await store.settle(reports, SettlementDecision()) == frozenset()
        assert sum(seen, Counter()) == Counter(ada=42, limited=2) + Counter({"horae:limited": 2})
        assert seen[0]["ada"] == 41
        assert all(each["limited"] + each["horae:limited"] <= 1 for each in seen)
        assert await store.check() == ()


async def _settle_and_check(
    store: FullStore, runs: Sequence[Run], reports: Sequence[Settlement], *, stale: Sequence[Settlement] = ()
) -> None:
    """Settle these runs, one of each task, in one batch, between reports that must not count."""
    before = await _read(store, [run.task_id for run in runs])
    since = await store.last_event()
    first, last = stale[:1], stale[1:]
    found = await store.settle([*first, *reports, *last], SettlementDecision())
    assert found == {report.run_id for report in stale}
    expected = []
    for run, report in zip(runs, reports, strict=True):
        facts = before[run.task_id]
        (live,) = [each for each in facts.live if each.id == run.id]
        expected.append((facts, [settle(facts, live, report)]))
    await _check(store, expected, since)


async def _claim_every_kind(store: FullStore) -> tuple[Claimed, ...]:
    await store.join(a_node())
    added = _of_every_kind()
    await store.add(added)
    before = await _read(store, [change.task.id for change in added if change.task is not None])
    since = await store.last_event()
    claimed: list[Claimed] = []
    decided, more = 0, True
    while more:
        # A busy machine may divide the batch.
        claim = await store.claim_due(_NOW, NODE, 1_000, ClaimDecision(_CLAIM))
        claimed += claim.runs
        decided, more = decided + claim.decided, claim.more
    assert decided == len(added)
    tokens = {run.task_id: run.token for _, run in claimed}
    expected = []
    for facts in before.values():
        entry = min(facts.entries, key=lambda each: each.due)
        expected.append((facts, [fire(facts, entry, tokens.get(facts.task.id, 0), _CLAIM)]))
    started = [run for _, (change,) in expected for run in change.new_runs if run.live]
    assert sorted(run for _, run in claimed) == sorted(started)
    await _check(store, expected, since)
    return tuple(claimed)
