"""CloudEvents of runs and tasks, webhooks and their deliveries as values."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.model.events.cloud_event import MAX_BODY_BYTES, cloud_event, encode_body
from horae.model.events.event import Event, EventKind, NumberedEvent
from horae.model.events.trigger_fields import triggered_json
from horae.model.events.webhook import (
    RETRY_WAITS,
    Attempt,
    Delivery,
    DeliveryState,
    DisabledCause,
    Webhook,
    changed_delivery_writes,
    delivery_from,
    delivery_id,
    delivery_record,
    due_record,
    new_delivery_writes,
    parse_due_key,
    retry_at,
    webhook_from,
    webhook_record,
)
from horae.testing.factories import a_run, a_task

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVENT = Event(EventKind.RUN_FAILED, NOON, "ada/ü", "tsk_1", "run_1", "target_failed")
WEBHOOK = Webhook("whk_1", "ada", "https://example.org/", NOON, 7)
DELIVERY = Delivery("dlv_1", "whk_1", "ada", "evt_8", "run.failed", "tsk_1", "{}", NOON, due=NOON)


def test_an_event_of_a_run_names_both() -> None:
    shape = cloud_event(NumberedEvent(8, EVENT))
    assert (shape["id"], shape["sequence"], shape["type"]) == (
        "evt_8",
        "0000000000000000008",
        "dev.horae.run.failed.v1",
    )
    assert (shape["source"], shape["subject"]) == ("/owners/ada%2F%C3%BC", "tsk_1/run_1")
    assert shape["time"] == "2026-03-01T12:00:00.000000Z"


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_sequences_order_as_texts(one: int, other: int) -> None:
    first, second = (cloud_event(NumberedEvent(number, EVENT))["sequence"] for number in (one, other))
    assert (first < second, first == second, int(first)) == (one < other, one == other, one)


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=40_000), max_size=5))
def test_event_body_is_bounded(more: dict[str, str]) -> None:
    shape = cloud_event(NumberedEvent(8, EVENT), more)
    assert len(encode_body(shape)) <= MAX_BODY_BYTES
    kept = {name: value for name, value in shape["data"].items() if name in more and name != "left_out"}
    assert all(more[name] == value for name, value in kept.items())


def test_omitted_fields_are_named_largest_first() -> None:
    data = cloud_event(NumberedEvent(8, EVENT), {"a": "x" * 15_000, "b": "x" * 30_000, "c": 1})["data"]
    assert (data["left_out"], len(data["a"]), data["c"]) == (["b"], 15_000, 1)


@pytest.mark.parametrize("payload", ["", "null", '{"sourceId": true}'])
def test_task_without_a_source(payload: str) -> None:
    task = a_task(payload=payload)
    body = triggered_json(task, a_run(task), {"topic": "t"}, NOON)
    assert (body["sourceType"], body["sourceId"], "text" in body) == ("unknown", task.id, False)


def test_task_with_source_and_data() -> None:
    task = a_task(payload='{"sourceType": "goal", "sourceId": 7}')
    body = triggered_json(task, a_run(task), {"topic": "t", "say": "hello"}, NOON)
    assert (body["sourceType"], body["sourceId"], body["text"]) == ("goal", "7", "hello")


def test_webhook_event_filter() -> None:
    assert WEBHOOK.matches(EVENT._replace(owner="ada"))
    assert not WEBHOOK.matches(EVENT)
    assert not WEBHOOK._replace(types=("task.*",)).matches(EVENT._replace(owner="ada"))
    assert WEBHOOK._replace(types=("task.*", "run.f*")).matches(EVENT._replace(owner="ada"))


def test_signing_secrets_of_a_webhook() -> None:
    rotated = WEBHOOK._replace(secret=2, former=1, former_until=NOON)
    assert WEBHOOK.secrets_at(NOON) == (1,)
    assert rotated.secrets_at(NOON - timedelta(seconds=1)) == (2, 1)
    assert rotated.secrets_at(NOON) == (2,)


@pytest.mark.parametrize(
    "webhook",
    [
        WEBHOOK,
        WEBHOOK._replace(
            types=("run.*",),
            note="x",
            disabled=DisabledCause.GONE,
            disabled_at=NOON,
            failing_since=NOON,
            secret=3,
            former=2,
            former_until=NOON,
            version=9,
        ),
    ],
)
def test_webhook_record_round_trip(webhook: Webhook) -> None:
    assert webhook_from(webhook_record(webhook)) == webhook
    assert webhook.enabled == (webhook.disabled is None)


def test_delivery_record_round_trip() -> None:
    attempts = (Attempt(NOON, 500, "no"), Attempt(NOON, None, "away"), Attempt(NOON, 204, ""))
    delivery = DELIVERY._replace(attempts=attempts, state=DeliveryState.FAILED, due=None, tried=3, version=4)
    assert delivery_from(delivery_record(delivery)) == delivery
    assert [each.ok for each in attempts] == [False, False, True]


def test_webhook_queue_is_ordered_by_due_instant() -> None:
    dues = [NOON + timedelta(microseconds=number) for number in (0, 1, 999, 10**9)]
    records = [due_record(DELIVERY._replace(due=due)) for due in dues]
    keys = [record.key for record in records if record is not None]
    assert keys == sorted(keys)
    assert [parse_due_key(key) for key in keys] == [(due, "dlv_1") for due in dues]


def test_queue_entry_is_added_moved_and_removed() -> None:
    later, done = DELIVERY._replace(due=NOON + timedelta(seconds=5)), DELIVERY._replace(due=None)

    def queued(writings: Any) -> list[tuple[bool, bool]]:
        return [(each.dropped, each.replacing is None) for each in writings if each.record.kind == "delivery.due"]

    assert queued(new_delivery_writes(DELIVERY)) == [(False, True)]
    assert queued(new_delivery_writes(done)) == []
    assert queued(changed_delivery_writes(DELIVERY, later)) == [(True, False), (False, True)]
    assert queued(changed_delivery_writes(DELIVERY, DELIVERY)) == []
    assert queued(changed_delivery_writes(DELIVERY, done)) == [(True, False)]
    assert queued(changed_delivery_writes(done, done)) == []


def test_delivery_backoff_has_jitter_and_ends() -> None:
    for number, wait in enumerate(RETRY_WAITS, 1):
        at = retry_at(DELIVERY._replace(tried=number), NOON)
        assert at is not None
        assert 0.9 * wait <= at - NOON <= 1.1 * wait
    assert retry_at(DELIVERY._replace(tried=1 + len(RETRY_WAITS)), NOON) is None
    assert delivery_id(NOON, 7) < delivery_id(NOON, 8) < delivery_id(NOON + timedelta(seconds=1), 9)
    assert json.loads(DELIVERY.body) == {}
