"""Contract of gates: the state of a verdict commits with the settlement of its run, or neither does."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from datetime import datetime
from typing import Any

from .....errors import Conflict
from .....lifecycle.control.control import check_gate, delete
from .....lifecycle.fire import fire
from .....lifecycle.recover import recover
from .....lifecycle.settle import settle
from .....lifecycle.start import ClaimContext
from .....model.entry import EntryKind, EntryState
from .....model.gate import GATE_STATE_KIND, Gate, GateProgress, GateVerdict, verdict_json
from .....model.inputs.run_input import gate_failures, is_gate_check
from .....model.outcome import Failed, Outcome, Settlement, Skipped, Succeeded, Waiting
from .....model.policy import Policies, RetryPolicy
from .....model.reason import Reason
from .....model.record import Record
from .....model.run import Run, RunState
from .....model.task import Task
from .....ports.full_store import FullStore
from .....ports.store import RunFilter
from .....schedule import Every
from ....factories import HOUR, MINUTE, NODE, NOON, SECOND, a_node, a_task
from ..contract import Contract
from ..setup import add_tasks, claim_all, get_facts, get_run

_FAILED = Skipped("boom", Reason.GATE_FAILED)
_CLOSED = Skipped("nothing new", Reason.GATE_CLOSED)


def _gated_task(**policies: Any) -> Task:
    gate = Gate("function", '{"name":"check"}')
    return a_task(
        schedule=Every(interval=HOUR), policies=Policies(gate=gate, retry=RetryPolicy(jitter="none"), **policies)
    )


def _verdict(at: datetime, state: str | None, version: int | None = None, *, is_open: bool = True) -> GateVerdict:
    return GateVerdict(is_open=is_open, at=at, data='{"mails":[1,"\\u0000\U0001f4e8"]}', state=state, version=version)


async def _claim_one(store: FullStore, now: datetime) -> Run:
    context = ClaimContext(NODE, now, 10 * SECOND)
    ((_, run),) = await claim_all(store, now, lambda facts, entry, token: fire(facts, entry, token, context))
    return run


async def _start(store: FullStore, **policies: Any) -> tuple[Task, Run]:
    task = _gated_task(**policies)
    await store.join(a_node())
    await add_tasks(store, task)
    return task, await _claim_one(store, NOON)


async def _settle(
    store: FullStore, run: Run, outcome: Outcome, ended: datetime, verdict: GateVerdict | None = None
) -> None:
    stale = await store.settle([Settlement(run.id, run.token, outcome, run.started, ended, verdict)], settle)
    assert not stale


async def _conflicts(store: FullStore, run: Run, verdict: GateVerdict) -> bool:
    try:
        await _settle(store, run, Succeeded(), NOON + SECOND, verdict)
    except Conflict as conflict:
        return conflict.code == "record_changed"
    return False


async def _state(store: FullStore, task: Task) -> Record | None:
    return await store.get_record(GATE_STATE_KIND, task.id, task.owner)


class GatesContract(Contract):
    async def test_the_state_of_a_gate_is_written_with_the_success_of_its_run(self, store: FullStore) -> None:
        task, run = await _start(store)
        await _settle(store, run, Succeeded(), NOON + SECOND, _verdict(NOON, '{"n":1}'))
        record = await _state(store, task)
        assert record is not None
        assert (record.body, record.version, record.owner) == ('{"n":1}', 1, task.owner)
        later = await _claim_one(store, NOON + HOUR)
        closed = _verdict(NOON + HOUR, '{"n":2}', 1, is_open=False)
        await _settle(store, later, _CLOSED, NOON + HOUR + SECOND, closed)
        record = await _state(store, task)
        assert record is not None
        assert (record.body, record.version) == ('{"n":2}', 2)
        assert (await get_run(store, later)).reason is Reason.GATE_CLOSED

    async def test_a_run_that_waits_for_an_answer_keeps_the_verdict_of_its_gate(self, store: FullStore) -> None:
        task, run = await _start(store)
        verdict = _verdict(NOON, '{"n":1}')
        await _settle(store, run, Waiting(NOON + HOUR), NOON + SECOND, verdict)
        waiting = await get_run(store, run)
        assert waiting.state is RunState.WAITING
        assert waiting.input is not None
        assert waiting.input.gate == GateProgress(0, verdict)
        assert await _state(store, task) is None
        await _settle(store, run, Succeeded(), NOON + MINUTE)
        record = await _state(store, task)
        assert record is not None
        assert record.body == '{"n":1}'

    async def test_a_claimed_run_ends_from_there_when_its_gate_was_closed(self, store: FullStore) -> None:
        task, run = await _start(store, guarantee="at_most_once")
        assert run.state is RunState.CLAIMED
        await _settle(store, run, _CLOSED, NOON + SECOND, _verdict(NOON, "1", is_open=False))
        ended = await get_run(store, run)
        assert (ended.state, ended.reason, ended.started) == (RunState.SKIPPED, Reason.GATE_CLOSED, None)
        assert await _state(store, task) is not None
        assert await store.start([(run.id, run.token)], NOON + SECOND) == frozenset()

    async def test_a_claimed_run_of_a_dead_node_asks_its_gate_again(self, store: FullStore) -> None:
        task, run = await _start(store, guarantee="at_most_once")
        node = a_node()
        assert await store.recover(node.id, node.renewals, lambda facts, lost: recover(facts, lost, NOON + SECOND), 10)
        await store.join(node)
        again = await _claim_one(store, NOON + SECOND)
        assert (again.attempt, again.tries, again.deaths, again.state) == (2, 1, 1, RunState.CLAIMED)
        assert await store.start([(again.id, again.token)], NOON + SECOND) == {again.id}
        assert [row.state for row in (await store.runs(RunFilter(task_id=task.id))).items].count(RunState.LOST) == 1
        assert (await get_run(store, run)).started is None

    async def test_a_check_of_the_gate_changes_only_its_run(self, store: FullStore) -> None:
        task, run = await _start(store)
        await _settle(store, run, _FAILED, NOON + SECOND)
        before = await get_facts(store, task)
        await store.change(task.id, None, lambda facts: check_gate(facts, NOON + SECOND))
        check = await _claim_one(store, NOON + SECOND)
        assert is_gate_check(check.input)
        verdict = _verdict(NOON, '{"n":1}')
        await _settle(store, check, Skipped("", Reason.GATE_CHECKED), NOON + 2 * SECOND, verdict)
        assert await get_facts(store, task) == before
        assert await _state(store, task) is None
        ended = await get_run(store, check)
        assert (ended.input, ended.result_json) == (check.input, verdict_json(verdict))

    async def test_a_settlement_whose_gate_state_was_changed_writes_nothing(self, store: FullStore) -> None:
        task, run = await _start(store)
        await store.put_record(Record(GATE_STATE_KIND, task.id, task.owner, "7"), replacing=None)
        assert await _conflicts(store, run, _verdict(NOON, "8"))
        record = await _state(store, task)
        assert record is not None
        assert record.body == "7"
        assert (await get_run(store, run)).state is RunState.RUNNING

    async def test_a_stale_settlement_writes_no_gate_state(self, store: FullStore) -> None:
        task, run = await _start(store)
        report = Settlement(run.id, run.token + 1, Succeeded(), run.started, NOON + SECOND, _verdict(NOON, "8"))
        assert await store.settle([report], settle)
        assert await _state(store, task) is None

    async def test_a_retry_of_the_target_keeps_the_verdict_of_the_gate(self, store: FullStore) -> None:
        task, run = await _start(store)
        verdict = _verdict(NOON, '{"n":1}')
        await _settle(store, run, Failed("broken"), NOON + SECOND, verdict)
        assert await _state(store, task) is None
        retry = await _claim_one(store, NOON + SECOND + MINUTE)
        assert retry.input is not None
        assert retry.input.gate is not None
        assert retry.input.gate.verdict == verdict
        assert (await get_run(store, retry)).input == retry.input

    async def test_occurrences_that_pass_while_a_gate_fails_wait_and_are_one_row(self, store: FullStore) -> None:
        task, run = await _start(store)
        now = NOON + SECOND
        await _settle(store, run, _FAILED, now)
        for minutes in (2, 4, 8, 16, 32):
            now += minutes * MINUTE
            run = await _claim_one(store, now)
            assert gate_failures(run.input) > 0
            await _settle(store, run, _FAILED, now)
        context = ClaimContext(NODE, NOON + HOUR, 10 * SECOND)
        # The next occurrence comes due, and waits for the gate.
        assert not await claim_all(store, NOON + HOUR, lambda facts, entry, token: fire(facts, entry, token, context))
        held = {entry.kind: entry.state for entry in (await get_facts(store, task)).entries}
        assert held[EntryKind.NEXT] is EntryState.HELD
        now += HOUR
        run = await _claim_one(store, now)
        await _settle(store, run, Succeeded(), now + SECOND, _verdict(now, None))
        rows = (await store.runs(RunFilter(task_id=task.id))).items
        passed = [row for row in rows if row.attempt == 1 and row.planned > NOON]
        assert [(row.reason, row.span) for row in passed] == [(Reason.GATE_FAILED, passed[0].span)]
        (entry,) = (await get_facts(store, task)).entries
        assert (entry.kind, entry.state) == (EntryKind.NEXT, EntryState.TIMED)
        assert entry.due > now

    async def test_the_state_of_a_gate_is_deleted_with_its_task(self, store: FullStore) -> None:
        task, run = await _start(store)
        await _settle(store, run, Succeeded(), NOON + SECOND, _verdict(NOON, "1"))
        other, run = await _start(store)
        await _settle(store, run, Succeeded(), NOON + SECOND, _verdict(NOON, "2"))
        await store.change(task.id, None, lambda facts: delete(facts, NOON + MINUTE))
        assert await _state(store, task) is None
        assert await _state(store, other) is not None
