"""The byte values of Zero's protocol are those of its programs, second generation; the first generation can be read."""

from __future__ import annotations

import pytest

from horae.model.plans.codes import (
    CONTENT_FRAMES,
    ERROR_FLAG,
    FIRST_GENERATION,
    STATUS_TEXTS,
    CommandByte,
    FrameType,
    PlanEvent,
    PlanState,
    StationState,
    StationType,
    Status,
    StatusText,
    is_error,
    read_frame_type,
    read_status,
)


def test_frame_types_have_the_bytes_of_the_protocol() -> None:
    assert [FrameType(byte).name for byte in range(10)] == [
        *("END", "GLOBAL_ID", "STATION_ID", "STATUS", "REQUEST_ID"),
        *("PLAN", "PLAN_TIME", "SERVICE_KEY", "LOCAL_ID", "STATION_TYPE"),
    ]
    assert (FrameType.CALL_ID, FrameType.DATA_DIRECTION) == (0x0B, 0x0C)
    assert [FrameType(0x10 + number).name for number in range(8)] == [f"ORIGINAL_{number + 1}" for number in range(8)]
    assert bytes([FrameType.COMMAND, FrameType.ARGUMENT, FrameType.PUB_TITLE, FrameType.CONTEXT]) == b"$%*#"
    assert bytes([FrameType.REQUESTER, FrameType.RESPONDER]) == b"><"
    assert bytes(sorted(CONTENT_FRAMES)) == b"BJTX"
    assert int(FrameType.SUB_TITLE) == ord("$")
    assert (FrameType.RESULT_END, FrameType.EXTEND_END) == (0xFE, 0xFF)


def test_command_bytes_have_the_values_of_the_protocol() -> None:
    assert [CommandByte(byte).name for byte in (1, 2, 3, 4)] == ["NONE", "PLAN", "PROXY", "RESTART"]
    assert bytes(each for each in CommandByte if each > 4) == b">#%-*JRPL"


def test_statuses_of_the_second_generation() -> None:
    assert [each.value for each in Status] == [
        *(0, 1, 2, 3, 4, 5, 6, 0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x80, 0x81),
        *(0xD0, 0xD1, 0xD2, 0xF0, 0xF1, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9),
    ]
    assert (Status.PLAN_ERROR, Status.SEND_ERROR, Status.RECEIVE_ERROR, Status.DENIED) == (0xF6, 0xF7, 0xF8, 0xF9)


@pytest.mark.parametrize("status", list(Status))
def test_statuses_above_the_flag_are_errors(status: Status) -> None:
    """「如执行结果状态为错误(> ZERO_STATUS_ERROR_FLAG)」"""
    assert is_error(status) == (status.value > ERROR_FLAG)


def test_a_failure_of_the_target_is_no_error_of_the_call() -> None:
    assert not is_error(Status.FAILED)


def test_plan_and_station_states_and_events_are_numbered_as_there() -> None:
    assert [each.name for each in PlanState][:8] == [
        *("NONE", "QUEUED", "EXECUTING", "RETRYING", "SKIPPING", "PAUSED", "ERROR", "CLOSED"),
    ]
    assert [each.value for each in PlanState] == list(range(9))
    assert [each.value for each in PlanEvent] == list(range(1, 9))
    assert [each.value for each in StationState] == list(range(11))
    assert [each.value for each in StationType] == [1, 2, 3, 4, 5, 6, 0xFD, 0xFE, 0xFF]


def test_every_status_that_is_sent_has_a_text() -> None:
    assert set(Status) - set(STATUS_TEXTS) == {Status.NONE, Status.PAUSE}
    assert set(StatusText) - set(STATUS_TEXTS.values()) == {StatusText.PLAN_INVALID}
    assert all((text[0] == "-") == (status >= ERROR_FLAG) for status, text in STATUS_TEXTS.items())


def test_bytes_of_the_first_generation_are_read() -> None:
    assert read_status(0x81, first_generation=True) is Status.ERROR
    assert read_status(0x8B, first_generation=True) is Status.PLAN_ERROR
    assert read_status(0x06, first_generation=True) is None
    assert read_frame_type(ord("@"), first_generation=True) is FrameType.COMMAND
    assert read_frame_type(5, first_generation=True) is FrameType.PLAN
    assert set(FIRST_GENERATION.values()) < set(Status)


def test_unknown_bytes_are_none() -> None:
    assert read_status(0xF0) is Status.ERROR
    assert read_status(0x99) is None
    assert read_frame_type(0x99) is None
    assert read_frame_type(ord("@")) is None
