"""Operations as records: round trips, and silence counts as interruption."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from horae.model.accounts.operation import (
    HEARTBEAT_TIMEOUT,
    OPERATION_RETENTION,
    UNDO_PERIOD,
    Operation,
    OperationState,
    RefusedTask,
    operation_from,
    operation_in_slot,
    operation_record,
    take_slot,
)

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
FIRST = Operation("opn_1", "ada", None, "pause", {"state": ["active"]}, {"note": "x"}, NOON, NOON)
LAST = FIRST._replace(
    agent="robot",
    state=OperationState.CANCELLED,
    total=3,
    done=1,
    refused=2,
    refusals=(RefusedTask("tsk_1", "report", "no_right", "No.", "不行。"),),
    cancelling=True,
    ended=NOON + timedelta(minutes=1),
    problem="token_revoked",
    version=7,
)


@pytest.mark.parametrize("operation", [FIRST, LAST])
def test_operation_record_round_trip(operation: Operation) -> None:
    record = operation_record(operation)
    assert operation_from(record) == operation
    assert (record.owner, record.expires) == ("ada", NOON + OPERATION_RETENTION)


def test_lone_surrogate_is_kept_as_escape() -> None:
    record = operation_record(FIRST._replace(filter={"text": "\ud800"}))
    assert record.body.encode()
    assert operation_from(record).filter == {"text": "\ud800"}


def test_silent_operation_is_interrupted() -> None:
    assert FIRST.as_of(NOON + HEARTBEAT_TIMEOUT) is FIRST
    after = FIRST.as_of(NOON + HEARTBEAT_TIMEOUT + timedelta(microseconds=1))
    assert (after.state, after.ended) == (OperationState.INTERRUPTED, NOON)
    assert LAST.as_of(NOON + timedelta(days=1)) is LAST


def test_one_operation_per_owner() -> None:
    first = take_slot(FIRST, None)
    assert (first.record.key, first.replacing, operation_in_slot(first.record)) == ("ada", None, "opn_1")
    second = take_slot(FIRST._replace(id="opn_2"), first.record)
    assert (second.record.key, second.replacing, operation_in_slot(second.record)) == (
        "ada",
        first.record.version,
        "opn_2",
    )


def test_operation_can_be_undone_for_a_while_after_its_end() -> None:
    end = NOON + timedelta(minutes=1)
    paused = FIRST._replace(state=OperationState.FINISHED, ended=end, changed=2)
    assert paused.undo_until == end + UNDO_PERIOD
    assert paused.can_undo(end + UNDO_PERIOD)
    assert not paused.can_undo(end + UNDO_PERIOD + timedelta(microseconds=1))
    assert not paused._replace(undone_by="opn_2").can_undo(end)
    for other in (paused._replace(action="run"), paused._replace(changed=0), FIRST._replace(changed=2)):
        assert other.undo_until is None
        assert not other.can_undo(end)
    killed = paused._replace(state=OperationState.INTERRUPTED, changed=0)
    assert killed.can_undo(end), "its last changes were not counted"
