"""Destinations and notices over the wire: what a client reads is what the server has, except the URL's secrets."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from horae.model.events.destination import Destination, Notice, Occasion, QuietHours, notice_from, notice_json
from horae.model.events.webhook import NO_KEY, Attempt, Delivery, DeliveryState
from horae.wire.destinations import destination_json, notice_delivery_json, read_destination, read_notice_delivery

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLAIN = Destination("dst_1", "ada", "ops", "slack", "Slack", NOW, 0)


@pytest.mark.parametrize(
    "destination",
    [
        PLAIN,
        PLAIN._replace(quiet=QuietHours(79_200, 25_200), zone="Asia/Shanghai", reminders=True, language="zh"),
        PLAIN._replace(last_at=NOW, last_ok=False, last_answer="no", failing_since=NOW, blocked=("10.0.0.1/32",)),
        PLAIN._replace(blocked=(NO_KEY,), version=7),
    ],
)
def test_destination_is_read_as_it_was_written(destination: Destination) -> None:
    assert read_destination(destination_json(destination)) == destination


def test_blocked_destination_says_what_to_allow() -> None:
    blocked = destination_json(PLAIN._replace(blocked=("10.0.0.1/32",)))["blocked"]
    assert "10.0.0.1/32" in blocked["hint"]
    assert "HORAE_KEY_FILE" in destination_json(PLAIN._replace(blocked=(NO_KEY,)))["blocked"]["hint"]


def test_notice_is_read_as_it_was_written() -> None:
    notice = Notice(Occasion.FAILED, "backup", "tsk_1", "run_1", NOW, "exit 1")
    attempts = (Attempt(NOW, 503, "no"), Attempt(NOW, None, "sent", delivered=True))
    delivery = Delivery(
        "dlv_1",
        "dst_1",
        "ada",
        "",
        "notice.failed",
        "tsk_1",
        notice_json(notice),
        NOW,
        DeliveryState.PENDING,
        NOW,
        attempts,
    )
    read = read_notice_delivery(notice_delivery_json(delivery))
    assert read == delivery
    assert notice_from(read.body) == notice
    assert [each.ok for each in read.attempts] == [False, True]
