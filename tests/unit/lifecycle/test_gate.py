"""Rules of gates: verdicts, waits, what an attempt knows of its gate, routes, and the branches that need no store."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from horae.lifecycle.fire import park_unroutable
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.change import Facts
from horae.model.entry import EntryKind, EntryState
from horae.model.gate import (
    Gate,
    GateProgress,
    GateVerdict,
    NoVerdictError,
    gate_wait,
    read_verdict,
)
from horae.model.outcome import Cancelled, Settlement, Skipped, Succeeded, Waiting
from horae.model.policy import Policies, from_json, to_json
from horae.model.reason import Reason
from horae.model.route import missing_route
from horae.model.run import RunState
from horae.model.run_input import RunInput, parse_input, with_gate
from horae.model.task import NEW_TASK_STATUS, PauseCause, TaskState, TaskStatus
from horae.testing.factories import HOUR, MINUTE, NODE, NOON, SECOND, a_run, a_task, an_entry

GATE = Gate("function", '{"name":"check"}')
FAILED = Skipped("boom", Reason.GATE_FAILED)
VERDICT = GateVerdict(is_open=True, at=NOON, data='"mail"', state="7", version=3, reason="new")


def gated(**fields: Any) -> Any:
    return a_task(policies=Policies(gate=GATE), **fields)


def settle_one(outcome: Any, given: RunInput | None = None, status: TaskStatus = NEW_TASK_STATUS, **report: Any) -> Any:
    task = gated()
    run = a_run(task, input=given)
    facts = Facts(task, status, (an_entry(task, due=NOON + HOUR),), (run,))
    return settle(facts, run, Settlement(run.id, run.token, outcome, run.started, NOON + MINUTE, **report))


def test_waits_double_up_to_an_hour() -> None:
    minutes = [gate_wait(failures) / MINUTE for failures in range(1, 10)]
    assert minutes == [2, 4, 8, 16, 32, 60, 60, 60, 60]


def test_policies_keep_the_gate_in_their_stored_form() -> None:
    gate = Gate("command", '{"argv":["check"]}', timedelta(seconds=5), state=False)
    assert from_json(to_json(Policies(gate=gate))).gate == gate
    assert "gate" not in to_json(Policies())


@pytest.mark.parametrize(
    "given",
    [None, RunInput("replace", '{"a": 1.0}'), RunInput("merge", "{}", "helper")],
    ids=["no input", "replace", "merge of an agent"],
)
@pytest.mark.parametrize("gate", [GateProgress(3), GateProgress(0, VERDICT)], ids=["failures", "verdict"])
def test_progress_is_kept_beside_the_input(given: RunInput | None, gate: GateProgress) -> None:
    kept = with_gate(given, gate)
    assert kept is not None
    assert parse_input(kept.text) == kept
    assert kept.is_given is (given is not None)
    assert with_gate(kept, None) == given
    assert kept.payload_for('{"b":2}') == ('{"b":2}' if given is None or given.mode == "merge" else '{"a": 1.0}')


def test_verdicts_are_read() -> None:
    read = read_verdict({"wakeAgent": False, "reason": {"code": 1}, "state": "\ud800"}, NOON, 2)
    assert (read.is_open, read.data, read.reason, read.version) == (False, "null", '{"code": 1}', 2)
    assert read.state == '"\\ud800"'
    with pytest.raises(NoVerdictError):
        read_verdict([True], NOON)


def test_route_of_the_gate_is_needed_too() -> None:
    task = gated()
    routes = frozenset({missing_route(task, frozenset()) or ""})
    assert missing_route(task, routes) == "function:check"
    assert missing_route(task, routes | {"function:check"}) is None
    assert missing_route(a_task(), routes) is None
    entry = an_entry(task)
    change = park_unroutable(Facts(task, NEW_TASK_STATUS, (entry,)), entry, ClaimContext(NODE, NOON, SECOND, routes))
    assert change is not None
    assert change.put[0].lane == "function:check"


def test_failed_gate_of_a_task_that_is_over_is_not_tried_again() -> None:
    change = settle_one(FAILED, status=TaskStatus(TaskState.CANCELLED))
    assert (change.put, change.updated_runs[0].reason) == ((), Reason.GATE_FAILED)


def test_eighth_failure_pauses_only_an_active_task() -> None:
    seven = with_gate(None, GateProgress(7))
    change = settle_one(FAILED, seven)
    assert change.status.pause.cause is PauseCause.GATE_FAILED
    assert change.status.pause.note == "boom"
    assert [entry.state for entry in change.put] == [EntryState.ASLEEP]
    paused = settle_one(FAILED, seven, status=TaskStatus(TaskState.PAUSED))
    assert paused.status.pause is None


def test_cancelled_run_of_a_failing_gate_ends() -> None:
    change = settle_one(Cancelled(), with_gate(None, GateProgress(2)))
    assert change.updated_runs[0].state is RunState.CANCELLED
    assert all(entry.kind is not EntryKind.RETRY for entry in change.put)


def test_run_that_waits_for_an_answer_keeps_its_verdict_and_state() -> None:
    waiting = settle_one(Waiting(NOON + HOUR), gate=VERDICT).updated_runs[0]
    assert waiting.input.gate == GateProgress(0, VERDICT)
    task = gated()
    facts = Facts(task, NEW_TASK_STATUS, (an_entry(task, due=NOON + HOUR),), (waiting,))
    answered = settle(facts, waiting, Settlement(waiting.id, waiting.token, Succeeded(), NOON, NOON + MINUTE))
    (write,) = answered.attached
    assert (write.record.body, write.replacing) == ("7", 3)
