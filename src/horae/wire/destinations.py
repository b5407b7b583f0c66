"""Destinations of messages to people, and their notices, to JSON and back; a URL is shown by its schema alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Refusal
from ..model.events.destination import Destination, Occasion, notice_from, notice_json, parse_quiet_hours
from ..model.events.destination import Notice as Notice  # noqa: PLC0414 - readers of the JSON need it
from ..model.events.webhook import NO_KEY, Attempt, Delivery, DeliveryState
from ..outgoing.refusals import refuse_address
from ..service.events.refusals import refuse
from .instants import parse_instant, parse_optional_instant, utc


def masked_url(destination: Destination) -> str:
    return f"{destination.schema}://…"


def destination_json(destination: Destination) -> dict[str, Any]:
    return {
        "id": destination.id,
        "name": destination.name,
        "owner": destination.owner,
        "url": masked_url(destination),
        "service": destination.service,
        "zone": destination.zone,
        "quiet": None if destination.quiet is None else destination.quiet.text,
        "reminders": destination.reminders,
        "language": destination.language,
        "failing_since": utc(destination.failing_since),
        "blocked": _blocked_json(destination),
        "last": None
        if destination.last_at is None
        else {"at": utc(destination.last_at), "ok": destination.last_ok, "answer": destination.last_answer},
        "created": utc(destination.created),
        "version": destination.version,
    }


def read_destination(data: Mapping[str, Any]) -> Destination:
    last = data["last"] or {"at": None, "ok": None, "answer": ""}
    return Destination(
        data["id"],
        data["owner"],
        data["name"],
        data["url"].partition(":")[0],
        data["service"],
        parse_instant(data["created"]),
        0,
        data["zone"],
        None if data["quiet"] is None else parse_quiet_hours(data["quiet"]),
        data["reminders"],
        data["language"],
        parse_optional_instant(data["failing_since"]),
        () if data["blocked"] is None else tuple(data["blocked"]["networks"]) or (NO_KEY,),
        parse_optional_instant(last["at"]),
        last["ok"],
        last["answer"],
        version=data["version"],
    )


def blocked_destination(destination: Destination) -> Refusal | None:
    """Return the refusal for a missing key or a blocked network; None if the destination is not blocked."""
    if not destination.blocked:
        return None
    if NO_KEY in destination.blocked:
        return refuse("webhook_without_key", host=destination.name)
    return refuse_address(destination.name, destination.blocked)


def _blocked_json(destination: Destination) -> dict[str, Any] | None:
    refusal = blocked_destination(destination)
    if refusal is None:
        return None
    networks = [each for each in destination.blocked if each != NO_KEY]
    return {"networks": networks, "detail": refusal.message, "hint": refusal.hint}


def notice_delivery_json(delivery: Delivery) -> dict[str, Any]:
    notice = notice_from(delivery.body)
    return {
        "id": delivery.id,
        "destination": delivery.webhook,
        "owner": delivery.owner,
        "on": notice.occasion.value,
        "task_id": notice.task_id,
        "task": notice.task,
        "run_id": notice.run_id,
        "text": notice.text,
        "at": utc(notice.at),
        "state": delivery.state.value,
        "created": utc(delivery.created),
        "next_attempt": utc(delivery.due),
        "attempts": [
            {"at": utc(each.at), "status": each.status, "answer": each.answer, "ok": each.ok}
            for each in delivery.attempts
        ],
    }


def read_notice_delivery(data: Mapping[str, Any]) -> Delivery:
    notice = Notice(
        Occasion(data["on"]), data["task"], data["task_id"], data["run_id"], parse_instant(data["at"]), data["text"]
    )
    return Delivery(
        data["id"],
        data["destination"],
        data["owner"],
        "",
        f"notice.{data['on']}",
        data["task_id"],
        notice_json(notice),
        parse_instant(data["created"]),
        DeliveryState(data["state"]),
        parse_optional_instant(data["next_attempt"]),
        tuple(
            Attempt(parse_instant(each["at"]), each["status"], each["answer"], delivered=each["ok"])
            for each in data["attempts"]
        ),
    )
