"""Message streams of a server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ..model.accounts.principal import Principal
from ..model.messages import Cursor, MessagePage, Stream, StreamState
from ..model.page import Page
from ..schedule.durations import format_iso_duration
from ..service.messages.streams import MessageDraft
from ..wire.messages import read_cursor, read_message_page, read_stream, read_stream_state
from .connection import Connection, path_segment
from .decode import decode_response, fetch_page


class RemoteStreams:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def send(
        self, principal: Principal, name: str, drafts: Sequence[MessageDraft], owner: str | None = None
    ) -> tuple[int, ...]:
        del principal
        body = {"messages": [_draft_json(draft) for draft in drafts]}
        response = await self._connection.post(f"{_path(name)}/messages", body, _owner_parameter(owner))
        return await decode_response(self._connection, lambda data: tuple(data["numbers"]), response)

    async def messages(
        self,
        principal: Principal,
        name: str,
        *,
        owner: str | None = None,
        after: int = 0,
        limit: int = 50,
        reader: str | None = None,
    ) -> MessagePage:
        query = [*_owner_parameter(owner), ("after", str(after)), ("limit", str(limit))]
        if reader is not None:
            query.append(("reader", reader))
        response = await self._connection.get(f"{_path(name)}/messages", query)
        stream = (await self.get(principal, name, owner)).stream
        return await decode_response(self._connection, lambda data: read_message_page(data, stream), response)

    async def page(
        self, principal: Principal, after: str | None = None, limit: int = 100, owner: str | None = None
    ) -> Page[Stream]:
        del principal
        return await fetch_page(self._connection, "/v1/streams", read_stream, _owner_parameter(owner), after, limit)

    async def get(self, principal: Principal, name: str, owner: str | None = None) -> StreamState:
        del principal
        response = await self._connection.get(_path(name), _owner_parameter(owner))
        return await decode_response(self._connection, read_stream_state, response)

    async def put(
        self,
        principal: Principal,
        name: str,
        owner: str | None = None,
        *,
        keep: int | None = None,
        keep_for: timedelta | None = None,
    ) -> Stream:
        del principal
        body = {"keep": keep, "keep_for": None if keep_for is None else format_iso_duration(keep_for)}
        response = await self._connection.put(_path(name), body, _owner_parameter(owner))
        return await decode_response(self._connection, read_stream, response)

    async def remove(self, principal: Principal, name: str, owner: str | None = None) -> None:
        del principal
        await self._connection.delete(_path(name), _owner_parameter(owner))

    async def register(
        self, principal: Principal, name: str, reader: str, owner: str | None = None, *, after: int | None = None
    ) -> Cursor:
        del principal
        path = f"{_path(name)}/cursors/{path_segment(reader)}"
        response = await self._connection.put(path, {"after": after}, _owner_parameter(owner))
        return await decode_response(self._connection, read_cursor, response)

    async def unregister(self, principal: Principal, name: str, reader: str, owner: str | None = None) -> None:
        del principal
        await self._connection.delete(f"{_path(name)}/cursors/{path_segment(reader)}", _owner_parameter(owner))


def _draft_json(draft: MessageDraft) -> dict[str, Any]:
    fields = draft._asdict() | {"references": list(draft.references)}
    return {name: value for name, value in fields.items() if value is not None}


def _path(name: str) -> str:
    return f"/v1/streams/{path_segment(name)}"


def _owner_parameter(owner: str | None) -> list[tuple[str, str]]:
    return [] if owner is None else [("owner", owner)]
