"""Contract of the counters: per owner and in total, updated with each write, equal to a recount."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from .....errors import StoreError
from .....model.change import Change
from .....model.counts import (
    LATENESS_PREFIX,
    NO_HOUR,
    OUTCOME_PREFIX,
    OUTCOME_RETAINED_HOURS,
    RETAINED_HOURS,
    STATE_PREFIX,
    bucket_of,
    hour_of,
)
from .....model.reason import Reason
from .....model.run import RunState, Span
from .....model.task import NEW_TASK_STATUS, Task, TaskState, TaskStatus
from .....ports.full_store import FullStore
from ....decisions import PlannedFailure, always, fail, fail_at_call, lose, skip
from ....factories import DAY, HOUR, MINUTE, NODE, NOON, SECOND, a_new_task, a_node, a_run, a_task, an_ended_run
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all, settle, start_run

_NOW = hour_of(NOON)
_ON_TIME = f"{LATENESS_PREFIX}{bucket_of(timedelta(0))}"


async def _states(store: FullStore, owner: str | None = None) -> dict[str, int]:
    counts = await store.counts(owner, [NO_HOUR])
    return {name.removeprefix(STATE_PREFIX): number for (_, name), number in counts.items()}


async def _in_hour(store: FullStore, owner: str | None = None, at: datetime = NOON) -> dict[str, int]:
    return {name: number for (_, name), number in (await store.counts(owner, [hour_of(at)])).items()}


def _over(state: TaskState, ended: datetime = NOON) -> TaskStatus:
    return TaskStatus(state, ended=ended)


class CountsContract(Contract):
    # --- states ------------------------------------------------------------------------------------------------------

    async def test_an_empty_store_counts_nothing(self, store: FullStore) -> None:
        assert await store.counts(None, [NO_HOUR, *range(_NOW - 48, _NOW + 1)]) == {}
        assert await store.counts("ada", [NO_HOUR]) == {}
        assert await store.counts(None, []) == {}

    async def test_tasks_are_counted_by_owner_and_state(self, store: FullStore) -> None:
        await add_tasks(store, a_task(), a_task(), a_task(owner="bob"))
        await store.add([a_new_task(a_task(), status=TaskStatus(TaskState.PAUSED))])
        assert await _states(store) == {"active": 3, "paused": 1}
        assert await _states(store, "ada") == {"active": 2, "paused": 1}
        assert await _states(store, "bob") == {"active": 1}
        assert await _states(store, "cyd") == {}

    async def test_a_change_of_state_moves_the_count(self, store: FullStore) -> None:
        task = a_task()
        await add_tasks(store, task)
        for state in (TaskState.PAUSED, TaskState.ACTIVE, TaskState.FAILED, TaskState.CANCELLED):
            await store.change(task.id, None, always(Change(status=TaskStatus(state))))
            assert await _states(store) == {state.value: 1}
        await store.change(task.id, None, always(Change(status=TaskStatus(TaskState.CANCELLED, counted=5))))
        assert await _states(store, "ada") == {"cancelled": 1}

    async def test_a_thousand_tasks_at_once_are_counted(self, store: FullStore) -> None:
        await add_tasks(store, *(a_task(owner=f"owner-{place % 3}") for place in range(999)))
        assert await _states(store) == {"active": 999}
        assert await _states(store, "owner-1") == {"active": 333}

    async def test_upserted_tasks_are_counted_once(self, store: FullStore) -> None:
        task = a_task(key="report")
        for _ in range(3):
            await store.upsert("ada", "report", lambda found: a_new_task(task) if found is None else Change())
        assert await _states(store) == {"active": 1}

    async def test_a_deleted_task_is_not_counted_but_its_runs_are(self, store: FullStore) -> None:
        task = a_task()
        await store.add([a_new_task(task, runs=[an_ended_run(task)])])
        await store.change(task.id, None, always(Change(deleted=True)))
        assert await _states(store) == {}
        assert (await _in_hour(store))[OUTCOME_PREFIX + "succeeded"] == 1

    async def test_a_task_deleted_by_retention_is_not_counted(self, store: FullStore) -> None:
        long_ago = NOON - 90 * DAY
        over = a_task()
        await store.add([a_new_task(over, status=_over(TaskState.COMPLETED, long_ago), entries=[])])
        await add_tasks(store, a_task())
        assert await _states(store) == {"active": 1, "completed": 1}
        await store.trim(NOON - DAY, 100, 1_000)
        assert await _states(store) == {"active": 1}
        assert await _states(store, "ada") == {"active": 1}
        assert await store.check() == ()

    # --- outcomes ----------------------------------------------------------------------------------------------------

    async def test_a_run_is_counted_once_when_it_ends(self, store: FullStore) -> None:
        run = await start_run(store)
        assert await _in_hour(store) == {}
        await settle(store, run)
        await settle(store, run)
        assert await _in_hour(store) == {OUTCOME_PREFIX + "succeeded": 1, _ON_TIME: 1}
        assert await _in_hour(store, "ada") == await _in_hour(store)
        assert await _in_hour(store, "bob") == {}

    async def test_a_batch_is_counted_run_by_run(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, *(a_task(owner=owner) for owner in ("ada", "bob", "ada", "bob", "ada")))
        await settle(store, *(each.run for each in await claim_all(store)))
        assert await _in_hour(store) == {OUTCOME_PREFIX + "succeeded": 5, _ON_TIME: 5}
        assert await _in_hour(store, "bob") == {OUTCOME_PREFIX + "succeeded": 2, _ON_TIME: 2}
        assert await _states(store) == {"completed": 5}

    async def test_released_and_recovered_runs_are_counted(self, store: FullStore) -> None:
        first = await start_run(store)
        await store.release([(first.id, first.token)], lose)
        await add_tasks(store, a_task())
        await claim(store)
        assert await store.recover(NODE, 0, lose, 10) == 1
        assert await _in_hour(store) == {OUTCOME_PREFIX + "lost": 2, _ON_TIME: 2}

    async def test_skipped_runs_are_counted_by_reason(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, a_task(), a_task())
        await claim_all(store, decide=skip)
        assert await _in_hour(store) == {OUTCOME_PREFIX + "skipped:overlap": 2}

    async def test_a_span_counts_as_many_occurrences_as_it_covers(self, store: FullStore) -> None:
        task = a_task()
        span = Span(NOON - 1_000 * SECOND, NOON, 1_001)
        row = a_run(task, span=span, state=RunState.SKIPPED, reason=Reason.MISSED_SKIPPED, started=None, node=None)
        await store.add([a_new_task(task, runs=[row._replace(ended=NOON)])])
        assert await _in_hour(store) == {OUTCOME_PREFIX + "skipped:missed_skipped": 1_001}

    async def test_lateness_falls_into_its_bucket_in_the_hour_of_the_end(self, store: FullStore) -> None:
        task = a_task()
        late = [timedelta(milliseconds=3), timedelta(seconds=7), timedelta(seconds=7)]
        runs = [
            an_ended_run(task, planned=NOON + place * MINUTE, ended=NOON + HOUR)._replace(
                started=NOON + place * MINUTE + each
            )
            for place, each in enumerate(late)
        ]
        await store.add([a_new_task(task, runs=runs)])
        assert await _in_hour(store) == {}
        assert await _in_hour(store, at=NOON + HOUR) == {
            OUTCOME_PREFIX + "succeeded": 3,
            f"{LATENESS_PREFIX}{bucket_of(late[0])}": 1,
            f"{LATENESS_PREFIX}{bucket_of(late[1])}": 2,
        }

    async def test_a_run_that_exists_already_is_not_counted_again(self, store: FullStore) -> None:
        task = a_task()
        await store.add([a_new_task(task, runs=[an_ended_run(task)])])
        again = an_ended_run(task, state=RunState.FAILED)
        await store.change(task.id, None, always(Change(new_runs=(again, an_ended_run(task, attempt=2)))))
        assert await _in_hour(store) == {OUTCOME_PREFIX + "succeeded": 2, _ON_TIME: 2}

    async def test_a_rolled_back_change_is_not_counted(self, store: FullStore) -> None:
        run = await start_run(store)
        before = await store.counts(None, [NO_HOUR, _NOW])
        await add_tasks(store, a_task())
        counted = await store.counts(None, [NO_HOUR, _NOW])
        for call in (
            lambda: settle(store, run, decide=fail),
            lambda: claim(store, decide=fail_at_call(1, skip)),
            lambda: store.add([a_new_task(a_task()), a_new_task(a_task(id=run.task_id))]),
            lambda: store.change(
                run.task_id, None, always(Change(status=NEW_TASK_STATUS, updated_runs=(an_ended_run(a_task()),)))
            ),
        ):
            try:
                await call()
            except (PlannedFailure, StoreError):
                continue
            raise AssertionError("the change was accepted")
        assert before[NO_HOUR, STATE_PREFIX + "active"] + 1 == counted[NO_HOUR, STATE_PREFIX + "active"]
        assert await store.counts(None, [NO_HOUR, _NOW]) == counted

    # --- hours -------------------------------------------------------------------------------------------------------

    async def test_only_the_requested_hours_are_returned(self, store: FullStore) -> None:
        task = a_task()
        await self._one_an_hour(store, task, 5)
        found = await store.counts(None, [_NOW + 1, _NOW + 3, _NOW + 99])
        assert {hour for hour, _ in found} == {_NOW + 1, _NOW + 3}

    async def test_lateness_is_deleted_after_two_days_and_outcomes_and_state_counts_are_not(
        self, store: FullStore
    ) -> None:
        task = a_task()
        last = 3 * RETAINED_HOURS
        await self._one_an_hour(store, task, last + 1)
        found = await store.counts(None, range(_NOW - 1, _NOW + last + 2))
        outcomes = {hour - _NOW for hour, name in found if name.startswith(OUTCOME_PREFIX)}
        others = {hour - _NOW for hour, name in found if not name.startswith(OUTCOME_PREFIX)}
        assert others == set(range(last - RETAINED_HOURS + 1, last + 1))
        assert outcomes == set(range(last + 1))
        assert await _states(store) == {"active": 1}

    async def test_outcomes_are_deleted_after_two_months(self, store: FullStore) -> None:
        task = a_task()
        await self._one_an_hour(store, task, 3)
        later = an_ended_run(task, planned=NOON + (OUTCOME_RETAINED_HOURS + 1) * HOUR)
        await store.change(task.id, None, always(Change(new_runs=(later,))))
        found = await store.counts(None, range(_NOW, _NOW + OUTCOME_RETAINED_HOURS + 2))
        assert {hour - _NOW for hour, name in found if name.startswith(OUTCOME_PREFIX)} == {
            2,
            OUTCOME_RETAINED_HOURS + 1,
        }

    async def _one_an_hour(self, store: FullStore, task: Task, hours: int) -> None:
        await add_tasks(store, task)
        for place in range(hours):
            run = an_ended_run(task, planned=NOON + place * HOUR)
            await store.change(task.id, None, always(Change(new_runs=(run,))))

    async def test_the_counts_equal_a_recount_of_the_ledger(self, store: FullStore) -> None:
        tasks = [a_task(owner="ada" if place % 2 else "bob") for place in range(6)]
        states = [RunState.SUCCEEDED, RunState.FAILED, RunState.TIMED_OUT, RunState.LOST, RunState.CANCELLED]
        changes = [
            a_new_task(
                task,
                runs=[
                    an_ended_run(task, planned=NOON + each * MINUTE, state=states[(place + each) % 5])
                    for each in range(7)
                ],
            )
            for place, task in enumerate(tasks)
        ]
        await store.add(changes)
        for owner in (None, "ada", "bob"):
            mine = [run for change in changes for run in change.new_runs if owner in (None, run.owner)]
            recount = Counter(OUTCOME_PREFIX + run.state for run in mine)
            found = await _in_hour(store, owner)
            assert found == {**recount, _ON_TIME: len(mine)}
