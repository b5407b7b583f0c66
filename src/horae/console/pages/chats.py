"""Chats: a list of the chats of groups, and one chat with its messages, states of answers and a form to write."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ...errors import HoraeError
from ...model.agents.delivery import Delivery, DeliveryState
from ...model.refusals import refuse
from ...ports.channel import MessageChange
from ...service.chats.chats import Transcript, TranscriptMessage
from ..outcomes import Sign
from ..page import FORM_ERRORS, PageRequest, form, form_problem, form_status, page
from .approvals import pending_of_group
from .streams import show_text

LIST_SIZE: Final = 100
PAGE_SIZE: Final = 50
MOST_CHARACTERS: Final = 8_000
"""Characters of a message that the page shows."""
_LAST_CHARACTERS: Final = 120
_OPEN_DELIVERIES: Final = 10
_AWAIT_ANSWER: Final = timedelta(minutes=2)
"""So long after a person's message the page asks again for an answer, and whether the assistant works."""
_MAX_NUMBER: Final = 2**53
_SPACE: Final = re.compile(r"\s+")
_SIGNS: Final = {
    DeliveryState.PENDING: ("…", "warn"),
    DeliveryState.SENT: ("✓", "dim"),
    DeliveryState.RECEIVED: ("✓✓", "dim"),
    DeliveryState.READ: ("✓✓", "good"),
    DeliveryState.FAILED: ("✕", "bad"),
}
_OPEN_STATES: Final = (DeliveryState.FAILED, DeliveryState.PENDING)


class MessageRow(NamedTuple):
    """A message as the page shows it. `side` is `own` for the viewer, `assistant` or `other`."""

    row: TranscriptMessage
    side: str
    text: str
    cut: int
    change: str | None
    quoted: str | None
    sign: Sign | None


class DeliveryRow(NamedTuple):
    delivery: Delivery
    sign: Sign
    text: str
    problem: str


async def show_list(request: PageRequest) -> Response:
    query = request.request.query_params
    found = await request.service.chats.page(request.viewer.principal, query.get("after") or None, LIST_SIZE)
    data: dict[str, Any] = {
        "page": "chats",
        "chats": [
            (each, None if each.last is None else show_text(_SPACE.sub(" ", each.last.text[:_LAST_CHARACTERS])))
            for each in found.items
        ],
        "after": found.after,
        "query": {"after": query["after"]} if query.get("after") else {},
    }
    return request.render("chats.html", data)


async def show(request: PageRequest, error: HoraeError | None = None) -> Response:
    """Show the newest messages of a chat; with `?after=NUMBER`, those after this number."""
    query = request.request.query_params
    chat = request.form.text("chat") or query.get("chat", "")
    after = None if query.get("after") is None else _number(query["after"])
    transcript = await request.service.chats.transcript(request.viewer.principal, chat, after, PAGE_SIZE)
    rows = [_message_row(request, each) for each in transcript.messages]
    first_shown = rows[0].row.message.number if rows else transcript.last + 1
    data: dict[str, Any] = {
        "page": "chats",
        "transcript": transcript,
        "group": transcript.group,
        "rows": rows,
        "is_paged": after is not None,
        "is_awaited": after is None and _is_awaited(request, transcript),
        "older": max(0, first_shown - 1 - PAGE_SIZE) if first_shown > transcript.first else None,
        "newer": transcript.next_after,
        "deliveries": [_delivery_row(request, each) for each in await _open_deliveries(request, chat)],
        "pending": await pending_of_group(request, transcript.group.owner),
        "message_id": os.urandom(12).hex(),
        "given": request.form,
        **form_problem(request, error),
    }
    return request.render("chat.html", data, form_status(error))


async def send(request: PageRequest) -> Response:
    """Append the message of the viewer; a form that is sent twice appends it once."""
    chat, message_id = request.form.text("chat"), request.form.text("message_id") or None
    text = str(request.form.text("text")).replace("\r\n", "\n")
    try:
        await request.service.chats.send(request.viewer.principal, chat, text, message_id=message_id)
    except FORM_ERRORS as error:
        return await show(request, error)
    return request.redirect("/chat", chat=chat)


async def retry(request: PageRequest) -> Response:
    return await _change_delivery(request, is_retried=True)


async def discard(request: PageRequest) -> Response:
    return await _change_delivery(request, is_retried=False)


async def _change_delivery(request: PageRequest, *, is_retried: bool) -> Response:
    principal, delivery_id = request.viewer.principal, request.form.text("delivery")
    try:
        if is_retried:
            await request.service.deliveries.retry(principal, delivery_id)
        else:
            await request.service.deliveries.discard(principal, delivery_id)
    except FORM_ERRORS as error:
        return await show(request, error)
    notice = request.notice("chats_retried" if is_retried else "chats_discarded")
    return request.redirect("/chat", notice, chat=request.form.text("chat"))


async def _open_deliveries(request: PageRequest, chat: str) -> list[Delivery]:
    found: list[Delivery] = []
    for state in _OPEN_STATES:
        page_of_state = await request.service.deliveries.page(
            request.viewer.principal, state, chat, limit=_OPEN_DELIVERIES
        )
        found += page_of_state.items
    return [each for each in found if each.problem or each.state is DeliveryState.FAILED]


def _is_awaited(request: PageRequest, transcript: Transcript) -> bool:
    """Whether the page should look again soon: the assistant works, or a person has written a moment ago."""
    if transcript.is_working:
        return True
    last = transcript.messages[-1].message if transcript.messages else None
    return last is not None and not last.is_own and request.viewer.now - last.sent < _AWAIT_ANSWER


def _message_row(request: PageRequest, row: TranscriptMessage) -> MessageRow:
    message = row.message
    is_mine = message.sender == request.viewer.principal.owner or message.from_me
    quoted = message.quoted
    return MessageRow(
        row,
        "assistant" if message.is_own else "own" if is_mine else "other",
        show_text(message.text[:MOST_CHARACTERS]),
        max(0, len(message.text) - MOST_CHARACTERS),
        None if message.change is MessageChange.NEW else f"chats_{message.change.value}",
        None if quoted is None else show_text(quoted.sender_name or quoted.id),
        None if row.delivery is None else _sign(request, row.delivery),
    )


def _delivery_row(request: PageRequest, delivery: Delivery) -> DeliveryRow:
    text = show_text(_SPACE.sub(" ", delivery.text[:_LAST_CHARACTERS]))
    return DeliveryRow(delivery, _sign(request, delivery), text, show_text(delivery.problem))


def _sign(request: PageRequest, delivery: Delivery) -> Sign:
    return Sign(*_SIGNS[delivery.state], request.text(f"chats_state_{delivery.state.value}"))


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > len(str(_MAX_NUMBER)):
        raise refuse("bad_number", name="after", value=text, least=0, most=_MAX_NUMBER)
    return min(int(text), _MAX_NUMBER)


ROUTES: Final = (
    page("/chats", show_list),
    page("/chat", show),
    form("/chat/send", send),
    form("/chat/retry", retry),
    form("/chat/discard", discard),
)
