"""Byte values and texts of Zero's protocol, second generation (2018-07 and later); the first generation is read by a table."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final


class FrameType(IntEnum):
    """What a frame of a message holds. The description frame lists these, one byte for each frame after it."""

    END = 0x00
    GLOBAL_ID = 0x01
    STATION_ID = 0x02
    STATUS = 0x03
    REQUEST_ID = 0x04
    PLAN = 0x05
    PLAN_TIME = 0x06
    SERVICE_KEY = 0x07
    LOCAL_ID = 0x08
    STATION_TYPE = 0x09
    CALL_ID = 0x0B
    DATA_DIRECTION = 0x0C
    ORIGINAL_1 = 0x10
    ORIGINAL_2 = 0x11
    ORIGINAL_3 = 0x12
    ORIGINAL_4 = 0x13
    ORIGINAL_5 = 0x14
    ORIGINAL_6 = 0x15
    ORIGINAL_7 = 0x16
    ORIGINAL_8 = 0x17
    COMMAND = ord("$")
    SUB_TITLE = COMMAND
    """A published message has its subtitle where a call has its command."""
    ARGUMENT = ord("%")
    PUB_TITLE = ord("*")
    CONTEXT = ord("#")
    REQUESTER = ord(">")
    PUBLISHER = REQUESTER
    RESPONDER = ord("<")
    SUBSCRIBER = RESPONDER
    CONTENT_TEXT = ord("T")
    CONTENT_JSON = ord("J")
    CONTENT_BINARY = ord("B")
    CONTENT_XML = ord("X")
    RESULT_END = 0xFE
    EXTEND_END = 0xFF


CONTENT_FRAMES: Final = frozenset(
    {FrameType.CONTENT_TEXT, FrameType.CONTENT_JSON, FrameType.CONTENT_BINARY, FrameType.CONTENT_XML}
)


class CommandByte(IntEnum):
    """Second byte of the description frame of a request."""

    NONE = 0x01
    PLAN = 0x02
    PROXY = 0x03
    """The plan dispatcher calls on behalf of a plan."""
    RESTART = 0x04
    GLOBAL_ID = ord(">")
    WAITING = ord("#")
    """A worker reports that it is still at work."""
    FIND_RESULT = ord("%")
    CLOSE_REQUEST = ord("-")
    PING = ord("*")
    HEART_JOIN = ord("J")
    HEART_READY = ord("R")
    HEART_PITPAT = ord("P")
    HEART_LEFT = ord("L")


class Status(IntEnum):
    """Second byte of the description frame of an answer; `last_state` of a plan. 0 is a plan that has not been executed."""

    NONE = 0x00
    OK = 0x01
    PLAN = 0x02
    """A plan was accepted."""
    RUNNING = 0x03
    BYE = 0x04
    WELCOME = 0x05
    WAIT = 0x06
    VOTE_SENT = 0x70
    VOTE_BYE = 0x71
    VOTE_WAITING = 0x72
    VOTE_START = 0x73
    VOTE_END = 0x74
    VOTE_CLOSED = 0x75
    FAILED = 0x80
    """The target refused for a reason of its own: the call itself has worked."""
    PAUSE = 0x81
    BUG = 0xD0
    FRAME_INVALID = 0xD1
    ARGUMENT_INVALID = 0xD2
    ERROR = 0xF0
    NOT_FOUND = 0xF1
    NO_WORKER = 0xF2
    NOT_SUPPORTED = 0xF3
    TIMEOUT = 0xF4
    NET_ERROR = 0xF5
    PLAN_ERROR = 0xF6
    SEND_ERROR = 0xF7
    RECEIVE_ERROR = 0xF8
    DENIED = 0xF9


ERROR_FLAG: Final = 0x80
"""A status above it is an error: the plan is executed again."""


def is_error(status: int) -> bool:
    """Return whether a result ends an execution of a plan as an error; 0x80 itself is an answer, not an error."""
    return status > ERROR_FLAG


class PlanState(IntEnum):
    """`REMOVED` is known to clients only: a removed plan is not stored."""

    NONE = 0
    QUEUED = 1
    EXECUTING = 2
    RETRYING = 3
    SKIPPING = 4
    PAUSED = 5
    ERROR = 6
    CLOSED = 7
    REMOVED = 8


class StationType(IntEnum):
    DISPATCHER = 0x01
    NOTIFY = 0x02
    """Publishes to subscribers: `Pub`."""
    API = 0x03
    VOTE = 0x04
    ROUTE_API = 0x05
    QUEUE = 0x06
    TRACE = 0xFD
    PROXY = 0xFE
    PLAN = 0xFF


class StationState(IntEnum):
    NONE = 0
    RESTARTING = 1
    STARTING = 2
    RUNNING = 3
    PAUSED = 4
    FAILED = 5
    CLOSING = 6
    CLOSED = 7
    DESTROYED = 8
    STOPPED = 9
    UNKNOWN = 10


class PlanEvent(IntEnum):
    ADDED = 1
    UPDATED = 2
    QUEUED = 3
    EXECUTED = 4
    RESULT = 5
    PAUSED = 6
    ENDED = 7
    REMOVED = 8


class StatusText(StrEnum):
    """Texts of answers, with their first sign: `+` is an acceptance, `-` a refusal. The spelling is that of the protocol."""

    OK = "+ok"
    PLAN = "+plan"
    RUNNING = "+runing"
    BYE = "+bye"
    WELCOME = "+wecome"
    WAITING = "+waiting"
    SENT = "+send"
    CLOSED = "+close"
    START = "+start"
    END = "+end"
    DENIED = "-deny"
    FAILED = "-failed"
    ERROR = "-error"
    NOT_SUPPORTED = "-not support"
    NOT_FOUND = "-not find"
    NO_WORKER = "-not work"
    FRAME_INVALID = "-invalid frame"
    ARGUMENT_INVALID = "-invalid argument"
    TIMEOUT = "-time out"
    NET_ERROR = "-net error"
    PLAN_INVALID = "-plan invalid"
    PLAN_ERROR = "-plan error"


STATUS_TEXTS: Final = MappingProxyType(
    {
        Status.OK: StatusText.OK,
        Status.PLAN: StatusText.PLAN,
        Status.RUNNING: StatusText.RUNNING,
        Status.BYE: StatusText.BYE,
        Status.WELCOME: StatusText.WELCOME,
        Status.WAIT: StatusText.WAITING,
        Status.VOTE_SENT: StatusText.SENT,
        Status.VOTE_BYE: StatusText.BYE,
        Status.VOTE_WAITING: StatusText.WAITING,
        Status.VOTE_START: StatusText.START,
        Status.VOTE_END: StatusText.END,
        Status.VOTE_CLOSED: StatusText.CLOSED,
        Status.FAILED: StatusText.FAILED,
        Status.BUG: StatusText.ERROR,
        Status.FRAME_INVALID: StatusText.FRAME_INVALID,
        Status.ARGUMENT_INVALID: StatusText.ARGUMENT_INVALID,
        Status.ERROR: StatusText.ERROR,
        Status.NOT_FOUND: StatusText.NOT_FOUND,
        Status.NO_WORKER: StatusText.NO_WORKER,
        Status.NOT_SUPPORTED: StatusText.NOT_SUPPORTED,
        Status.TIMEOUT: StatusText.TIMEOUT,
        Status.NET_ERROR: StatusText.NET_ERROR,
        Status.PLAN_ERROR: StatusText.PLAN_ERROR,
        Status.SEND_ERROR: StatusText.NET_ERROR,
        Status.RECEIVE_ERROR: StatusText.NET_ERROR,
        Status.DENIED: StatusText.DENIED,
    }
)
"""Statuses that have no text of their own share that of the nearest one. `NONE` and `PAUSE` are never sent as a text."""

FIRST_GENERATION: Final = MappingProxyType(
    {
        0x01: Status.OK,
        0x02: Status.PLAN,
        0x03: Status.RUNNING,
        0x04: Status.BYE,
        0x05: Status.WELCOME,
        0x20: Status.VOTE_SENT,
        0x21: Status.VOTE_BYE,
        0x22: Status.VOTE_WAITING,
        0x23: Status.VOTE_START,
        0x24: Status.VOTE_END,
        0x25: Status.VOTE_CLOSED,
        0x81: Status.ERROR,
        0x82: Status.FAILED,
        0x83: Status.NOT_FOUND,
        0x84: Status.NOT_SUPPORTED,
        0x85: Status.FRAME_INVALID,
        0x86: Status.TIMEOUT,
        0x87: Status.NET_ERROR,
        0x88: Status.NO_WORKER,
        0x89: Status.ARGUMENT_INVALID,
        0x8A: Status.ARGUMENT_INVALID,
        0x8B: Status.PLAN_ERROR,
        0x8C: Status.SEND_ERROR,
        0x8D: Status.RECEIVE_ERROR,
    }
)
"""Status bytes of 2018-06, as statuses of the second generation. Both kinds of a bad argument are one status now."""

FIRST_GENERATION_FRAMES: Final = MappingProxyType({ord("@"): FrameType.COMMAND})
"""Frame types that had another byte in 2018-06."""


def read_status(byte: int, *, first_generation: bool = False) -> Status | None:
    """Return the status of a byte; None for a byte that the generation does not have."""
    if first_generation:
        return FIRST_GENERATION.get(byte)
    try:
        return Status(byte)
    except ValueError:
        return None


def read_frame_type(byte: int, *, first_generation: bool = False) -> FrameType | None:
    """Return the type of a frame; None for a byte that the generation does not have."""
    if first_generation and byte in FIRST_GENERATION_FRAMES:
        return FIRST_GENERATION_FRAMES[byte]
    try:
        return FrameType(byte)
    except ValueError:
        return None
