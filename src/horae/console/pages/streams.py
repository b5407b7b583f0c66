"""Message streams: a list, and one stream with its messages (newest last), readers and gaps."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ...model.messages import RUN_SOURCE, Cursor, Gap, Message, StreamState
from ...model.refusals import refuse
from ..page import PageRequest, page

LIST_SIZE: Final = 100
PAGE_SIZE: Final = 50
MOST_CHARACTERS: Final = 2_000
"""Characters of a message that the page shows."""
_HIDDEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters and direction overrides, except tab and line feed: shown, they would change the text around them."""
_TASK_PREFIX: Final = "tsk_"
_MAX_NUMBER: Final = 2**53


class MessageRow(NamedTuple):
    """A message as the page shows it. `task`: the task whose run sent it; `readers` have their cursors at it."""

    message: Message
    text: str
    cut: int
    references: list[str]
    task: str | None
    readers: list[str]


class ReaderRow(NamedTuple):
    cursor: Cursor
    unread: int


async def show_list(request: PageRequest) -> Response:
    query = request.request.query_params
    found = await request.service.streams.page(request.viewer.principal, query.get("after") or None, LIST_SIZE)
    owner = request.viewer.principal.owner
    data: dict[str, Any] = {
        "page": "streams",
        "streams": [(each, None if each.owner == owner else each.owner) for each in found.items],
        "has_owners": request.viewer.is_admin,
        "after": found.after,
        "query": {"after": query["after"]} if query.get("after") else {},
    }
    return request.render("streams.html", data)


async def show(request: PageRequest) -> Response:
    """Show the newest messages of a stream; with `?after=NUMBER`, those after this number."""
    query, principal = request.request.query_params, request.viewer.principal
    name, owner = query.get("name", ""), query.get("owner") or None
    state = await request.service.streams.get(principal, name, owner)
    stream = state.stream
    newest = max(stream.first - 1, stream.last - PAGE_SIZE)
    after = newest if query.get("after") is None else _number(query["after"])
    found = await request.service.streams.messages(principal, name, owner=owner, after=after, limit=PAGE_SIZE)
    first_shown = found.messages[0].number if found.messages else after + 1
    data: dict[str, Any] = {
        "page": "streams",
        "state": state,
        "stream": stream,
        "owner": owner,
        "rows": [_message_row(each, state) for each in found.messages],
        "gaps": _gap_rows(found.gaps if query.get("after") is not None else state.gaps),
        "readers": [_reader_row(each, state) for each in state.cursors],
        "older": max(0, first_shown - 1 - PAGE_SIZE) if first_shown > stream.first else None,
        "newer": found.next_after,
    }
    return request.render("stream.html", data)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > len(str(_MAX_NUMBER)):
        raise refuse("bad_number", name="after", value=text, least=0, most=_MAX_NUMBER)
    return min(int(text), _MAX_NUMBER)


def _message_row(message: Message, state: StreamState) -> MessageRow:
    given = message.message
    is_of_task = given.source == RUN_SOURCE and given.sender.startswith(_TASK_PREFIX)
    references = [
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in json.loads(given.references)
    ]
    return MessageRow(
        message,
        show_text(given.text[:MOST_CHARACTERS]),
        max(0, len(given.text) - MOST_CHARACTERS),
        [show_text(each[:MOST_CHARACTERS]) for each in references],
        given.sender if is_of_task else None,
        [cursor.reader for cursor in state.cursors if cursor.number == message.number],
    )


def _reader_row(cursor: Cursor, state: StreamState) -> ReaderRow:
    return ReaderRow(cursor, state.stream.last - max(cursor.number, state.stream.first - 1))


def _gap_rows(gaps: tuple[Gap, ...]) -> list[Gap]:
    """Return the gaps, newest first."""
    return sorted(gaps, reverse=True)


def show_text(text: str) -> str:
    return _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


ROUTES: Final = (page("/streams", show_list), page("/stream", show))
