"""The station target and its kind: calls a station of the task's owner, and returns its answer as an outcome."""

from __future__ import annotations

import asyncio
import json
import os
import platform
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..clock import Clock
from ..errors import Refusal
from ..model.limits import ERROR_CHARACTERS, shorten
from ..model.outcome import Failed, Outcome
from ..model.plans.codes import FrameType, Status
from ..model.plans.plan import derive_plan_id
from ..model.reason import Reason
from ..model.stations.ballot import BALLOT_KIND, Ballot, Vote, ballot_from, ballot_record, open_ballot
from ..model.stations.station import Station, StationKind
from ..ports.records import Records
from ..ports.target import Invocation, TargetKind, Tools
from .calls import Answer, CallRequest, content_value, outcome_of, untold_frames
from .frames import Frame, encode_json
from .refusals import refuse
from .settings import StationSettings, read_settings
from .spec import CallSpec, canonical_spec, check_spec

if TYPE_CHECKING:
    from .server import StationServer

_BALLOT_EXPIRY: Final = timedelta(days=1)
_TRIES: Final = 50


class PlanDocuments(Protocol):
    """Plans, as far as a call needs them."""

    async def document(self, owner: str, plan_id: int, invocation: Invocation) -> Mapping[str, Any] | None:
        """Return the plan with its counters, as a worker gets it; None if there is none."""


class StationTarget:
    """`plans` has the documents of plans; without it, and for an ordinary task, the document is made from the task."""

    def __init__(self, settings: StationSettings, clock: Clock, records: Records, server: StationServer) -> None:
        self.settings = settings
        self.server = server
        self.plans: PlanDocuments | None = None
        self._clock = clock
        self._records = records

    def count_refusals(self, count: Callable[[str], None]) -> None:
        """Report the cause of each message or connection that the socket refuses."""
        self.server.hub.on_refused = lambda cause: count(cause.value)

    async def start(self) -> None:
        self.server.start()

    async def aclose(self) -> None:
        await self.server.stop()

    async def execute(self, invocation: Invocation) -> Outcome:
        try:
            self.server.start()
            spec = check_spec(json.loads(invocation.task.target.spec))
            payload = json.loads(invocation.task.payload)
        except Refusal as refusal:
            return Failed(str(refusal), permanent=True)
        except (ValueError, RecursionError) as error:
            return Failed(shorten(f"its spec cannot be read: {error}", ERROR_CHARACTERS), permanent=True)
        owner = invocation.task.owner
        station = await self.server.directory.station(owner, spec.station)
        if station is None or station.kind is StationKind.PUBLISHER:
            # Gone for good: the plan leaves the queue.
            text = f"PLAN_ERROR: there is no station {spec.station} of {owner}"
            return Failed(text, permanent=True, reason=Reason.TARGET_UNKNOWN)
        self.server.hub.revoke(self.server.directory.is_allowed)
        request = await self._make_request(invocation, spec, payload)
        return await self._execute(invocation, station, request, spec)

    async def _execute(self, invocation: Invocation, station: Station, request: CallRequest, spec: CallSpec) -> Outcome:
        if station.kind is StationKind.PUB:
            answer = self._publish(request)
        elif station.kind is StationKind.VOTE:
            answer = await self._vote(invocation, station, request)
        else:
            answer = await self.server.hub.call(request, invocation.heartbeat)
        is_at_most_once = invocation.task.policies.guarantee == "at_most_once"
        return outcome_of(answer, is_plan=spec.plan is not None, is_at_most_once=is_at_most_once)

    def _publish(self, request: CallRequest) -> Answer:
        """Send to all workers of a `pub` station and to the subscribers of its title; it is done at once."""
        sent = self.server.hub.broadcast(request)
        return Answer(Status.OK, (Frame(FrameType.CONTENT_JSON, encode_json({"sent": sent})),))

    async def _vote(self, invocation: Invocation, station: Station, request: CallRequest) -> Answer:
        """Call each voter without an answer. Each vote is stored before it counts, so a retry keeps it."""
        box = BallotBox(self._records, self._clock)
        ballot = await box.open(request.owner, invocation.key, invocation.task.id, station.voters)
        if not ballot.votes:
            return Answer(Status.NO_WORKER, error=f"the station {station.name} has no voters")

        async def ask(voter: str) -> Answer | None:
            answer = await self.server.hub.call_voter(request, voter, invocation.heartbeat)
            if answer.error:
                return answer
            content = next((content_value(each) for each in answer.contents), None)
            frames = untold_frames(answer.contents, kept=1)
            await box.cast(request.owner, invocation.key, voter, Vote(answer.status, content, frames))
            invocation.heartbeat()
            return None

        failures = [each for each in await _gather(ask(voter) for voter in ballot.missing) if each is not None]
        if failures:
            text = "; ".join(each.error for each in failures)
            may_have_run = any(each.may_have_run for each in failures)
            return Answer(failures[0].status, error=shorten(text, ERROR_CHARACTERS), may_have_run=may_have_run)
        task_id = invocation.task.id
        final = await box.open(request.owner, invocation.key, task_id, station.voters, is_new_attempt=False)
        contents = (Frame(FrameType.CONTENT_JSON, encode_json(final.result())),)
        return Answer(final.status, contents, is_ballot=True)

    async def _make_request(self, invocation: Invocation, spec: CallSpec, payload: Any) -> CallRequest:
        task = invocation.task
        plan_id = derive_plan_id(task.id) if spec.plan is None else spec.plan
        document: Mapping[str, Any] | None = None
        if spec.plan is not None and self.plans is not None:
            document = await self.plans.document(task.owner, plan_id, invocation)
        if document is None:
            document = self._document(invocation, spec, plan_id)
        frames = spec.frames
        if frames is None:
            frames = (Frame(FrameType.CONTENT_JSON, encode_json(payload)),)
        return CallRequest(
            task.owner, spec.station, plan_id, invocation.key, spec.command, frames, encode_json(document)
        )

    def _document(self, invocation: Invocation, spec: CallSpec, plan_id: int) -> Mapping[str, Any]:
        """Return an ordinary task in the form of a plan."""
        task, run = invocation.task, invocation.run
        return {
            "plan_id": plan_id,
            "request_id": run.id,
            "station": spec.station,
            "caller": task.owner,
            "description": spec.title or task.name,
            "plan_time": int(run.planned.timestamp()),
            "exec_time": int(self._clock.now().timestamp()),
            "attempt": run.attempt,
            "task_id": task.id,
            "run_id": run.id,
            "trace": invocation.trace,
        }


async def _gather(calls: Any) -> list[Answer | None]:
    """Await all; if one raises or this is cancelled, the others are cancelled and awaited first."""
    tasks = [asyncio.ensure_future(each) for each in calls]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class BallotBox:
    """Votes of occurrences in the store."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock

    async def open(
        self, owner: str, key: str, task_id: str, voters: tuple[str, ...], *, is_new_attempt: bool = True
    ) -> Ballot:
        """Return the ballot of an occurrence, made with all voters if it is new; errors of an earlier attempt are asked again."""
        for _ in range(_TRIES):
            stored = await self._load(owner, key)
            if stored is None:
                if await self._store(open_ballot(owner, key, task_id, voters)):
                    continue
            elif not is_new_attempt or stored.reopen() == stored or await self._store(stored.reopen()):
                return stored.reopen() if is_new_attempt else stored
        raise RuntimeError("the ballot is contested")

    async def cast(self, owner: str, key: str, voter: str, vote: Vote) -> bool:
        """Store a vote; False: this voter has voted, or is no voter."""
        for _ in range(_TRIES):
            stored = await self._load(owner, key)
            after = None if stored is None else stored.cast(voter, vote)
            if after is None:
                return False
            if await self._store(after):
                return True
        raise RuntimeError("the ballot is contested")

    async def _load(self, owner: str, key: str) -> Ballot | None:
        record = await self._records.get_record(BALLOT_KIND, key, owner)
        return None if record is None else ballot_from(record)

    async def _store(self, ballot: Ballot) -> bool:
        record = ballot_record(ballot, self._clock.now() + _BALLOT_EXPIRY)
        return await self._records.put_record(record, replacing=ballot.version or None)


class StationTargetKind:
    kind: Final = "station"

    def check(self, spec: Mapping[str, Any], payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        return canonical_spec(check_spec(spec))

    def open(self, tools: Tools) -> StationTarget:
        settings = read_settings(tools.settings)
        if not settings.enabled:
            raise refuse("stations_disabled")
        try:
            from .server import StationServer  # noqa: PLC0415 - needs an optional library
        except ImportError:
            raise refuse("stations_library_missing") from None
        records = tools.records
        if records is None:
            raise refuse("stations_disabled")
        plans = None
        if tools.service is not None:
            from .plan_requests import PlanRequests  # noqa: PLC0415 - a check of a spec does without

            plans = PlanRequests(tools.service)
        node = f"{platform.node()}:{os.getpid()}"
        server = StationServer(settings, tools.clock, records, node=node, publisher=plans)
        if tools.service is not None:
            server.broadcast_results(tools.service.store)
        target = StationTarget(settings, tools.clock, records, server)
        target.plans = plans
        return target


STATION: Final[TargetKind] = StationTargetKind()
