"""Codec of station messages: a description frame, then one frame for each type that it lists; malformed input is a value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias

from ..model.plans.codes import CONTENT_FRAMES, CommandByte, FrameType, Status, read_frame_type, read_status

MAX_FRAMES: Final = 64
MAX_FRAME_BYTES: Final = 512 * 1024
MAX_NAME_BYTES: Final = 512
"""Limit of frames that hold a name or a number."""
MAX_MESSAGE_BYTES: Final = 1024 * 1024
CALLER_MARK: Final = "*:"
"""Begins the virtual caller of a call that the node makes: an answer to it goes back to the run."""
_ENDS: Final = frozenset({FrameType.END, FrameType.RESULT_END, FrameType.EXTEND_END})
_LONG: Final = frozenset(
    {
        *CONTENT_FRAMES,
        FrameType.PLAN,
        FrameType.ARGUMENT,
        FrameType.CONTEXT,
        *(FrameType(number) for number in range(FrameType.ORIGINAL_1, FrameType.ORIGINAL_8 + 1)),
    }
)
_COMMANDS: Final = frozenset(int(each) for each in CommandByte)


def _types_by_byte(*, first_generation: bool) -> dict[int, FrameType]:
    found = {byte: read_frame_type(byte, first_generation=first_generation) for byte in range(256)}
    return {byte: each for byte, each in found.items() if each is not None and each not in _ENDS}


_TYPES: Final = _types_by_byte(first_generation=False)
_FIRST_TYPES: Final = _types_by_byte(first_generation=True)


class Flaw(StrEnum):
    """Why a message cannot be read."""

    EMPTY = "empty"
    DESCRIPTION = "description"
    COUNT = "count"
    CODE = "code"
    TYPE = "type"
    TOO_MANY_FRAMES = "too_many_frames"
    FRAME_TOO_LONG = "frame_too_long"
    MESSAGE_TOO_LONG = "message_too_long"


class Malformed(NamedTuple):
    flaw: Flaw
    detail: str = ""


class Frame(NamedTuple):
    type: FrameType
    data: bytes


class Message(NamedTuple):
    """`code` is a command of a request, or the status of an answer."""

    code: int
    frames: tuple[Frame, ...] = ()

    def first(self, frame_type: FrameType) -> bytes | None:
        return next((frame.data for frame in self.frames if frame.type is frame_type), None)

    def text(self, frame_type: FrameType) -> str | None:
        """Return the first frame of a type as text; None if there is none, or it is not UTF-8."""
        data = self.first(frame_type)
        try:
            return None if data is None else data.decode()
        except UnicodeDecodeError:
            return None

    def json(self, frame_type: FrameType) -> Any:
        """Return the first frame of a type as a JSON value; None if there is none, or it is not JSON."""
        return parse_json(self.first(frame_type))

    @property
    def contents(self) -> tuple[Frame, ...]:
        """Content frames in order: the first is the content, the later ones are further values."""
        return tuple(frame for frame in self.frames if frame.type in CONTENT_FRAMES)

    @property
    def is_answer(self) -> bool:
        """Whether it answers a call of the node: commands and statuses share bytes, and only an answer has such a caller."""
        caller = self.first(FrameType.REQUESTER)
        return caller is not None and caller.startswith(CALLER_MARK.encode())


Decoded: TypeAlias = Message | Malformed


def encode_message(code: int, frames: Sequence[tuple[FrameType, bytes]] = ()) -> list[bytes]:
    """Return the parts of a message; raises ValueError when a reader would refuse it."""
    parts = [bytes([len(frames), code, *(frame_type for frame_type, _ in frames)]), *(data for _, data in frames)]
    flaw = _check_sizes(parts) or _check_frames(frames)
    if flaw is not None:
        raise ValueError(f"{flaw.flaw}: {flaw.detail}")
    return parts


def decode_message(parts: Sequence[bytes], *, first_generation: bool = False) -> Decoded:
    """Return the message of these parts, or the first flaw. Never raises, whatever the parts hold."""
    flaw = _check_sizes(parts)
    if flaw is not None:
        return flaw
    description = parts[0]
    if len(description) < 2:
        return Malformed(Flaw.DESCRIPTION, f"{len(description)} bytes")
    count, code, types = description[0], description[1], description[2:]
    if len(types) == count + 1 and types[-1] in _ENDS:
        types = types[:-1]
    if not count == len(types) == len(parts) - 1:
        return Malformed(Flaw.COUNT, f"count {count}, {len(types)} types, {len(parts) - 1} frames")
    read = _read_code(code, first_generation=first_generation)
    if read is None:
        return Malformed(Flaw.CODE, f"{code:#04x}")
    types_by_byte = _FIRST_TYPES if first_generation else _TYPES
    frames = []
    for byte, data in zip(types, parts[1:], strict=True):
        frame_type = types_by_byte.get(byte)
        if frame_type is None:
            return Malformed(Flaw.TYPE, f"{byte:#04x}")
        frames.append(Frame(frame_type, data))
    return _check_frames(frames) or Message(read, tuple(frames))


def parse_json(data: bytes | None) -> Any:
    """Return the JSON value of a frame; None if it is absent or no JSON."""
    if data is None:
        return None
    try:
        return _DECODER.decode(data.decode(json.detect_encoding(data), "surrogatepass"))
    except (ValueError, RecursionError):
        return None


def encode_json(value: Any) -> bytes:
    return _ENCODER.encode(value).encode(errors="replace")


def caller_of(plan_id: int) -> str:
    """Return the virtual caller of a plan: `*:` and sixteen hexadecimal digits."""
    return f"{CALLER_MARK}{plan_id:016x}"


def plan_id_of(caller: str) -> int | None:
    """Return the plan of a virtual caller; None for any other text."""
    digits = caller.removeprefix(CALLER_MARK)
    if len(digits) != 16 or digits == caller or not set(digits) <= set("0123456789abcdef"):
        return None
    return int(digits, 16)


def _read_code(byte: int, *, first_generation: bool) -> int | None:
    """Return a command as it is, and a status as that of the second generation."""
    if byte in _COMMANDS and not (first_generation and byte >= 0x20 and byte in _FIRST_STATUSES):
        return byte
    return read_status(byte, first_generation=first_generation)


_FIRST_STATUSES: Final = frozenset({0x20, 0x21, 0x22, 0x24})
"""Statuses of votes in 2018-06; 0x23 and 0x25 are the bytes of commands and are read as these."""


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


# `json.loads` and `json.dumps` make these for each call with such arguments.
_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _check_sizes(parts: Sequence[bytes]) -> Malformed | None:
    if not parts:
        return Malformed(Flaw.EMPTY)
    if len(parts) > MAX_FRAMES + 1:
        return Malformed(Flaw.TOO_MANY_FRAMES, str(len(parts) - 1))
    if sum(map(len, parts)) > MAX_MESSAGE_BYTES:
        return Malformed(Flaw.MESSAGE_TOO_LONG)
    return None


def _check_frames(frames: Sequence[tuple[FrameType, bytes]]) -> Malformed | None:
    for frame_type, data in frames:
        # Most frames are short: their type is looked at only if it matters.
        if len(data) > MAX_NAME_BYTES:
            most = MAX_FRAME_BYTES if frame_type in _LONG else MAX_NAME_BYTES
            if len(data) > most:
                return Malformed(Flaw.FRAME_TOO_LONG, f"{frame_type.name} has {len(data)} bytes, at most {most}")
    return None


def status_name(code: int) -> str:
    """Return the name of a status for people, such as NO_WORKER; its number for an unknown one."""
    status = read_status(code)
    return f"{code:#04x}" if status is None else Status(status).name
