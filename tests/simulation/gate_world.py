"""A simulated cluster whose tasks have gates: every answer of a gate, crashes around it, and the check of rows and states.

The verdicts are judged by a ledger that gates and targets write themselves.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Final

from horae.errors import Refusal
from horae.lifecycle.control import control
from horae.lifecycle.plan import Draft, plan
from horae.model.events.event import EventKind
from horae.model.gate import GATE_STATE_KIND, MAX_GATE_FAILURES, Gate, gate_wait
from horae.model.ids import ENTROPY_BYTES, make_id
from horae.model.inputs.run_input import is_gate_check
from horae.model.outcome import Failed, Outcome, Succeeded
from horae.model.policy import Guarantee, Policies, RetryPolicy
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.model.task import PauseCause, Target, TaskState
from horae.ports.full_store import FullStore
from horae.ports.target import Invocation
from horae.schedule import Every
from tests.simulation.clients import Clients
from tests.simulation.evidence import Evidence, Occurrence
from tests.simulation.history import GateRecord
from tests.simulation.target import SimulatedTarget
from tests.simulation.target_behaviours import Behaviour
from tests.simulation.world import World

MINUTE: Final = timedelta(minutes=1)
_OPEN: Final = "open"
_CLOSED: Final = "closed"
_FAILING: Final = ("failing", "raising", "no verdict", "silent", "")
"""Answers that are no verdict; the last one: the gate had no time to answer, or died alone in a process of its own."""
_WEIGHTS: Final[dict[str, dict[str, int]]] = {
    "mixed": {_OPEN: 8, _CLOSED: 4, "failing": 1, "raising": 1, "no verdict": 1, "silent": 1},
    "broken": {"failing": 6, "raising": 2, "silent": 2},
    "killer": {_OPEN: 8, _CLOSED: 2, "kills its node": 1},
}
"""By gate: how often it gives which answer."""
_TASKS: Final[tuple[tuple[str, Behaviour, Guarantee], ...]] = (
    ("mixed", Behaviour.FLAKY, "at_least_once"),
    ("mixed", Behaviour.KILLER, "at_most_once"),
    ("broken", Behaviour.STEADY, "at_least_once"),
    ("killer", Behaviour.SLOW, "at_most_once"),
    ("killer", Behaviour.STEADY, "at_least_once"),
)


class GateTarget(SimulatedTarget):
    """Target and gate of a node. A gate counts in its state, and says in its data which call has opened it."""

    async def execute(self, invocation: Invocation) -> Outcome:
        if invocation.gate_state is None:
            self._history.note(self._life, f"target {invocation.run.id} {invocation.gate}")
            return await super().execute(invocation)
        return await self._answer(invocation, invocation.gate_state)

    async def _answer(self, invocation: Invocation, state: str) -> Outcome:
        dice, calls = self._surroundings.dice, self._history.gate_calls
        weights = _WEIGHTS[json.loads(invocation.task.target.spec)["name"]]
        answer = _OPEN if self._surroundings.benign else dice.choices(tuple(weights), tuple(weights.values()))[0]
        place = len(calls)
        calls.append(GateRecord(invocation.run.id, invocation.key))
        await self._clock.pause(dice.choice((0.01, 2.0, 10.0)))
        match answer:
            case "kills its node":
                return await self._kill(invocation)
            case "silent":
                calls[place] = calls[place]._replace(answer=answer)
                await self._clock.pause(1_000)
            case "raising":
                calls[place] = calls[place]._replace(answer=answer)
                raise ValueError("the gate broke")
        calls[place] = calls[place]._replace(answer=answer)
        if answer in (_OPEN, _CLOSED):
            count = (json.loads(state) or 0) + 1
            return Succeeded(json.dumps({"run": answer == _OPEN, "data": place, "state": count}))
        return Succeeded('"hello"') if answer == "no verdict" else Failed("the gate failed")


class GateClients(Clients):
    """Clients that add tasks with gates, resume those that were paused, and check a gate now and then."""

    async def add_initial_tasks(self, count: int) -> None:  # noqa: ARG002 - the tasks are always the same
        now = self._clock.now()
        for gate, behaviour, guarantee in _TASKS:
            task_id = make_id("tsk", now, self._dice.randbytes(ENTROPY_BYTES))
            policies = Policies(
                gate=Gate("function", json.dumps({"name": gate})),
                guarantee=guarantee,
                retry=RetryPolicy(3, MINUTE),
                give_up_after=None,
            )
            draft = Draft(
                "ada",
                f"{gate} {behaviour} {guarantee}",
                Every(interval=15 * MINUTE),
                Target("simulated", "{}"),
                f'"{behaviour.value}"',
                policies,
            )
            await self._inner.add([plan(draft, task_id, now)])
            self.ids = (*getattr(self, "ids", ()), task_id)

    async def run(self) -> None:
        while True:
            await self._clock.pause(900)
            await self.unblock_all()
            with suppress(Refusal):
                check = partial(control.check_gate, now=self._clock.now())
                await self._inner.change(self._dice.choice(self.ids), None, check)
            self._ring()

    async def unblock_all(self) -> None:
        for task_id in self.ids:
            facts = await self._inner.facts(task_id, None)
            if facts is not None and facts.status.state is TaskState.PAUSED:
                await self._inner.change(task_id, None, partial(control.resume, now=self._clock.now()))


class GateWorld(World):
    make_clients = GateClients


async def check_gates(evidence: Evidence, store: FullStore) -> list[str]:
    """Return every contradiction between the ledger of gates and targets, the rows, and the stored states."""
    problems = [f"the integrity check found: {doubt}" for doubt in evidence.doubts]
    problems += _check_calls(evidence)
    for rows in evidence.occurrences.values():
        problems += _check_occurrence(evidence, rows)
    problems += _check_pauses(evidence)
    for task_id, facts in evidence.facts.items():
        record = await store.get_record(GATE_STATE_KIND, task_id, None)
        stored = 0 if record is None else json.loads(record.body)
        written = sum(_writes_state(run) for run in evidence.runs.values() if run.task_id == task_id)
        if stored != written:
            problems.append(f"the gate of {facts.task.name} has the state {stored} after {written} ends with a state")
    return problems


def _writes_state(run: Run) -> bool:
    return run.state is RunState.SUCCEEDED or run.reason is Reason.GATE_CLOSED


def _check_calls(evidence: Evidence) -> Iterator[str]:
    """Every call of a target had an open verdict of its own occurrence, and at most one under `at_most_once`."""
    calls: dict[str, int] = defaultdict(int)
    for deed in evidence.history.deeds:
        calls[deed.key] += 1
        if evidence.facts[deed.task_id].task.policies.guarantee == "at_most_once" and calls[deed.key] > 1:
            yield f"the target of {deed.run_id} was called again, although at_most_once"
    for note in evidence.history.notes:
        if note.what.startswith("target "):
            _, run_id, data = note.what.split(" ", 2)
            opened = evidence.history.gate_calls[int(data)] if data.isdecimal() else None
            keys = {deed.key for deed in evidence.history.deeds if deed.run_id == run_id}
            if opened is None or opened.answer != _OPEN or opened.occurrence not in keys:
                yield f"the target of {run_id} was called, although the gate said {opened}"


def _check_occurrence(evidence: Evidence, rows: list[Run]) -> Iterator[str]:
    answers = {call.run_id: call.answer for call in evidence.history.gate_calls}
    called = {deed.run_id for deed in evidence.history.deeds}
    failures = 0
    for place, run in enumerate(rows):
        is_failed = run.reason is Reason.GATE_FAILED and run.span is None and run.claimed is not None
        answer = answers.get(run.id)
        if run.id in called and (is_gate_check(run.input) or run.reason in (Reason.GATE_CLOSED, Reason.GATE_FAILED)):
            yield f"the target of {run.id} was called, although it is {run.reason}"
        if run.reason is Reason.GATE_CLOSED and answer != _CLOSED:
            yield f"{run.id} is {run.reason}, and its gate said {answer}"
        is_unread = (run.error or "").startswith("its state cannot be read")
        if is_failed and answer not in _FAILING and not is_unread:
            yield f"{run.id} is {run.reason}, and its gate said {answer}"
        # A lost attempt has asked nothing, or its verdict died with it; any other one had a verdict.
        failures = failures + is_failed if is_failed or run.state is RunState.LOST else 0
        following = rows[place + 1] if place + 1 < len(rows) else None
        if is_failed and following is not None and run.ended is not None:
            wait = following.due - run.ended
            if wait != gate_wait(failures) or failures >= MAX_GATE_FAILURES:
                yield f"the gate of {run.id} was asked again after {wait}, at its failure {failures}"
    yield from _check_loss(evidence, rows, answers)


def _check_loss(evidence: Evidence, rows: list[Run], answers: dict[str, str]) -> Iterator[str]:
    """An occurrence under `at_most_once` is lost for good only when the gate of its last run was open."""
    last = rows[-1]
    task = evidence.facts[last.task_id].task
    is_open = any(
        (entry.origin, entry.planned) == (last.origin, last.planned) for entry in evidence.facts[task.id].entries
    )
    if task.policies.guarantee != "at_most_once" or is_open or is_gate_check(last.input):
        return
    if last.state is RunState.LOST and last.reason is not Reason.QUARANTINED and answers.get(last.id) != _OPEN:
        yield f"{last.id} is lost, although its gate said {answers.get(last.id)!r}"


def _check_pauses(evidence: Evidence) -> Iterator[str]:
    """A task is paused by its gate after the eighth failure in a row, not before and not later."""
    for facts in evidence.facts.values():
        pauses = [
            event
            for _, event in evidence.events
            if event.task_id == facts.task.id
            and event.kind is EventKind.TASK_PAUSED
            and (event.detail or "").startswith(PauseCause.GATE_FAILED.value)
        ]
        for pause in pauses:
            failed = [
                run
                for run in evidence.runs.values()
                if (run.task_id, run.ended, run.reason) == (facts.task.id, pause.at, Reason.GATE_FAILED)
                and run.claimed is not None
            ]
            rows = (
                evidence.occurrences[Occurrence(facts.task.id, failed[0].origin, failed[0].planned)] if failed else []
            )
            failures = sum(row.reason is Reason.GATE_FAILED for row in rows)
            if failures != MAX_GATE_FAILURES:
                yield f"{facts.task.name} was paused at {pause.at} after {failures} failures of its gate"
