"""Rules of gates: verdicts, waits, what an attempt knows of its gate, routes, and the branches that need no store."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from horae.errors import InvalidTask, Refusal
from horae.lifecycle.control.control import check_gate, request_retry, run_now
from horae.lifecycle.explain.explanation import explain
from horae.lifecycle.fire import fire, park_unroutable
from horae.lifecycle.plan import Draft, build_task
from horae.lifecycle.recover import recover, release
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change, Facts, combine_decisions, facts_after
from horae.model.entry import EntryKind, EntryState
from horae.model.gate import (
    GATE_STATE_BYTES,
    Gate,
    GateLimit,
    GateProgress,
    GateVerdict,
    NoVerdictError,
    check_output,
    gate_wait,
    read_verdict,
    state_write,
    verdict_json,
)
from horae.model.inputs.run_input import RunInput, parse_input, with_gate
from horae.model.lanes.route import missing_route
from horae.model.limits import RESULT_BYTES, TARGET_BYTES
from horae.model.origin import Origin
from horae.model.outcome import Cancelled, Failed, Settlement, Skipped, Succeeded, TimedOut, Waiting
from horae.model.policy import OVERLAPS, Policies, RetryPolicy, from_json, to_json
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import NEW_TASK_STATUS, PauseCause, Target, TaskState, TaskStatus
from horae.schedule import After, Every
from horae.schedule.after import Link
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
@pytest.mark.parametrize("gate", [GateProgress(3), GateProgress(0, VERDICT), GateProgress(only=True)])
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


def test_verdict_of_a_check_leaves_out_data_that_is_too_large() -> None:
    assert json.loads(verdict_json(VERDICT)) == {"run": True, "reason": "new", "state": 7, "data": "mail"}
    largest = VERDICT._replace(data=json.dumps("x" * (RESULT_BYTES - 2)), state=None)
    assert json.loads(verdict_json(largest)) == {
        "run": True,
        "reason": "new",
        "state": None,
        "data_bytes": RESULT_BYTES,
    }


def checked(task: Any = None, **fields: Any) -> tuple[Facts, Any]:
    """Facts with a live check of the gate."""
    task = gated() if task is None else task
    run = a_run(task, origin=Origin.MANUAL, input=with_gate(None, GateProgress(only=True)), **fields)
    return Facts(task, NEW_TASK_STATUS, (an_entry(task, due=NOON + HOUR),), (run,)), run


@pytest.mark.parametrize("outcome", [Skipped("new", Reason.GATE_CHECKED), Failed("no"), Cancelled(), TimedOut()])
def test_end_of_a_check_changes_only_its_run(outcome: Any) -> None:
    facts, run = checked()
    change = settle(facts, run, Settlement(run.id, run.token, outcome, run.started, NOON + MINUTE, VERDICT))
    (ended,) = change.updated_runs
    assert (change.status, change.put, change.attached, ended.live) == (None, (), (), False)
    assert (ended.result_json is None) is not isinstance(outcome, Skipped)


def test_lost_check_is_not_repeated() -> None:
    facts, run = checked()
    for change in (recover(facts, run, NOON), release(facts, run, NOON)):
        assert (change.put, change.status, change.updated_runs[0].state) == ((), None, RunState.LOST)
    with pytest.raises(Refusal, match="lost"):
        request_retry(facts._replace(live=()), run._replace(state=RunState.LOST), NOON)


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_check_and_run_of_a_task_do_not_concern_each_other(overlap: Any) -> None:
    gate = replace(GATE, state=False)
    retry = RetryPolicy(superseded_by_next=False)
    task = a_task(schedule=Every(interval=HOUR), policies=Policies(gate=gate, overlap=overlap, retry=retry))
    context = ClaimContext(NODE, NOON + HOUR, SECOND)
    facts, check = checked(task)
    started = fire(facts, facts.entries[0], 2, context)
    assert ([run.state for run in started.new_runs], started.cancelled) == ([RunState.RUNNING], ())
    running = facts._replace(live=(a_run(task),))
    waiting = an_entry(task, slot="retry", kind=EntryKind.RETRY, due=NOON + 2 * HOUR, planned=NOON, attempt=2)
    for before in (running, running._replace(live=(), entries=(*running.entries, waiting))):
        after = facts_after(before, check_gate(before, NOON))
        (entry,) = [each for each in after.entries if each.kind is EntryKind.MANUAL]
        change = fire(after, entry, 2, context)
        assert [(run.state, run.input) for run in change.new_runs] == [(RunState.RUNNING, check.input)]
        assert (change.cancelled, change.dropped) == ((), (entry.slot,))
        with pytest.raises(Refusal, match="requested already"):
            check_gate(after, NOON)
    idle = facts_after(running._replace(live=()), check_gate(running._replace(live=()), NOON))
    assert run_now(idle, NOON + MINUTE, fires=False).put
    with pytest.raises(Refusal, match="no gate to check"):
        check_gate(facts._replace(task=a_task()), NOON)


@pytest.mark.parametrize(("gate", "deaths"), [(None, 0), (GATE, 1)])
def test_claimed_run_is_repeated_and_its_gate_may_have_killed_the_node(gate: Gate | None, deaths: int) -> None:
    task = a_task(policies=Policies(gate=gate, guarantee="at_most_once"))
    run = a_run(task, state=RunState.CLAIMED, started=None)
    (entry,) = recover(Facts(task, NEW_TASK_STATUS, (), (run,)), run, NOON).put
    assert (entry.kind, entry.deaths) == (EntryKind.RETRY, deaths)


class Steps:
    """A gated task, hourly from noon, whose facts follow its decisions."""

    def __init__(self, entry: Any = None, **policies: Any) -> None:
        self.task = a_task(schedule=Every(interval=HOUR), policies=Policies(gate=GATE, **policies))
        self.facts = Facts(self.task, NEW_TASK_STATUS, (entry or an_entry(self.task),))
        self.rows: list[Any] = []

    def apply(self, change: Any) -> Any:
        self.facts = facts_after(self.facts, change)
        self.rows += [run for run in (*change.new_runs, *change.updated_runs) if not run.live]
        return change

    def fire(self, kind: EntryKind, now: Any) -> Any:
        (entry,) = (each for each in self.facts.entries if each.kind is kind)
        return self.apply(fire(self.facts, entry, 1, ClaimContext(NODE, now, 10 * SECOND)))

    def settle(self, outcome: Any, now: Any, verdict: GateVerdict | None = None) -> Any:
        (run,) = self.facts.live
        return self.apply(settle(self.facts, run, Settlement(run.id, run.token, outcome, run.started, now, verdict)))

    def entry(self, kind: EntryKind) -> Any:
        return next(each for each in self.facts.entries if each.kind is kind)


@pytest.mark.parametrize("overlap", ["skip", "parallel"])
def test_occurrences_wait_for_a_failing_gate_and_are_one_row(overlap: Any) -> None:
    steps = Steps()
    policies = Policies(gate=replace(GATE, state=False), overlap=overlap)
    steps.facts = steps.facts._replace(task=steps.task._replace(policies=policies))
    steps.fire(EntryKind.NEXT, NOON)
    steps.settle(FAILED, NOON + 50 * MINUTE)
    retry = steps.entry(EntryKind.RETRY)
    assert (retry.due, retry.forgiven) == (NOON + 52 * MINUTE, 1)
    why = explain(steps.facts, steps.rows, NOON, NOON + 51 * MINUTE)
    assert "Its words: boom. It is tried again" in why.english
    assert "failed 1 time in a row" in why.english
    assert "连续失败 1 次" in why.chinese
    # The node comes late: the next occurrence is due before the retry has started.
    steps.fire(EntryKind.NEXT, NOON + HOUR)
    assert steps.entry(EntryKind.NEXT).state is EntryState.HELD
    why = explain(steps.facts, steps.rows, NOON + HOUR, NOON + HOUR)
    assert "the gate of an earlier occurrence fails and is tried again at" in why.english
    now = NOON + 2 * HOUR + MINUTE
    steps.fire(EntryKind.RETRY, now)
    assert steps.entry(EntryKind.NEXT).state is EntryState.HELD
    steps.settle(Succeeded(), now + MINUTE, GateVerdict(is_open=True, at=now))
    stretch = next(row for row in steps.rows if row.span is not None)
    assert (stretch.reason, stretch.span.count) == (Reason.GATE_FAILED, 2)
    assert [entry.due for entry in steps.facts.entries] == [NOON + 3 * HOUR]
    why = explain(steps.facts, [row for row in steps.rows if row.planned == NOON], NOON, now + HOUR)
    assert "requested" not in why.english


def test_chained_occurrence_does_not_wait_for_a_failing_gate() -> None:
    steps = Steps(an_entry(a_task(), kind=EntryKind.CHAIN, origin=Origin.CHAIN, slot="chain/1"))
    steps.task = steps.task._replace(schedule=After(links=(Link(task="tsk_1"),)))
    first = steps.facts.entries[0]._replace(task_id=steps.task.id)
    steps.facts = Facts(steps.task, NEW_TASK_STATUS, (first,))
    steps.fire(EntryKind.CHAIN, NOON)
    steps.settle(FAILED, NOON + SECOND)
    later = first._replace(slot="chain/2", due=NOON + MINUTE, planned=NOON + MINUTE)
    steps.facts = steps.facts._replace(entries=(*steps.facts.entries, later))
    change = steps.fire(EntryKind.CHAIN, NOON + MINUTE)
    assert [row.reason for row in change.new_runs] == [Reason.GATE_FAILED]


def test_eighth_failure_records_the_stretch_and_a_schedule_that_ends_with_it() -> None:
    steps = Steps()
    steps.task = steps.task._replace(schedule=Every(interval=HOUR, end=NOON + HOUR))
    steps.facts = steps.facts._replace(task=steps.task)
    steps.fire(EntryKind.NEXT, NOON)
    (run,) = steps.facts.live
    held = an_entry(steps.task, due=NOON + HOUR)._replace(state=EntryState.HELD)
    steps.facts = steps.facts._replace(live=(run._replace(input=with_gate(None, GateProgress(7))),), entries=(held,))
    change = steps.settle(FAILED, NOON + 2 * HOUR)
    assert [row.reason for row in change.new_runs] == [Reason.GATE_FAILED]


def test_gates_are_checked_with_their_task() -> None:
    draft = Draft("ada", "work", Every(interval=HOUR), Target("http", "{}"), "{}", Policies(gate=GATE))
    assert build_task(draft, "tsk_1", NOON).policies.gate == GATE
    large = Gate("function", '{"name":"' + "x" * TARGET_BYTES + '"}')
    with pytest.raises(InvalidTask, match="bytes"):
        build_task(draft._replace(policies=Policies(gate=large)), "tsk_1", NOON)
    with pytest.raises(InvalidTask, match="parallel"):
        Policies(gate=GATE, overlap="parallel")


def test_answers_beyond_the_limits_are_no_verdicts() -> None:
    with pytest.raises(NoVerdictError, match="not true or false"):
        read_verdict({"run": "yes"}, NOON)
    with pytest.raises(NoVerdictError, match="state of its verdict has"):
        read_verdict({"run": True, "state": "x" * GATE_STATE_BYTES}, NOON)
    assert state_write("tsk_1", "ada", read_verdict({"run": True}, NOON)) is None


def test_verdict_beyond_the_quota_of_its_owner_names_the_command() -> None:
    limit = GateLimit(10, "horae owner set ada --quota gate_bytes=")
    check_output(VERDICT._replace(data='"12345678"', state='"12345678"'), limit)
    for verdict in (VERDICT._replace(data='"123456789"'), VERDICT._replace(data="1", state='"123456789"')):
        with pytest.raises(NoVerdictError, match="horae owner set ada --quota gate_bytes=11"):
            check_output(verdict, limit)
    check_output(VERDICT._replace(data="1", state=None), limit)


def test_closed_gate_quotes_its_words() -> None:
    steps = Steps()
    steps.fire(EntryKind.NEXT, NOON)
    steps.settle(Skipped("nothing new", Reason.GATE_CLOSED), NOON + SECOND, VERDICT._replace(is_open=False))
    why = explain(steps.facts, steps.rows, NOON, NOON + MINUTE)
    assert "Its words: nothing new" in why.english


def test_entries_of_the_first_decision_may_be_dropped_by_the_second() -> None:
    task = gated()
    facts = Facts(task, NEW_TASK_STATUS)
    entry = an_entry(task)
    combined = combine_decisions(facts, Change(put=(entry,)), lambda _after: Change(dropped=(entry.slot,)))
    assert (combined.put, combined.dropped) == ((), (entry.slot,))
