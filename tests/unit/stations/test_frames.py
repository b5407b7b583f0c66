"""Codec of station messages: test vectors, round trips, limits, and arbitrary bytes that never raise."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.model.plans.codes import FIRST_GENERATION, CommandByte, FrameType, Status
from horae.stations.frames import (
    MAX_FRAME_BYTES,
    MAX_FRAMES,
    MAX_MESSAGE_BYTES,
    MAX_NAME_BYTES,
    Flaw,
    Frame,
    Malformed,
    Message,
    caller_of,
    decode_message,
    encode_json,
    encode_message,
    plan_id_of,
    status_name,
)

from ...sizes import sized
from .vectors import load_vectors, parts_of

VECTORS = load_vectors()
NOT_A_FRAME = {FrameType.END, FrameType.RESULT_END, FrameType.EXTEND_END}
TYPES = [each for each in FrameType if each not in NOT_A_FRAME]
CODES = sorted({*map(int, CommandByte), *map(int, Status)})


@pytest.mark.parametrize("vector", VECTORS["valid"], ids=lambda vector: str(vector["name"]))
def test_valid_vectors_are_read_and_written(vector: dict[str, object]) -> None:
    is_first = vector.get("generation") == 1
    message = decode_message(parts_of(vector), first_generation=is_first)
    assert isinstance(message, Message), message
    assert message.code == vector["code"]
    assert [[frame.type.name, frame.data.hex()] for frame in message.frames] == vector["frames"]
    if not vector.get("read_only"):
        assert encode_message(message.code, message.frames) == parts_of(vector)


@pytest.mark.parametrize("vector", VECTORS["malformed"], ids=lambda vector: str(vector["name"]))
def test_malformed_vectors_are_refused(vector: dict[str, object]) -> None:
    read = decode_message(parts_of(vector))
    assert isinstance(read, Malformed)
    assert read.flaw.value == vector["flaw"]


@given(
    st.sampled_from(CODES), st.lists(st.tuples(st.sampled_from(TYPES), st.binary(max_size=300)), max_size=MAX_FRAMES)
)
def test_what_is_written_is_read_again(code: int, frames: list[tuple[FrameType, bytes]]) -> None:
    read = decode_message(encode_message(code, frames))
    assert read == Message(code, tuple(Frame(*each) for each in frames))


@given(st.lists(st.binary(max_size=40), max_size=8), st.booleans())
def test_arbitrary_parts_never_raise(parts: list[bytes], is_first: bool) -> None:  # noqa: FBT001 - a property
    assert isinstance(decode_message(parts, first_generation=is_first), Message | Malformed)


def test_mutated_messages_never_raise_and_are_read_exactly_or_refused() -> None:
    """Fuzz: valid messages with flipped, added and removed bytes and parts."""
    source = random.Random(17)
    valid = [parts_of(vector) for vector in VECTORS["valid"]]
    refused = 0
    for _ in range(sized(3_000, soak=100_000)):
        parts = list(source.choice(valid))
        for _ in range(source.randint(1, 4)):
            _mutate(source, parts)
        read = decode_message(parts)
        if isinstance(read, Malformed):
            refused += 1
            continue
        assert [frame.data for frame in read.frames] == parts[1:]
        assert read.code == parts[0][1]
        assert parts[0][0] == len(read.frames)
    assert refused > 1_000


def _mutate(source: random.Random, parts: list[bytes]) -> None:
    if not parts or source.random() < 0.1:
        parts.insert(source.randint(0, len(parts)), source.randbytes(source.randint(0, 9)))
        return
    place = source.randrange(len(parts))
    data = bytearray(parts[place])
    action = source.randrange(4)
    if action == 0 and data:
        data[source.randrange(len(data))] = source.randrange(256)
    elif action == 1:
        data.insert(source.randint(0, len(data)), source.randrange(256))
    elif action == 2 and data:
        del data[source.randrange(len(data))]
    else:
        del parts[place]
        return
    parts[place] = bytes(data)


def test_limits_hold_in_both_directions() -> None:
    name, content = FrameType.STATION_ID, FrameType.CONTENT_JSON
    fits: list[list[tuple[FrameType, bytes]]] = [
        [(name, b"x" * MAX_NAME_BYTES)],
        [(content, b"x" * MAX_FRAME_BYTES)],
        [(content, b"")] * MAX_FRAMES,
    ]
    for frames in fits:
        assert isinstance(decode_message(encode_message(Status.OK, frames)), Message)
    too_much: list[tuple[list[tuple[FrameType, bytes]], Flaw]] = [
        ([(name, b"x" * (MAX_NAME_BYTES + 1))], Flaw.FRAME_TOO_LONG),
        ([(content, b"x" * (MAX_FRAME_BYTES + 1))], Flaw.FRAME_TOO_LONG),
        ([(content, b"")] * (MAX_FRAMES + 1), Flaw.TOO_MANY_FRAMES),
        ([(content, b"x" * (MAX_MESSAGE_BYTES // 3))] * 3 + [(content, b"xx")], Flaw.MESSAGE_TOO_LONG),
    ]
    for frames, flaw in too_much:
        with pytest.raises(ValueError, match=flaw.value):
            encode_message(Status.OK, frames)
        parts = [bytes([len(frames), Status.OK, *(each for each, _ in frames)]), *(data for _, data in frames)]
        read = decode_message(parts)
        assert isinstance(read, Malformed)
        assert read.flaw is flaw


def test_statuses_of_the_first_generation_are_read_as_those_of_the_second() -> None:
    for byte, status in FIRST_GENERATION.items():
        if byte not in (0x23, 0x25):  # the bytes of the commands WAITING and FIND_RESULT
            assert decode_message([bytes([0, byte])], first_generation=True) == Message(status)


def test_first_content_frame_is_the_content_and_later_ones_are_values() -> None:
    """后续帧中如果有ZERO_FRAME_CONTENT,处理站点会因为已接收内容而放在Values中."""
    frames = [(FrameType.CONTENT_JSON, b"1"), (FrameType.STATUS, b"x"), (FrameType.CONTENT_TEXT, b"2")]
    message = decode_message(encode_message(Status.OK, frames))
    assert isinstance(message, Message)
    assert [frame.data for frame in message.contents] == [b"1", b"2"]


def test_caller_and_plan_id_are_inverse() -> None:
    """「发送者名称为虚拟名称 *:[plan_id]」; 「根据请求者名称还原任务标识」."""
    for plan_id in (0, 1, 0x7FFF_FFFF_FFFF_FFFF):
        assert plan_id_of(caller_of(plan_id)) == plan_id
    for text in (
        "",
        "*:",
        "0000000000000001",
        "*:1",
        "*:000000000000000G",
        "*:00000000000000001",
        "x:0000000000000001",
    ):
        assert plan_id_of(text) is None


def test_frames_that_are_no_text_or_json_read_as_absent() -> None:
    message = Message(Status.OK, (Frame(FrameType.STATION_ID, b"\xff"), Frame(FrameType.CONTEXT, b"[" * 100_000)))
    assert message.text(FrameType.STATION_ID) is None
    assert message.text(FrameType.LOCAL_ID) is None
    assert message.json(FrameType.CONTEXT) is None
    assert message.json(FrameType.PLAN) is None
    assert Message(1, (Frame(FrameType.CONTEXT, b"NaN"),)).json(FrameType.CONTEXT) is None
    assert encode_json({"text": "计划"}) == '{"text":"计划"}'.encode()


def test_status_names() -> None:
    assert status_name(Status.NO_WORKER) == "NO_WORKER"
    assert status_name(0x50) == "0x50"
