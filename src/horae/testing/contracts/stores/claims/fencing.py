"""Contract of fencing: a stale token changes nothing, ended runs are final, any handle may settle a claimed run."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
from contextlib import suppress

from .....errors import StoreError
from .....model.change import Change
from .....model.outcome import Failed
from .....model.reason import Reason
from .....model.run import RunState
from .....model.task import TaskState
from .....ports.full_store import FullStore
from ....decisions import always, decide_start, fail, lose, request_cancel, succeed
from ....factories import MICROSECOND, NOON, SECOND, a_node, a_settlement, a_task
from ..contract import Contract
from ..setup import add_tasks, claim_all, get_run, read_all, settle, start_run

_CLAIMED = decide_start(state=RunState.CLAIMED)


class FencingContract(Contract):
    async def test_a_settled_run_has_its_end_and_result(self, store: FullStore) -> None:
        run = await start_run(store)
        assert await settle(store, run) == frozenset()
        ended = run._replace(state=RunState.SUCCEEDED, ended=NOON + SECOND, result_json='"done"')
        assert await get_run(store, run) == ended
        facts = await store.facts(run.task_id, None)
        assert facts is not None
        assert facts.live == ()
        assert facts.status.state is TaskState.COMPLETED

    async def test_a_stale_token_settles_nothing(self, store: FullStore) -> None:
        run = await start_run(store)
        before = await read_all(store)
        for token in (run.token - 1, run.token + 1, 0):
            assert await store.settle([a_settlement(run, token=token)], fail) == {run.id}
        assert await read_all(store) == before
        assert await settle(store, run) == frozenset()

    async def test_an_absent_run_is_stale(self, store: FullStore) -> None:
        run = await start_run(store)
        assert await store.settle([a_settlement(run, run_id="run_unknown")], fail) == {"run_unknown"}
        assert await store.start([("run_unknown", 1)], NOON) == frozenset()
        assert await store.release([("run_unknown", 1)], fail) == {"run_unknown"}

    async def test_a_settled_run_is_stale_for_a_second_settlement(self, store: FullStore) -> None:
        run = await start_run(store)
        await settle(store, run)
        before = await read_all(store)
        late = a_settlement(run, outcome=Failed("too late"), ended=NOON + 2 * SECOND)
        assert await store.settle([late], fail) == {run.id}
        assert await store.release([(run.id, run.token)], fail) == {run.id}
        assert await read_all(store) == before

    async def test_concurrent_settlements_settle_once(self, store: FullStore) -> None:
        run = await start_run(store)
        async with self.another(store) as other:
            answers = await asyncio.gather(settle(store, run), settle(other, run))
        assert sorted(map(len, answers)) == [0, 1]
        facts = await store.facts(run.task_id, None)
        assert facts is not None
        assert facts.status.counted == 1

    async def test_a_stale_settlement_does_not_affect_the_rest_of_its_batch(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, a_task(), a_task(), a_task())
        runs = [each.run for each in await claim_all(store)]
        batch = [a_settlement(run, token=run.token + (run is runs[1])) for run in runs]
        assert await store.settle(batch, succeed) == {runs[1].id}
        states = [(await get_run(store, run)).state for run in runs]
        assert states == [RunState.SUCCEEDED, RunState.RUNNING, RunState.SUCCEEDED]

    async def test_an_empty_batch_is_settled_at_once(self, store: FullStore) -> None:
        assert await store.settle([], fail) == frozenset()
        assert await store.release([], fail) == frozenset()
        assert await store.start([], NOON) == frozenset()

    async def test_another_handle_may_settle_a_claimed_run(self, store: FullStore) -> None:
        run = await start_run(store)
        async with self.another(store) as other:
            assert await get_run(other, run) == run
            assert await settle(other, run) == frozenset()
        assert (await get_run(store, run)).state is RunState.SUCCEEDED

    async def test_no_change_reopens_an_ended_run(self, store: FullStore) -> None:
        run = await start_run(store)
        await settle(store, run)
        ended = await get_run(store, run)
        again = ended._replace(state=RunState.RUNNING, ended=None, result_json=None)
        with suppress(StoreError):
            await store.change(run.task_id, None, always(Change(updated_runs=(again,))))
        await store.change(run.task_id, None, request_cancel([run]))
        assert await get_run(store, run) == ended
        facts = await store.facts(run.task_id, None)
        assert facts is not None
        assert facts.live == ()

    async def test_a_claimed_run_starts_once_and_only_with_its_token(self, store: FullStore) -> None:
        run = await start_run(store, decide=_CLAIMED)
        assert await store.start([(run.id, run.token + 1)], NOON) == frozenset()
        assert await get_run(store, run) == run
        begun = NOON + MICROSECOND
        assert await store.start([(run.id, run.token)], begun) == {run.id}
        assert await get_run(store, run) == run._replace(state=RunState.RUNNING, started=begun)
        assert await store.start([(run.id, run.token)], begun + SECOND) == frozenset()
        assert (await get_run(store, run)).started == begun

    async def test_only_uncancelled_runs_of_a_batch_start(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, a_task(), a_task(), a_task())
        runs = [each.run for each in await claim_all(store, decide=_CLAIMED)]
        await store.change(runs[0].task_id, None, request_cancel([runs[0]]))
        assert await store.start([(run.id, run.token) for run in runs], NOON) == {run.id for run in runs[1:]}
        assert (await get_run(store, runs[0])).state is RunState.CLAIMED

    async def test_a_cancelled_claimed_run_does_not_start(self, store: FullStore) -> None:
        run = await start_run(store, decide=_CLAIMED)
        await store.change(run.task_id, None, request_cancel([run], Reason.REPLACED))
        assert await store.start([(run.id, run.token)], NOON) == frozenset()
        assert (await get_run(store, run)).cancel is Reason.REPLACED

    async def test_a_released_run_is_stale_for_its_node(self, store: FullStore) -> None:
        run = await start_run(store)
        assert await store.release([(run.id, run.token + 1)], fail) == {run.id}
        assert await store.release([(run.id, run.token)], lose) == frozenset()
        assert (await get_run(store, run)).state is RunState.LOST
        assert await store.settle([a_settlement(run)], fail) == {run.id}
