"""What a status of a station means for the run, of a plan and of an ordinary task."""

from __future__ import annotations

import pytest

from horae.model.outcome import Failed, Skipped, Succeeded
from horae.model.plans.codes import ERROR_FLAG, FrameType, Status
from horae.model.reason import Reason
from horae.stations.calls import Answer, outcome_of
from horae.stations.frames import Frame


@pytest.mark.parametrize("status", [each for each in Status if each > ERROR_FLAG])
def test_every_status_above_the_flag_is_executed_again_by_a_plan(status: Status) -> None:
    """「如执行结果状态为错误(> ZERO_STATUS_ERROR_FLAG)」: only a plan that its station calls wrong is not."""
    outcome = outcome_of(Answer(status), is_plan=True)
    assert isinstance(outcome, Failed)
    assert outcome.permanent is (status is Status.PLAN_ERROR)


@pytest.mark.parametrize("status", [each for each in Status if each < ERROR_FLAG])
def test_every_status_below_the_flag_is_a_success(status: Status) -> None:
    """「如执行结果状态为正确(< ZERO_STATUS_ERROR_FLAG)」"""
    assert outcome_of(Answer(status), is_plan=True) == outcome_of(Answer(status)) == Succeeded(None)


def test_refusal_of_a_station_ends_the_occurrence_of_a_plan_and_fails_a_task() -> None:
    answer = Answer(Status.FAILED, (Frame(FrameType.CONTENT_TEXT, b"out of stock"),))
    assert outcome_of(answer, is_plan=True) == Skipped("FAILED: out of stock")
    assert outcome_of(answer) == Failed("FAILED: out of stock", permanent=True)


@pytest.mark.parametrize(
    ("frames", "of_a_plan", "of_a_task"),
    [
        ([("T", b"wet")], '"wet"', '"wet"'),
        ([("J", b'{"a": 1}'), ("J", b"null")], '{"content":{"a":1},"values":[null]}', None),
        ([("B", b"\0\1")], '{"content":"AAE=","values":[],"frames":[["B","AAE="]]}', '"AAE="'),
        ([("J", b'"wet"')], '"wet"', '"wet"'),
        ([("T", b"a"), ("X", b"<b/>")], '{"content":"a","values":["<b/>"],"frames":[["T","a"],["X","<b/>"]]}', None),
    ],
)
def test_result_of_a_plan_lists_frames_that_its_values_do_not_tell(
    frames: list[tuple[str, bytes]], of_a_plan: str, of_a_task: str | None
) -> None:
    answer = Answer(Status.OK, tuple(Frame(FrameType(ord(kind)), data) for kind, data in frames))
    assert outcome_of(answer, is_plan=True) == Succeeded(of_a_plan)
    if of_a_task is not None:
        assert outcome_of(answer) == Succeeded(of_a_task)


def test_vote_with_a_refusal_keeps_the_votes() -> None:
    votes = Frame(FrameType.CONTENT_JSON, b'{"ann":{"status":128,"content":"no"}}')
    outcome = outcome_of(Answer(Status.FAILED, (votes,), is_ballot=True), is_plan=True)
    assert outcome == Succeeded('{"ann":{"status":128,"content":"no"}}')


@pytest.mark.parametrize(
    ("status", "reason", "is_final"),
    [
        (Status.ARGUMENT_INVALID, Reason.TARGET_FAILED, True),
        (Status.ERROR, Reason.TARGET_FAILED, False),
        (Status.NOT_FOUND, Reason.TARGET_UNKNOWN, True),
        (Status.NOT_SUPPORTED, Reason.TARGET_UNKNOWN, True),
        (Status.NO_WORKER, Reason.NO_WORKER, False),
        (Status.NET_ERROR, Reason.WORKER_LOST, False),
        (Status.SEND_ERROR, Reason.NOT_CALLED, False),
        (Status.RECEIVE_ERROR, Reason.NO_ANSWER, False),
        (Status.DENIED, Reason.TARGET_NOT_ALLOWED, True),
    ],
)
def test_errors_of_an_ordinary_task_have_their_reason(status: Status, reason: Reason, is_final: bool) -> None:  # noqa: FBT001
    outcome = outcome_of(Answer(status))
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.permanent) == (reason, is_final)


def test_call_that_may_have_begun_is_not_repeated_under_at_most_once() -> None:
    lost = Answer(Status.NET_ERROR, may_have_run=True)
    outcome = outcome_of(lost, is_plan=True, is_at_most_once=True)
    assert isinstance(outcome, Failed)
    assert outcome.permanent
