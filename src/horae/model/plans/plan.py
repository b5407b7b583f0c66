"""Plan of Zero as a value: its fields, their checks, and the schedule and policies of the task that executes it; pure."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from ...schedule import Every, Once, Schedule
from ...schedule.compat import zero
from ...schedule.compat.fields import Fields, parse_integer
from ...schedule.compat.zero_plan import KEYS, SECONDS_BY_UNIT, SINGLE_TIME_TYPES, SYSTEM, TYPES
from ...schedule.compat.zero_plan import Plan as ScheduleFields
from ...schedule.instants import SECOND, to_datetime, to_instant
from ..ids import EPOCH
from ..limits import NAME_CHARACTERS
from ..policy import UNLIMITED_CATCH_UP, Missed, Policies, RetryPolicy
from ..stations.station import StationKind
from ..task import Target, Task, TaskPast
from .codes import CONTENT_FRAMES, FrameType, read_frame_type
from .refusals import refuse

PLAN_LABEL: Final = "plan.station"
"""Label of the task of a plan: its station."""
SURFACE_LABEL: Final = "surface"
SURFACE: Final = "plan"
KEY_PREFIX: Final = "plan:"
"""Natural key of the task of a plan: the prefix and the id, 16 hexadecimal digits."""
PAYLOAD_KEY: Final = "plan"
STATION_TARGET: Final = "station"
"""Kind of the target of a plan."""
MAX_PLAN_ID: Final = 2**63 - 1
MAX_STATION_CHARACTERS: Final = 64
MAX_TEXT_CHARACTERS: Final = 200
MAX_FRAMES: Final = 16
MAX_SKIP_SET: Final = 10_000
ENDLESS_SKIPS: Final = 2**31 - 1
"""Skips of a plan with `skip_set` -1: every occurrence is skipped and counted, and there are more than ever come due."""
DEFAULT_EXEC_TIMEOUT: Final = timedelta(seconds=300)
EXECUTIONS: Final = 4
"""The first execution and three retries."""
RETRY_WAIT: Final = timedelta(seconds=1)
"""Zero looks at its queue every second."""
SKIP_ALL: Final = -1
RETRYING: Final = -2
_STATION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAME: Final = re.compile(r"(?:(?:plan:)?msg:(?P<station>[^:]*):)?(?P<id>[0-9A-Fa-f]{1,16})")
_FRAME_TYPES: Final = CONTENT_FRAMES | {
    *(FrameType.COMMAND, FrameType.ARGUMENT, FrameType.CONTEXT, FrameType.PUB_TITLE, FrameType.SERVICE_KEY)
}
_PUBLISHED: Final = CONTENT_FRAMES | {FrameType.ARGUMENT}
"""Frames that hold what a `pub` station publishes."""
_PLAN_TEXTS: Final = ("request_id", "caller", "description")


class Plan(NamedTuple):
    """The fields that a publisher chooses. `plan_time` is in Unix seconds, never 0 in a stored plan.

    `frames` are the parts of the message for the station: the type of the frame, one character, and its text; of a binary
    frame it is Base64.
    """

    plan_id: int
    station: str
    plan_type: str
    plan_value: int = 0
    plan_repet: int = 1
    plan_time: int = 0
    no_keep: bool = False
    skip_set: int = 0
    description: str = ""
    request_id: str = ""
    caller: str = ""
    frames: tuple[tuple[str, str], ...] = ()

    @property
    def hex_id(self) -> str:
        return f"{self.plan_id:016x}"

    @property
    def name(self) -> str:
        """Name of the plan in Zero's commands, and of its key in Redis."""
        return f"msg:{self.station}:{self.hex_id}"

    @property
    def caller_name(self) -> str:
        """Virtual sender of its calls, 「虚拟名称 *:[plan_id]」: a station returns the result to it."""
        return f"*:{self.hex_id}"

    @property
    def key(self) -> str:
        return KEY_PREFIX + self.hex_id

    @property
    def title(self) -> str:
        """Name of the task."""
        return (self.description.strip() or self.name)[:NAME_CHARACTERS]


class PlanProgress(NamedTuple):
    """Counters that a plan of another installation brings along."""

    real_repet: int = 0
    skip_num: int = 0
    last_state: int = 0
    exec_time: int = 0


def read_plan(value: object, new_id: int) -> tuple[Plan, PlanProgress]:
    """Read a plan message, or the fields of a new plan; refuses what the document does not allow.

    `new_id` is the id of a plan that brings none.
    """
    fields = Fields.of(SYSTEM, value, KEYS)
    checked = ScheduleFields.of(fields)
    mapping: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    texts = {name: _read_text(name, mapping.get(name)) for name in _PLAN_TEXTS}
    if checked.skip_set > MAX_SKIP_SET:
        wanted = f"-1, 0, or 1 to {MAX_SKIP_SET:,}"
        raise refuse("bad_plan_field", name="skip_set", value=checked.skip_set, wanted=wanted, wanted_zh=wanted)
    plan = Plan(
        plan_id=_read_id(mapping.get("plan_id"), new_id),
        station=_read_station(mapping.get("station")),
        plan_type=checked.type,
        plan_value=checked.value,
        plan_repet=-1 if checked.repeat is None else checked.repeat,
        plan_time=checked.time or 0,
        no_keep=checked.keep,
        skip_set=checked.skip_set,
        frames=_read_frames(mapping),
        **texts,
    )
    progress = PlanProgress(
        checked.counted or 0,
        checked.skip_num or 0,
        parse_integer(mapping.get("last_state")) or 0,
        parse_integer(mapping.get("exec_time")) or 0,
    )
    return plan, progress


def _read_id(value: object, new_id: int) -> int:
    if value is None or value in (0, "0", ""):
        return new_id
    number = parse_integer(value)
    if number is None and isinstance(value, str):
        # A whole number of 19 digits is longer than the fields of a schedule.
        number = int(value) if value.isascii() and value.isdecimal() and len(value) <= len(str(MAX_PLAN_ID)) else None
    if number is None or not 0 < number <= MAX_PLAN_ID:
        raise refuse("bad_plan_id", value=value)
    return number


def _read_station(value: object) -> str:
    if not isinstance(value, str) or not _STATION.fullmatch(value):
        wanted = f"a name of 1 to {MAX_STATION_CHARACTERS} of A-Z a-z 0-9 . _ -"
        wanted_zh = f"1 到 {MAX_STATION_CHARACTERS} 个字符的名称：A-Z a-z 0-9 . _ -"
        raise refuse("bad_plan_field", name="station", value=value, wanted=wanted, wanted_zh=wanted_zh)
    return value


def _read_text(name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_TEXT_CHARACTERS or not value.isprintable():
        wanted = f"printable text of at most {MAX_TEXT_CHARACTERS} characters"
        wanted_zh = f"最多 {MAX_TEXT_CHARACTERS} 个字符的可打印文本"
        raise refuse("bad_plan_field", name=name, value=value, wanted=wanted, wanted_zh=wanted_zh)
    return value


def _read_frames(mapping: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the frames: as `frames` has them, or made of `command`, `context` and `argument`, or of `messages`.

    The first of `messages` is the command, the others are arguments: a stored message does not name their types.
    """
    given = mapping.get("frames")
    if given is not None:
        frames = _check_frames(given)
    elif mapping.get("command") is not None:
        named = (("command", FrameType.COMMAND), ("context", FrameType.CONTEXT), ("argument", FrameType.ARGUMENT))
        frames = _check_frames(
            [[chr(kind), mapping[name]] for name, kind in named if mapping.get(name) not in (None, "")]
        )
    else:
        messages = mapping.get("messages") or []
        kinds = (FrameType.COMMAND, *(FrameType.ARGUMENT,) * MAX_FRAMES)
        texts = messages if isinstance(messages, list) else [messages]
        frames = _check_frames([[chr(kind), each] for kind, each in zip(kinds, texts, strict=False)])
    if not any(kind in (chr(FrameType.COMMAND), chr(FrameType.PUB_TITLE)) and text for kind, text in frames):
        raise refuse("plan_no_command")
    return frames


def check_station_frames(plan: Plan, kind: StationKind) -> None:
    """Refuse frames that a station of this kind cannot use: 「API或Vote:必须有命令帧」, 「Pub: 必须完整」."""
    given = {ord(frame_type) for frame_type, text in plan.frames if text}
    if kind is StationKind.PUB:
        if not given & {FrameType.PUB_TITLE, FrameType.SUB_TITLE} or not given & _PUBLISHED:
            raise refuse("plan_incomplete", station=plan.station)
    elif FrameType.COMMAND not in given:
        raise refuse("plan_no_command")


def _check_frames(given: object) -> tuple[tuple[str, str], ...]:
    if isinstance(given, list) and len(given) <= MAX_FRAMES:
        frames = tuple((each[0], each[1]) for each in given if isinstance(each, list | tuple) and len(each) == 2)
        if len(frames) == len(given) and all(_is_frame(*each) for each in frames):
            return frames
    wanted = f"at most {MAX_FRAMES} pairs of a frame type (one of $ % * # T J B X) and a text"
    wanted_zh = f"最多 {MAX_FRAMES} 个“帧类型($ % * # T J B X 之一)、文本”对"
    raise refuse("bad_plan_field", name="messages", value=given, wanted=wanted, wanted_zh=wanted_zh)


def _is_frame(kind: object, text: object) -> bool:
    is_type = isinstance(kind, str) and len(kind) == 1 and read_frame_type(ord(kind)) in _FRAME_TYPES
    # A lone surrogate has no bytes that a station could get.
    return is_type and isinstance(text, str) and not any("\ud800" <= each <= "\udfff" for each in text)


def parse_plan_name(text: object) -> tuple[str | None, str] | None:
    """Return the station (None where the text has none) and the id of a plan in 16 digits; None: the text is no name."""
    match = _NAME.fullmatch(text) if isinstance(text, str) else None
    return None if match is None else (match["station"], match["id"].lower().zfill(16))


def received_at(plan: Plan, now: datetime) -> Plan:
    """Return the plan with the second of its receipt where it has no time: 「如为0,起始时间为服务器接收任务的当前时间」

    A plan for this very moment is never overdue: it gets `no_keep`.
    """
    is_immediate = plan.plan_type == "none" or (plan.plan_type == "time" and not plan.plan_time)
    if plan.plan_time and not is_immediate:
        return plan
    return plan._replace(plan_time=to_instant(now) // SECOND, no_keep=plan.no_keep or is_immediate)


def schedule_of(plan: Plan, *, is_running: bool = False) -> Schedule:
    """Return the schedule of a plan that has a time.

    `is_running`: the plan was stored by Zero, so that `plan_time` is its next instant, and not the begin of its first delay.
    """
    fields = {
        "plan_type": plan.plan_type,
        "plan_value": plan.plan_value,
        "plan_repet": plan.plan_repet,
        "plan_time": plan.plan_time,
        "no_keep": True,
    }
    at = to_datetime(plan.plan_time * SECOND)
    if plan.plan_type in SINGLE_TIME_TYPES:
        # `none` is sent at once: its time is that of its receipt.
        return Once(at)
    # Skipped occurrences count, also without an end: `real_repet` shows them.
    schedule = replace(zero.read(fields, now=EPOCH).schedule, counting="planned")
    return replace(schedule, start=at) if is_running and isinstance(schedule, Every) else schedule


def policies_of(
    plan: Plan, exec_timeout: timedelta = DEFAULT_EXEC_TIMEOUT, retry_wait: timedelta = RETRY_WAIT
) -> Policies:
    """Return the policies of a plan: what is missed is caught up one by one, or skipped; one execution and three retries, a
    second apart (longer where the quota of the owner says so); the occurrence after that waits until they have ended; a plan whose retries have failed has failed.

    Weeks and months are never caught up: 「所计划时间均为未来时间」
    """
    is_kept = plan.no_keep and plan.plan_type not in ("week", "month")
    return Policies(
        missed=Missed("all", None, UNLIMITED_CATCH_UP) if is_kept else Missed("skip"),
        overlap="queue_all" if is_kept else "skip",
        retry=RetryPolicy(EXECUTIONS, retry_wait, 1.0, retry_wait, "none", superseded_by_next=False),
        give_up_after=1,
        timeout=exec_timeout,
    )


def past_of_plan(plan: Plan, schedule: Schedule, now: datetime, counted: int = 0) -> TaskPast | None:
    """Return the past of a plan whose first instant lies before now; None where it does not.

    Weeks and months begin now: 「所计划时间均为未来时间」
    """
    first = schedule.at if isinstance(schedule, Once) else schedule.start
    if not isinstance(first, datetime) or first > now:
        return TaskPast(counted=counted) if counted else None
    interval = SECONDS_BY_UNIT.get(plan.plan_type, 1) * max(plan.plan_value, 1)
    return TaskPast(max(EPOCH, first - timedelta(seconds=interval)), counted, None, first)


def skips_of(plan: Plan, skip_num: int = 0) -> int:
    """Return the occurrences that are still to skip: skip_set n is 「1-n 跳过次数」, and -1 skips all of them."""
    if plan.skip_set == SKIP_ALL:
        return ENDLESS_SKIPS - skip_num
    return max(0, plan.skip_set - skip_num)


def encode_plan(plan: Plan) -> str:
    """Return the payload of the task of a plan; the station gets it whole."""
    fields = {name: value for name, value in zip(Plan._fields, plan, strict=True) if name != "frames"}
    return json.dumps({PAYLOAD_KEY: fields, "frames": [list(each) for each in plan.frames]}, ensure_ascii=False)


def plan_of(task: Task) -> Plan | None:
    """Return the plan of a task; None for a task that is none, or whose payload was edited until it is none any more."""
    if task.key is None or KEY_PREFIX not in task.key:
        return None
    try:
        payload = json.loads(task.payload)
        plan, _ = read_plan({**payload[PAYLOAD_KEY], "frames": payload["frames"]}, 0)
    except (ValueError, LookupError, TypeError):
        return None
    return plan


def derive_plan_id(task_id: str) -> int:
    """Return the plan id of an ordinary task that calls a station: 63 bits of a hash of its id."""
    return int.from_bytes(blake2b(task_id.encode(), digest_size=8).digest()) & MAX_PLAN_ID


def plan_or_stand_in(task: Task) -> Plan:
    """Return the plan of a task that calls a station; an ordinary task has the form of a plan without choices."""
    plan = plan_of(task)
    if plan is not None:
        return plan
    spec = json.loads(task.target.spec)
    title = spec.get("title") or task.name
    return Plan(derive_plan_id(task.id), spec["station"], "none", description=title, caller=task.owner)


def type_number(plan: Plan) -> int:
    return TYPES.index(plan.plan_type)


def plan_target(plan: Plan) -> Target:
    """Return a call of the station: its command, and the other frames as they were published."""
    command = next(text for kind, text in plan.frames if kind in (chr(FrameType.COMMAND), chr(FrameType.PUB_TITLE)))
    frames = [
        [
            FrameType(ord(kind)).name,
            text if ord(kind) == FrameType.CONTENT_BINARY else b64encode(text.encode()).decode(),
        ]
        for kind, text in plan.frames
        if ord(kind) != FrameType.COMMAND
    ]
    spec = {
        "station": plan.station,
        "command": command,
        "title": plan.title[:100],
        "plan": plan.hex_id,
        "frames": frames,
    }
    return Target(STATION_TARGET, json.dumps(spec, ensure_ascii=False))
