"""Calls of stations: a request, the call that one worker has, its answer, and what a status means for the run."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..model.limits import ERROR_CHARACTERS, RESULT_BYTES, to_storable
from ..model.outcome import Failed, Outcome, Skipped, Succeeded
from ..model.plans.codes import CommandByte, FrameType, Status, is_error
from ..model.reason import Reason
from .frames import MAX_FRAMES, Frame, caller_of, encode_message, parse_json, status_name

if TYPE_CHECKING:
    from .hub import Worker

_FINAL: Final = frozenset({Status.NOT_FOUND, Status.NOT_SUPPORTED, Status.PLAN_ERROR, Status.DENIED})
"""Errors that another attempt of an ordinary task would meet too."""
_REASONS: Final = {
    Status.NOT_FOUND: Reason.TARGET_UNKNOWN,
    Status.NOT_SUPPORTED: Reason.TARGET_UNKNOWN,
    Status.NO_WORKER: Reason.NO_WORKER,
    Status.NET_ERROR: Reason.WORKER_LOST,
    Status.SEND_ERROR: Reason.NOT_CALLED,
    Status.RECEIVE_ERROR: Reason.NO_ANSWER,
    Status.DENIED: Reason.TARGET_NOT_ALLOWED,
}
"""Reasons of the ledger from which a plan derives its `last_state`."""
_TOLD: Final = frozenset({FrameType.CONTENT_TEXT, FrameType.CONTENT_JSON})
_CUT_CHARACTERS: Final = 10_000


class CallRequest(NamedTuple):
    """One execution of a plan or task. `frames` are the payload and further frames, as the worker gets them."""

    owner: str
    station: str
    plan_id: int
    key: str
    command: str
    frames: tuple[Frame, ...]
    plan: bytes

    @property
    def caller(self) -> str:
        return caller_of(self.plan_id)

    def encode(self, call_id: str) -> list[bytes]:
        """Return the parts: the plan second to last, the global id last, and PROXY as the command."""
        return encode_message(
            CommandByte.PROXY,
            [
                (FrameType.REQUESTER, self.caller.encode()),
                (FrameType.STATION_ID, self.station.encode()),
                (FrameType.REQUEST_ID, self.key.encode()),
                (FrameType.COMMAND, self.command.encode()),
                (FrameType.CALL_ID, call_id.encode()),
                *self.frames,
                (FrameType.PLAN, self.plan),
                (FrameType.GLOBAL_ID, f"{self.plan_id:016x}".encode()),
            ],
        )


class Answer(NamedTuple):
    """Result of a call. `may_have_run`: the worker had the call, and whether it has executed it is not known."""

    status: int
    contents: tuple[Frame, ...] = ()
    worker: str = ""
    error: str = ""
    may_have_run: bool = False
    is_ballot: bool = False
    """`contents` are the votes of all participants: complete, also where one of them refused."""

    @property
    def text(self) -> str:
        """What went wrong, for people."""
        said = self.error or next((content_text(each) for each in self.contents), "")
        name = f"{status_name(self.status)}: " if self.status >= 0x80 else ""
        return to_storable(f"{name}{said}" if said else name.removesuffix(": ") or "ok", ERROR_CHARACTERS)


class Call:
    """A call that one worker has."""

    __slots__ = ("answer", "id", "is_running", "on_wait", "request", "sent", "worker")

    def __init__(
        self, call_id: str, request: CallRequest, worker: Worker, sent: float, on_wait: Callable[[], None]
    ) -> None:
        self.id = call_id
        self.request = request
        self.worker = worker
        self.sent = sent
        self.on_wait = on_wait
        self.is_running = False
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def end(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


def outcome_of(answer: Answer, *, is_plan: bool = False, is_at_most_once: bool = False) -> Outcome:
    """Return the outcome of a run by its status.

    Below 0x80 it succeeded. 0x80 is the station's own refusal: an ordinary task has failed and is not repeated; the
    occurrence of a plan has ended normally. All above is an error: a plan is executed again, unless its station calls it
    invalid (PLAN_ERROR); an ordinary task from 0xF0 on, unless the API is unknown.
    """
    if answer.status < Status.FAILED or (is_plan and answer.is_ballot and not is_error(answer.status)):
        return Succeeded(result_text(answer, is_plan=is_plan))
    if is_plan and not is_error(answer.status):
        return Skipped(answer.text)
    if is_plan:
        is_final = answer.status == Status.PLAN_ERROR
    else:
        is_final = answer.status < Status.ERROR or answer.status in _FINAL
    return Failed(
        answer.text,
        permanent=is_final or (is_at_most_once and answer.may_have_run),
        reason=_REASONS.get(Status(answer.status), Reason.TARGET_FAILED),
    )


def result_text(answer: Answer, *, is_plan: bool = False) -> str | None:
    """Return the result as JSON: the content, and `values` where the station sent further content frames.

    That of a plan has `frames` too where the values do not tell them: its layout in Redis shows them as they came.
    """
    if not answer.contents:
        return None
    content, *further = (content_value(each) for each in answer.contents)
    frames = untold_frames(answer.contents) if is_plan else None
    if frames is not None:
        text = _encode({"content": content, "values": further, "frames": frames})
    else:
        text = _encode({"content": content, "values": further} if further else content)
    return text if len(text.encode()) <= RESULT_BYTES else _encode({"cut": text[:_CUT_CHARACTERS]})


def untold_frames(contents: Sequence[Frame], *, kept: int = MAX_FRAMES) -> list[list[str]] | None:
    """Return type and text of each content frame, bytes in Base64; None if all are JSON or text, which their values tell.

    `kept` is the number of values that are kept beside the frames.
    """
    if len(contents) <= kept and all(each.type in _TOLD for each in contents):
        return None
    return [
        [chr(each.type), content_value(each) if each.type is FrameType.CONTENT_BINARY else content_text(each)]
        for each in contents
    ]


def content_value(frame: Frame) -> Any:
    """Return the JSON value of a content frame; bytes are Base64."""
    if frame.type is FrameType.CONTENT_BINARY:
        return base64.b64encode(frame.data).decode()
    value = parse_json(frame.data) if frame.type is FrameType.CONTENT_JSON else None
    return content_text(frame) if value is None and frame.data != b"null" else value


def content_text(frame: Frame) -> str:
    return to_storable(frame.data.decode(errors="replace"), len(frame.data) + 1)


def _encode(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return to_storable(text, len(text)) if text.isascii() else json.dumps(value, separators=(",", ":"))
