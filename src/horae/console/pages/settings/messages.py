"""Messages to people: destinations with their last message; set, test, remove. A URL is never shown."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from ....errors import HoraeError
from ....model.events.destination import Destination
from ....service.events.message_client import localize_answer
from ....wire.destinations import blocked_destination, masked_url
from ...outcomes import Sign
from ...page import FORM_ERRORS, PageRequest, check_confirmation, form, page
from .tabs import render_tab

PAGE_SIZE: Final = 50


async def show(request: PageRequest, error: HoraeError | None = None) -> Response:
    after = request.request.query_params.get("after")
    found = await request.service.destinations.page(request.viewer.principal, after or None, PAGE_SIZE)
    data = {
        "destinations": [
            (
                each._replace(last_answer=localize_answer(each.last_answer, request.viewer.language)),
                masked_url(each),
                _sign(request, each),
                _describe_block(request, each),
            )
            for each in found.items
        ],
        "after": found.after,
        "query": {"after": after} if after else {},
        "has_key": request.service.secrets.has_key,
    }
    return render_tab(request, "messages", data, error)


async def save(request: PageRequest) -> Response:
    """Set a destination; an empty URL keeps the one that it has. A refused form is shown again without its URL."""
    sent, principal = request.form, request.viewer.principal
    fields: dict[str, Any] = {"quiet": sent.text("quiet") or None, "reminders": sent.text("reminders") == "yes"}
    fields |= {name: sent.text(name) for name in ("url", "zone") if sent.text(name)}
    fields["language"] = request.viewer.language
    try:
        saved = await request.service.destinations.put(
            principal, sent.text("name"), sent.text("owner") or None, **fields
        )
    except FORM_ERRORS as error:
        return await show(request, error)
    return request.redirect("/settings/messages", request.notice("settings_destination_saved", name=saved.name))


async def send_test(request: PageRequest) -> Response:
    name, owner = request.form.text("name"), request.form.text("owner") or None
    try:
        delivery = await request.service.destinations.test(request.viewer.principal, name, owner)
    except FORM_ERRORS as error:
        return await show(request, error)
    attempt = delivery.attempts[-1]
    text = "settings_destination_sent" if attempt.ok else "settings_destination_not_sent"
    answer = localize_answer(attempt.answer, request.viewer.language)
    return request.redirect("/settings/messages", request.notice(text, name=name, answer=answer))


async def remove(request: PageRequest) -> Response:
    name, owner = request.form.text("name"), request.form.text("owner") or None
    try:
        check_confirmation(request, name)
        await request.service.destinations.remove(request.viewer.principal, name, owner)
    except FORM_ERRORS as error:
        return await show(request, error)
    return request.redirect("/settings/messages", request.notice("settings_destination_removed", name=name))


def _sign(request: PageRequest, destination: Destination) -> Sign | None:
    if destination.last_at is None:
        return None
    icon, style = ("✓", "good") if destination.last_ok else ("✕", "bad")
    name = "settings_destination_ok" if destination.last_ok else "settings_destination_failed"
    return Sign(icon, style, request.text(name))


def _describe_block(request: PageRequest, destination: Destination) -> str | None:
    refusal = blocked_destination(destination)
    return None if refusal is None else " ".join(refusal.in_language(request.viewer.language))


ROUTES: Final = (
    page("/settings/messages", show),
    form("/settings/messages/set", save),
    form("/settings/messages/test", send_test),
    form("/settings/messages/remove", remove),
)
