"""Requests of publishers: publish a plan, and the management commands of Zero; and the plan that a worker gets with a call."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..errors import NotFound, Refusal
from ..model.accounts.principal import NO_QUOTAS, SCOPES_OF, Principal, Role
from ..model.plans.codes import CONTENT_FRAMES, CommandByte, FrameType, Status
from ..ports.target import Invocation
from ..schedule.compat.fields import parse_integer
from ..service.plans.plans import Plans, PlanView
from ..service.service import Service
from ..wire.plans import plan_json
from .frames import Frame, Message, encode_json
from .hub import Identity

MAX_LISTED: Final = 200
VIA: Final = "station"
_FIELDS: Final = (
    *("plan_type", "plan_value", "plan_repet", "plan_time", "description", "no_keep", "no_skip", "skip_set"),
    *("request_id",),
)
_MESSAGE_FRAMES: Final = CONTENT_FRAMES | {
    *(FrameType.COMMAND, FrameType.ARGUMENT, FrameType.CONTEXT, FrameType.PUB_TITLE, FrameType.SERVICE_KEY)
}
_ARGUMENT_COUNTS: Final = {"list": 0, "message": 1, "skip": 2, "pause": 1, "reset": 1, "close": 1, "remove": 1}
_HEX_DIGITS: Final = frozenset("0123456789abcdefABCDEF")
Reply = tuple[int, Sequence[tuple[FrameType, bytes]]]


class PlanRequests:
    """Acts with the rights and quotas of the station's owner, never with those of an admin."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def _plans(self) -> Plans:
        return self._service.plans

    async def handle(self, identity: Identity, message: Message) -> Reply:
        """Execute a request of a publisher; return the status and frames of the answer."""
        principal = await self._principal(identity.station.owner, identity.station.name)
        try:
            if message.code == CommandByte.PLAN:
                return await self._publish(principal, identity.station.name, message)
            return await self._manage(principal, message)
        except NotFound as refusal:
            return _refused(Status.NOT_FOUND, refusal)
        except Refusal as refusal:
            return _refused(Status.ARGUMENT_INVALID, refusal)

    async def document(self, owner: str, plan_id: int, invocation: Invocation) -> Mapping[str, Any] | None:
        """Return the plan with its counters, as a worker gets it; None if there is none."""
        view = await self._plans.find_by_task(await self._principal(owner, ""), invocation.task.id)
        if view is None or view.plan.plan_id != plan_id:
            return None
        run = invocation.run
        whole = plan_json(view, is_whole=True)
        del whole["results"], whole["participants"]
        current = {"plan_time": int(run.planned.timestamp()), "run_id": run.id, "attempt": run.attempt}
        return {**whole, **current, "trace": invocation.trace}

    async def _publish(self, principal: Principal, publisher: str, message: Message) -> Reply:
        plan = message.json(FrameType.PLAN)
        if not isinstance(plan, dict):
            return Status.FRAME_INVALID, [(FrameType.CONTENT_TEXT, b"the PLAN frame is no JSON object")]
        if unknown := plan.keys() - {*_FIELDS}:
            return _argument_invalid(f"a PLAN frame has no field {min(unknown)[:40]!r}")
        station = message.text(FrameType.STATION_ID)
        if station is None:
            return Status.FRAME_INVALID, [(FrameType.CONTENT_TEXT, b"there is no STATION_ID frame")]
        fields: dict[str, Any] = dict(plan)
        given_id = message.text(FrameType.GLOBAL_ID)
        if given_id is not None:
            # What is no id is refused with its own text.
            is_id = 0 < len(given_id) <= 16 and set(given_id) <= _HEX_DIGITS
            fields["plan_id"] = int(given_id, 16) if is_id else given_id[:40]
        fields["station"] = station
        fields["caller"] = publisher
        fields["frames"] = [_frame_pair(each) for each in message.frames if each.type in _MESSAGE_FRAMES]
        view = await self._plans.add(principal, fields)
        return Status.PLAN, [(FrameType.GLOBAL_ID, view.plan.hex_id.encode())]

    async def _manage(self, principal: Principal, message: Message) -> Reply:
        command = (message.text(FrameType.COMMAND) or "").lower()
        texts = [each.data.decode(errors="replace") for each in message.frames if each.type is FrameType.ARGUMENT]
        if command not in _ARGUMENT_COUNTS:
            return Status.NOT_SUPPORTED, [
                (FrameType.CONTENT_TEXT, f"the commands are {', '.join(_ARGUMENT_COUNTS)}".encode())
            ]
        if len(texts) != _ARGUMENT_COUNTS[command]:
            return _argument_invalid(f"the command {command} needs {_ARGUMENT_COUNTS[command]} ARGUMENT frames")
        name = texts[0] if texts else ""
        plans = self._plans
        match command:
            case "list":
                views = await plans.all(principal, most=MAX_LISTED)
                return _content([plan_json(each) for each in views])
            case "message":
                return _shown(await plans.get(principal, name))
            case "skip":
                number = parse_integer(texts[1])
                if number is None:
                    return _argument_invalid("skip needs a whole number")
                return _shown(await plans.skip(principal, name, number))
            case "pause":
                return _shown(await plans.pause(principal, name))
            case "reset":
                return _shown(await plans.reset(principal, name))
            case "close":
                return _shown(await plans.close(principal, name))
            case _:
                return _shown(await plans.remove(principal, name))

    async def _principal(self, owner: str, actor: str) -> Principal:
        account = await self._service.accounts.find(owner)
        role = Role.MEMBER if account is None or account.role is Role.ADMIN else account.role
        quotas = NO_QUOTAS if account is None else account.quotas
        return Principal(owner, scopes=SCOPES_OF[role], actor=actor, via=VIA, quotas=quotas, role=role)


def _frame_pair(frame: Frame) -> list[str]:
    if frame.type is FrameType.CONTENT_BINARY:
        return [chr(frame.type), b64encode(frame.data).decode()]
    return [chr(frame.type), frame.data.decode(errors="replace")]


def _shown(view: PlanView) -> Reply:
    return _content(plan_json(view, is_whole=True))


def _content(value: Any) -> Reply:
    return Status.OK, [(FrameType.CONTENT_JSON, encode_json(value))]


def _argument_invalid(text: str) -> Reply:
    return Status.ARGUMENT_INVALID, [(FrameType.CONTENT_TEXT, text.encode(errors="replace"))]


def _refused(status: Status, refusal: Refusal) -> Reply:
    return status, [(FrameType.CONTENT_TEXT, f"{refusal.message} {refusal.hint}"[:1_000].encode())]
