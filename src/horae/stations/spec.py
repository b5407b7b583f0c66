"""Checks the spec of a call: station, command, title, plan, and frames that are passed on."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ..errors import Refusal
from ..model.plans.codes import CONTENT_FRAMES, FrameType
from ..model.stations.station import NAME_CHARACTERS, is_station_name
from .frames import Frame
from .refusals import refuse

_KEYS: Final = ("station", "command", "title", "plan", "frames")
_MAX_FRAMES: Final = 16
_MAX_BYTES: Final = 256 * 1024
_TEXT_CHARACTERS: Final = 100
_PASSED_ON: Final = frozenset(
    {*CONTENT_FRAMES, FrameType.ARGUMENT, FrameType.CONTEXT, FrameType.SERVICE_KEY, FrameType.PUB_TITLE}
)
_NAMES: Final = tuple(sorted(each.name for each in _PASSED_ON))


class CallSpec(NamedTuple):
    station: str
    command: str
    title: str | None = None
    """Title of the result's broadcast; None: the name of the task."""
    plan: int | None = None
    """Id of the plan; None: an ordinary task, whose id is derived from that of the task."""
    frames: tuple[Frame, ...] | None = None
    """Frames that a plan was published with, in place of the payload."""


def check_spec(spec: Any) -> CallSpec:
    """Return the checked spec. Raises a `Refusal`."""
    if not isinstance(spec, Mapping):
        raise _refuse("target", spec, '{"station": "orders", "command": "pack"}')
    for name in spec:
        if name not in _KEYS:
            raise refuse("station_unknown_key", name=name, allowed=", ".join(_KEYS))
    station, command, title = spec.get("station"), spec.get("command"), spec.get("title")
    if not is_station_name(station) or not isinstance(station, str):
        raise _refuse("station", station, f"a name of 1 to {NAME_CHARACTERS} letters, digits, dots, hyphens")
    if not _is_text(command):
        raise _refuse("command", command, f"the name of an API, at most {_TEXT_CHARACTERS} characters")
    if title is not None and not _is_text(title):
        raise _refuse("title", title, f"a text of at most {_TEXT_CHARACTERS} characters")
    return CallSpec(station, str(command), title, _read_plan(spec.get("plan")), _read_frames(spec.get("frames")))


def canonical_spec(spec: CallSpec) -> dict[str, Any]:
    frames = None if spec.frames is None else [[each.type.name, b64encode(each.data).decode()] for each in spec.frames]
    plan = None if spec.plan is None else f"{spec.plan:016x}"
    return {"station": spec.station, "command": spec.command, "title": spec.title, "plan": plan, "frames": frames}


def _read_plan(value: Any) -> int | None:
    if value is None:
        return None
    digits = value if isinstance(value, str) and len(value) == 16 else ""
    if not digits or not set(digits) <= set("0123456789abcdef"):
        raise _refuse("plan", value, "sixteen hexadecimal digits")
    return int(digits, 16)


def _read_frames(value: Any) -> tuple[Frame, ...] | None:
    if value is None:
        return None
    wanted = f"at most {_MAX_FRAMES} pairs of a type ({', '.join(_NAMES)}) and Base64"
    if not isinstance(value, list | tuple) or len(value) > _MAX_FRAMES:
        raise _refuse("frames", value, wanted)
    frames = []
    for each in value:
        is_pair = isinstance(each, list | tuple) and len(each) == 2 and all(isinstance(part, str) for part in each)
        if not is_pair or each[0] not in _NAMES:
            raise _refuse("frames", each, wanted)
        try:
            frames.append(Frame(FrameType[each[0]], b64decode(each[1], validate=True)))
        except (Base64Error, ValueError):
            raise _refuse("frames", each[0], wanted) from None
    short = {FrameType.SERVICE_KEY, FrameType.PUB_TITLE}
    too_long = any(len(frame.data) > 500 for frame in frames if frame.type in short)
    if too_long or sum(len(frame.data) for frame in frames) > _MAX_BYTES:
        raise _refuse("frames", "…", f"{wanted}, together at most {_MAX_BYTES} bytes")
    return tuple(frames)


def _is_text(value: Any) -> bool:
    """Whether it is a short text that every store and frame can hold."""
    if not isinstance(value, str) or not 1 <= len(value) <= _TEXT_CHARACTERS or not value.isprintable():
        return False
    return value == value.encode(errors="replace").decode()


def _refuse(name: str, value: Any, wanted: str) -> Refusal:
    return refuse("station_spec", name=name, value=value, wanted=wanted)
