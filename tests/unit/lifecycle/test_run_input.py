"""Inputs in the lifecycle: what inherits the input of a request, and what does not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from horae.errors import Refusal
from horae.lifecycle.control import control, edit
from horae.lifecycle.explain.explanation import explain
from horae.model.change import Facts
from horae.model.entry import EntryKind, EntryState
from horae.model.inputs.run_input import RunInput
from horae.model.run import Origin, RunState
from horae.model.task import NEW_TASK_STATUS
from horae.testing.factories import DAY, HOUR, MINUTE, NOON, a_run, a_task, an_ended_run, an_entry, an_extra_entry

MERGE = RunInput("merge", '{"a":1}')
OTHER = RunInput("replace", "{}")


def facts_of(**fields: Any) -> Facts:
    task = a_task(created=NOON - 30 * DAY)
    return Facts(task, NEW_TASK_STATUS)._replace(**fields)


def test_request_has_its_input() -> None:
    (entry,) = control.run_now(facts_of(), NOON, MERGE).put
    assert (entry.kind, entry.input) == (EntryKind.MANUAL, MERGE)


@pytest.mark.parametrize(("given", "expected"), [(None, MERGE), (OTHER, OTHER)])
def test_requested_retry_has_the_input_of_the_last_run_or_its_own(given: RunInput | None, expected: RunInput) -> None:
    facts = facts_of()
    last = an_ended_run(facts.task, state=RunState.FAILED, input=MERGE)
    (entry,) = control.request_retry(facts, last, NOON + MINUTE, given).put
    assert entry.input == expected


def test_waiting_retry_takes_the_input_of_a_request_and_stays_due() -> None:
    facts = facts_of()
    last = an_ended_run(facts.task, state=RunState.FAILED)
    waiting = an_entry(facts.task, slot="retry", kind=EntryKind.RETRY, due=NOON, attempt=2, input=MERGE)
    facts = facts._replace(entries=(waiting,))
    later = NOON + MINUTE
    assert control.request_retry(facts, last, later).put == ()
    assert control.request_retry(facts, last, later, OTHER).put == (waiting._replace(input=OTHER),)
    early = NOON - MINUTE
    assert control.request_retry(facts, last, early).put == (waiting._replace(due=early),)


def test_large_input_of_a_backfill_counts_once_for_each_run() -> None:
    facts, large = facts_of(), RunInput("replace", f'"{"x" * 250_000}"')
    (entry,) = edit.backfill(facts, NOON - 10 * HOUR, NOON, NOON, given=large).put
    assert entry.input == large
    with pytest.raises(Refusal) as refusal:
        edit.backfill(facts, NOON - 20 * DAY, NOON, NOON, given=large)
    assert refusal.value.code == "backfill_input_too_large"
    assert refusal.value.facts["count"] == 481


@pytest.mark.parametrize(
    ("given", "words"), [(MERGE, "Its input changes the task's payload."), (OTHER, "It has its own input"), (None, "")]
)
def test_why_names_the_input(given: RunInput | None, words: str) -> None:
    facts = facts_of()
    manual: dict[str, Any] = {"origin": Origin.MANUAL, "input": given}
    for run in (an_ended_run(facts.task, **manual), a_run(facts.task, **manual)):
        live = (run,) if run.live else ()
        answer = explain(facts._replace(live=live), (run,), NOON, NOON + MINUTE)
        assert words in answer.english
        assert ("输入" in answer.chinese) is (given is not None)
    for state in (EntryState.TIMED, EntryState.HELD):
        entry = an_extra_entry(facts.task, input=given, state=state)
        answer = explain(facts._replace(entries=(entry,)), (), NOON, NOON + timedelta(minutes=1))
        assert words in answer.english
