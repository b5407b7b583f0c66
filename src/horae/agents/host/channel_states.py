"""States of the connections of channels, as values and records: written when they change, for the doctor and the console."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import datetime
from typing import Final, NamedTuple

from ...clock import Clock
from ...model.accounts.principal import LOCAL_OWNER
from ...model.events.event import Event, EventKind
from ...model.limits import shorten
from ...model.record import Record, RecordWrite
from ...ports.records import Records
from ...store_retry import TRANSIENT_ERRORS

CHANNEL_STATE_KIND: Final = "channel.state"


class ChannelState(NamedTuple):
    """`since` is when the state began. `problem` says why messages cannot arrive, without secrets; `is_final`: no further
    attempt is made before a person acts."""

    name: str
    is_connected: bool
    since: datetime
    problem: str = ""
    is_final: bool = False
    version: int = 1


def channel_state_record(state: ChannelState) -> Record:
    body = state._asdict()
    for field in ("name", "version"):
        del body[field]
    body["since"] = state.since.isoformat()
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Record(CHANNEL_STATE_KIND, state.name, "", text, state.version)


def channel_state_from(record: Record) -> ChannelState:
    body = json.loads(record.body)
    since = datetime.fromisoformat(body.pop("since"))
    return ChannelState(name=record.key, since=since, version=record.version, **body)


LOG: Final = logging.getLogger("horae.agents")
_TRIES: Final = 5
_DETAIL_CHARACTERS: Final = 300


class ChannelStates:
    """`current` are the states that this process has seen, by channel."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._writes: set[asyncio.Task[None]] = set()
        self.current: dict[str, ChannelState] = {}

    def report(self, name: str, *, is_connected: bool, problem: str = "", is_final: bool = False) -> None:
        """Keep the state, and write it in the background if it is another one."""
        before = self.current.get(name)
        if before is not None and (before.is_connected, before.problem, before.is_final) == (
            is_connected,
            problem,
            is_final,
        ):
            return
        state = ChannelState(name, is_connected, self._clock.now(), problem, is_final)
        self.current[name] = state
        if is_connected:
            LOG.info("the channel %s is connected", name)
        else:
            LOG.warning("the channel %s receives nothing: %s", name, problem)
        write = asyncio.ensure_future(self._write(state))
        self._writes.add(write)
        write.add_done_callback(self._writes.discard)

    async def finish(self) -> None:
        """Wait for the writes that are under way."""
        await asyncio.gather(*self._writes, return_exceptions=True)

    async def _write(self, state: ChannelState) -> None:
        try:
            for _ in range(_TRIES):
                if self.current.get(state.name) != state:
                    return
                record = await self._records.get_record(CHANNEL_STATE_KIND, state.name)
                version = None if record is None else record.version
                written = channel_state_record(state._replace(version=version or 1))
                # The first connection is no news.
                is_news = not state.is_connected or record is not None
                events = (_event_of(state),) if is_news else ()
                if await self._records.write_with_events([RecordWrite(written, version)], events):
                    return
        except TRANSIENT_ERRORS as error:
            LOG.warning("the state of the channel %s could not be written: %s", state.name, str(error) or repr(error))


def _event_of(state: ChannelState) -> Event:
    detail = state.name if state.is_connected else f"{state.name}: {state.problem}"
    kind = EventKind.CHANNEL_CONNECTED if state.is_connected else EventKind.CHANNEL_FAILED
    return Event(kind, state.since, LOCAL_OWNER, "", None, shorten(detail, _DETAIL_CHARACTERS))


async def load_channel_states(records: Records) -> tuple[ChannelState, ...]:
    page = await records.records(CHANNEL_STATE_KIND, None, None, 500)
    return tuple(map(channel_state_from, page.items))
