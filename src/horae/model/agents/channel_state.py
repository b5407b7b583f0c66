"""State of the connection of a chat channel, as a value and as a record that every process reads; pure."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final, NamedTuple

from ..record import Record

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
