"""Texts of ordinary starts and successes equal those of the encoders of documents."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.outcome import Settlement, Succeeded
from horae.model.policy import Policies
from horae.model.reason import Reason
from horae.model.run import Run
from horae.model.task import NEW_TASK_STATUS, Pause, PauseCause, TaskStatus
from horae.schedule import Once
from horae.stores.redis.layout.documents import (
    TaskDocument,
    decode_task_document,
    encode_event_text,
    encode_run_document,
    encode_state_line,
    encode_task_document,
    parse_task_document,
)
from horae.stores.redis.layout.ordinary_texts import (
    document_after_start,
    run_after_success,
    start_event_text,
    start_state_line,
    success_event_texts,
    success_run_text,
    success_state_line,
)
from horae.stores.sql.claims.ordinary_batch import start_of, success_of
from horae.testing.factories import HOUR, NODE, NOON, SECOND, a_run, a_settlement, a_task, an_entry

NUMBER = 17
compared: Counter[str] = Counter()


def _fire_and_compare(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    change = fire(facts, entry, token, claim)
    start = start_of(change)
    if start is not None and change.status is not None:
        compared["start"] += 1
        after = TaskDocument(NUMBER, facts.task, change.status, change.put, change.new_runs)
        assert document_after_start(NUMBER, facts.task, start) == after
        assert start_state_line(NUMBER, start) == encode_state_line(after)
        assert [start_event_text(start.run)] == [encode_event_text(event) for event in change.events]
    return change


def _settle_and_compare(facts: Facts, run: Run, report: Settlement) -> Change:
    change = settle(facts, run, report)
    success = success_of(change)
    if success is not None:
        compared["success"] += 1
        (ended,) = change.updated_runs
        after = TaskDocument(NUMBER, facts.task, success.status, facts.entries, ())
        assert run_after_success(run, success) == ended
        assert success_run_text(run, success) == encode_run_document(ended)
        assert success_state_line(after) == encode_state_line(after)
        events = [(event.owner, encode_event_text(event)) for event in change.events]
        assert list(success_event_texts(facts.task, run, success)) == events
    return change


STATUSES = (
    NEW_TASK_STATUS,
    NEW_TASK_STATUS._replace(counted=3, last_end=NOON, last_result='"浇花 🌱"'),
    NEW_TASK_STATUS._replace(failures=2, last_end=NOON),
    NEW_TASK_STATUS._replace(pause=Pause(NOON, PauseCause.REQUESTED, 'until "May"', NOON + HOUR)),
    NEW_TASK_STATUS._replace(reason=Reason.CANCELLED),
)


@pytest.mark.parametrize("owner", ["ada", 'a"b\\c\n', "浇花", "half \ud83c"])
@pytest.mark.parametrize("result", [None, '"done"', '{"a": "\\u0000"}', '"浇花 🌱"', '"half \ud83c"'])
@pytest.mark.parametrize("status", STATUSES)
def test_texts_of_unusual_values(owner: str, result: str | None, status: TaskStatus) -> None:
    for schedule in (Once(at=NOON), a_task().schedule):
        task = a_task(owner=owner, schedule=schedule)
        entry = an_entry(task)
        claim = ClaimContext(NODE, NOON + SECOND, HOUR, frozenset({"function:garden.water"}))
        change = _fire_and_compare(Facts(task, status, (entry,), ()), entry, 7, claim)
        if not change.new_runs:
            continue
        (run,) = change.new_runs
        facts = Facts(task, change.status or status, change.put, (run,))
        _settle_and_compare(facts, run, a_settlement(run, outcome=Succeeded(result), ended=NOON + HOUR))


@pytest.mark.parametrize(
    "fields", [{"deadline": NOON + HOUR}, {"deaths": 1}, {"in_order": True}, {"due": NOON + timedelta(microseconds=1)}]
)
def test_text_of_a_run_with_details(fields: dict[str, Any]) -> None:
    task = a_task(schedule=Once(at=NOON))
    run = a_run(task, **fields)
    compared.clear()
    _settle_and_compare(Facts(task, NEW_TASK_STATUS, (), (run,)), run, a_settlement(run))
    assert compared["success"]


def test_a_start_under_at_most_once_is_not_running_yet() -> None:
    task = a_task(schedule=Once(at=NOON), policies=Policies(guarantee="at_most_once"))
    entry = an_entry(task)
    compared.clear()
    claim = ClaimContext(NODE, NOON + SECOND, HOUR, frozenset({"function:garden.water"}))
    _fire_and_compare(Facts(task, NEW_TASK_STATUS, (entry,), ()), entry, 7, claim)
    assert compared["start"]


def test_a_state_line_is_read_back() -> None:
    task, status = a_task(owner="浇花"), NEW_TASK_STATUS._replace(counted=1, last_end=NOON)
    document = TaskDocument(NUMBER, task, status, (an_entry(task),))
    stored = parse_task_document(encode_task_document(document))
    assert stored.document == document
    assert stored.status == status
    assert encode_task_document(document).encode()[stored.state_at :].decode() == success_state_line(document)
    assert decode_task_document(encode_task_document(document)) == document
