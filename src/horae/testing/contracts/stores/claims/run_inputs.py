"""Contract of inputs of runs: an entry keeps its input while it waits, its run and their retries have it, others do not."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from datetime import datetime
from typing import Any

from .....lifecycle.control.control import request_retry, run_now
from .....lifecycle.control.edit import backfill
from .....lifecycle.fire import fire
from .....lifecycle.recover import recover
from .....lifecycle.settle import settle as settle_run
from .....lifecycle.start import ClaimContext
from .....model.change import Change, FireDecision
from .....model.entry import EntryState
from .....model.inputs.run_input import RunInput
from .....model.limits import PAYLOAD_BYTES
from .....model.outcome import Failed, Outcome, Succeeded
from .....model.policy import Policies, RetryPolicy
from .....model.run import Run, RunState
from .....model.task import Task
from .....ports.full_store import FullStore
from .....ports.store import RunFilter
from ....decisions import always, lose_at
from ....factories import DAY, HOUR, MINUTE, NODE, NOON, SECOND, a_node, a_settlement, a_task, an_extra_entry
from ..contract import Contract
from ..setup import add_tasks, claim, get_facts, get_run

_INPUT = RunInput("merge", '{"day":"Monday"}')
_INPUTS = (
    RunInput("replace", "null"),
    RunInput("replace", '{ "quote\\"" : "\\\\ \' \\u0000 \\n ${x} %s ? {} 漢字 🌱", "n": 1e400 }'),
    RunInput("merge", '{"a":null,"b":[1,2.50,{"agent":"no"}]}', 'bot\'s "agent"'),
    RunInput("replace", f'"{"x" * (PAYLOAD_BYTES - 2)}"'),
)


def _decide(now: datetime) -> FireDecision:
    context = ClaimContext(NODE, now, 10 * SECOND)
    return lambda facts, entry, token: fire(facts, entry, token, context)


async def _start(store: FullStore, now: datetime = NOON) -> Run:
    """Claim what is due: one run."""
    (claimed,) = (await claim(store, now, _decide(now))).runs
    return claimed.run


async def _settle(store: FullStore, run: Run, outcome: Outcome, at: datetime = NOON) -> None:
    assert not await store.settle([a_settlement(run, outcome=outcome, ended=at + SECOND)], settle_run)


async def _later_task(store: FullStore, **fields: Any) -> Task:
    """A task whose next occurrence is an hour ahead, and a node."""
    task = a_task(**fields)
    await store.join(a_node())
    await add_tasks(store, task, due=NOON + HOUR)
    return task


async def _request(store: FullStore, task: Task, given: RunInput | None = _INPUT) -> None:
    assert await store.change(task.id, None, lambda facts: run_now(facts, NOON, given)) is not None


class RunInputContract(Contract):
    async def test_a_requested_run_has_its_input(self, store: FullStore) -> None:
        for given in _INPUTS:
            task = await _later_task(store)
            await _request(store, task, given)
            assert [entry.input for entry in (await get_facts(store, task)).entries if entry.input] == [given]
            run = await _start(store)
            assert run.input == given
            (live,) = (await get_facts(store, task)).live
            assert live.input == given
            await _settle(store, run, Succeeded())
            async with self.another(store) as other:
                assert (await get_run(other, run)).input == given
                assert [each.input for each in (await other.runs(RunFilter(task_id=task.id))).items] == [given]

    async def test_the_next_scheduled_run_has_no_input(self, store: FullStore) -> None:
        task = await _later_task(store)
        await _request(store, task)
        await _settle(store, await _start(store), Succeeded())
        later = NOON + HOUR
        assert (await _start(store, later)).input is None

    async def test_a_retry_has_the_input_of_its_run(self, store: FullStore) -> None:
        task = await _later_task(store, policies=Policies(retry=RetryPolicy(2, MINUTE, jitter="none")))
        await _request(store, task)
        await _settle(store, await _start(store), Failed("no"))
        again = await _start(store, NOON + 2 * MINUTE)
        assert (again.attempt, again.input) == (2, _INPUT)

    async def test_a_scheduled_run_that_is_retried_with_an_input_succeeds_with_it(self, store: FullStore) -> None:
        """The success is an ordinary one, which a store may write by a shorter way."""
        task = a_task(policies=Policies(retry=RetryPolicy(1)))
        await store.join(a_node())
        await add_tasks(store, task)
        first = await _start(store)
        await _settle(store, first, Failed("no"))
        last = await get_run(store, first)
        later = NOON + MINUTE
        await store.change(task.id, None, lambda facts: request_retry(facts, last, later, _INPUT))
        again = await _start(store, later)
        assert again.input == _INPUT
        await _settle(store, again, Succeeded('"ok"'), later)
        ended = await get_run(store, again)
        assert (ended.state, ended.input, ended.result_json) == (RunState.SUCCEEDED, _INPUT, '"ok"')
        assert (await get_run(store, first)).input is None

    async def test_every_run_of_a_backfill_has_its_input(self, store: FullStore) -> None:
        task = a_task(created=NOON - DAY)
        await store.join(a_node())
        await add_tasks(store, task, due=NOON + HOUR)
        first, last = NOON - 3 * HOUR, NOON - HOUR
        await store.change(task.id, None, lambda facts: backfill(facts, first, last, NOON, given=_INPUT))
        for planned in (first, first + HOUR, last):
            run = await _start(store)
            assert (run.planned, run.input) == (planned, _INPUT)
            await _settle(store, run, Succeeded(), NOON - SECOND)

    async def test_a_lost_run_is_tried_again_with_its_input(self, store: FullStore) -> None:
        task = await _later_task(store)
        await _request(store, task)
        run = await _start(store)
        await store.release([(run.id, run.token)], lambda facts, each: recover(facts, each, NOON + SECOND))
        again = await _start(store, NOON + SECOND)
        assert (again.attempt, again.input) == (2, _INPUT)

    async def test_a_waiting_entry_keeps_its_input_and_another_entry_in_its_slot_has_its_own(
        self, store: FullStore
    ) -> None:
        task = await _later_task(store)
        await _request(store, task)
        (entry,) = [each for each in (await get_facts(store, task)).entries if each.input is not None]
        held = entry._replace(state=EntryState.HELD, waited=True)
        await store.change(task.id, None, always(Change(put=(held,))))
        assert held in (await get_facts(store, task)).entries
        other = an_extra_entry(task, slot=entry.slot, input=RunInput("replace", "1"))
        await store.change(task.id, None, always(Change(put=(other,))))
        assert other in (await get_facts(store, task)).entries
        without = other._replace(input=None)
        await store.change(task.id, None, always(Change(put=(without,))))
        assert without in (await get_facts(store, task)).entries

    async def test_an_input_survives_a_change_of_a_live_run(self, store: FullStore) -> None:
        task = await _later_task(store)
        await _request(store, task)
        run = await _start(store)
        waiting = run._replace(state=RunState.WAITING, node=None, deadline=NOON + HOUR)
        await store.change(task.id, None, always(Change(updated_runs=(waiting,))))
        assert (await get_run(store, run)).input == _INPUT
        await store.settle([a_settlement(run)], lambda facts, each, _: lose_at()(facts, each))
        assert (await get_run(store, run)).input == _INPUT

    async def test_inputs_count_as_stored_bytes(self, store: FullStore) -> None:
        task = await _later_task(store)
        before = await store.output_bytes(task.owner)
        await _request(store, task, RunInput("replace", '"漢"'))
        await _settle(store, await _start(store), Succeeded())
        assert await store.output_bytes(task.owner) == before + len('{"replace":"漢"}'.encode())

    async def test_outcomes_leave_inputs_out(self, store: FullStore) -> None:
        task = await _later_task(store)
        await _request(store, task)
        await _settle(store, await _start(store), Succeeded())
        assert [run.input for run in (await store.outcomes([task.id], 5))[task.id]] == [None]
