"""Delivery of a text to a chat: its record, and how attempts, receipts and retries change it."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from horae.model.agents.delivery import (
    FINISHED_KIND,
    FINISHED_RETENTION,
    MAX_BACKOFF,
    PENDING_KIND,
    SEND_WINDOW,
    Delivery,
    DeliveryState,
    UncertainPolicy,
    add_delivery,
    as_delayed,
    as_failed,
    as_retried,
    as_sent,
    delivery_event,
    delivery_from,
    delivery_record,
    may_repeat,
    needs_report,
    replace_delivery,
    with_part,
    with_receipt,
)
from horae.model.events.event import EventKind
from horae.testing.factories import HOUR, NOON, SECOND

DELIVERY = Delivery("dlv_1", "group:family", "telegram:-100", "hello", NOON, "run_1")


def test_record_keeps_every_field() -> None:
    full = DELIVERY._replace(
        state=DeliveryState.FAILED,
        attempts=3,
        parts=("1", "2"),
        ended=NOON,
        problem="no",
        retried=NOON,
        uncertain_since=NOON,
        repeated_parts=1,
        is_reported=True,
        failures=2,
    )
    for delivery, kind in ((DELIVERY._replace(not_before=NOON), PENDING_KIND), (full, FINISHED_KIND)):
        record = delivery_record(delivery)
        assert (record.kind, record.key, record.owner) == (kind, "dlv_1", "group:family")
        assert delivery_from(record) == delivery
    assert DELIVERY.channel == "telegram"
    assert add_delivery(DELIVERY).replacing is None


def test_record_without_the_later_fields_is_read() -> None:
    record = delivery_record(DELIVERY)
    body = json.loads(record.body)
    for name in ("failures", "uncertain_since", "repeated_parts", "is_reported", "retried"):
        del body[name]
    assert delivery_from(record._replace(body=json.dumps(body))) == DELIVERY


def test_pending_delivery_becomes_a_finished_one_and_back() -> None:
    sent = as_sent(DELIVERY, NOON)
    dropped, added = replace_delivery(DELIVERY._replace(version=4), sent, NOON)
    assert (dropped.record.kind, dropped.replacing, dropped.dropped) == (PENDING_KIND, 4, True)
    assert (added.record.kind, added.replacing, added.record.expires) == (
        FINISHED_KIND,
        None,
        NOON + FINISHED_RETENTION,
    )
    failed = as_failed(DELIVERY, NOON, "no")._replace(version=2)
    dropped, added = replace_delivery(failed, as_retried(failed, NOON), NOON)
    assert (dropped.record.kind, dropped.replacing) == (FINISHED_KIND, 2)
    assert (added.record.kind, added.record.expires, added.record.version) == (PENDING_KIND, None, 1)
    (changed,) = replace_delivery(DELIVERY, DELIVERY._replace(attempts=1), NOON)
    assert (changed.record.kind, changed.replacing, changed.record.expires) == (PENDING_KIND, 1, None)
    (changed,) = replace_delivery(sent, sent._replace(state=DeliveryState.READ), NOON + HOUR)
    assert changed.record.expires == NOON + FINISHED_RETENTION


def test_wait_is_what_the_service_asks_for_and_doubles_without_progress() -> None:
    delivery, waits = DELIVERY, []
    for _ in range(14):
        delivery = as_delayed(delivery, NOON, 3 * SECOND, "busy")
        assert delivery.not_before is not None
        waits.append(delivery.not_before - NOON)
    assert waits[:4] == [3 * SECOND, 3 * SECOND, 4 * SECOND, 8 * SECOND]
    assert waits[-1] == MAX_BACKOFF
    assert not delivery.is_due(NOON)
    assert delivery.is_due(NOON + HOUR)
    assert with_part(delivery, "7", "telegram:-200").failures == 0
    assert DELIVERY.is_due(NOON)
    assert not as_sent(DELIVERY, NOON).is_due(NOON)


def test_last_attempt_is_at_the_deadline_and_then_it_has_failed() -> None:
    late = NOON + SEND_WINDOW - SECOND
    waiting = as_delayed(DELIVERY, late, HOUR, "busy")
    assert waiting.not_before == waiting.deadline == NOON + SEND_WINDOW
    failed = as_delayed(waiting, NOON + SEND_WINDOW, HOUR, "still busy")
    assert (failed.state, failed.problem, failed.ended) == (DeliveryState.FAILED, "still busy", NOON + SEND_WINDOW)
    again = as_retried(failed, NOON + 2 * SEND_WINDOW)
    assert (again.is_pending, again.deadline, again.parts) == (True, NOON + 3 * SEND_WINDOW, failed.parts)


def test_uncertainty_stays_until_the_part_is_accepted() -> None:
    uncertain = as_delayed(DELIVERY, NOON, SECOND, "no answer", is_uncertain=True)
    assert as_delayed(uncertain, NOON + HOUR, SECOND, "busy").uncertain_since == NOON
    accepted = with_part(uncertain, "1", uncertain.chat)
    assert (accepted.uncertain_since, accepted.repeated_parts) == (None, 1)
    assert with_part(accepted, "2", uncertain.chat).repeated_parts == 1


def test_part_without_an_answer_is_repeated_by_the_policy_or_while_the_service_drops_repetitions() -> None:
    uncertain = as_delayed(DELIVERY, NOON, SECOND, "no answer", is_uncertain=True)
    never, later = timedelta(0), NOON + 30 * SECOND
    assert may_repeat(DELIVERY, later, UncertainPolicy.FAIL, never)
    assert may_repeat(uncertain, later, UncertainPolicy.REPEAT, never)
    assert not may_repeat(uncertain, later, UncertainPolicy.FAIL, never)
    assert may_repeat(uncertain, later, UncertainPolicy.FAIL, HOUR)
    assert not may_repeat(uncertain, NOON + HOUR, UncertainPolicy.FAIL, HOUR)


SENT = as_sent(DELIVERY._replace(parts=("1", "2")), NOON)


@pytest.mark.parametrize(
    ("delivery", "part", "receipt", "state"),
    [
        (SENT, "2", DeliveryState.RECEIVED, DeliveryState.RECEIVED),
        (SENT, "1", DeliveryState.READ, DeliveryState.SENT),
        (SENT, "3", DeliveryState.READ, DeliveryState.SENT),
        (SENT, "1", DeliveryState.FAILED, DeliveryState.FAILED),
        (SENT._replace(state=DeliveryState.READ), "2", DeliveryState.RECEIVED, DeliveryState.READ),
        (as_failed(SENT, NOON, "no"), "2", DeliveryState.READ, DeliveryState.FAILED),
        (DELIVERY._replace(parts=("1",)), "1", DeliveryState.READ, DeliveryState.PENDING),
        (DELIVERY._replace(parts=("1",)), "1", DeliveryState.FAILED, DeliveryState.FAILED),
    ],
)
def test_receipt_of_a_part(delivery: Delivery, part: str, receipt: DeliveryState, state: DeliveryState) -> None:
    assert with_receipt(delivery, part, receipt, NOON, "window closed").state is state


def test_delay_of_a_minute_is_reported_once() -> None:
    short = DELIVERY._replace(not_before=NOON + timedelta(seconds=59))
    long = DELIVERY._replace(not_before=NOON + timedelta(seconds=60), problem="busy")
    assert not needs_report(DELIVERY)
    assert not needs_report(short)
    assert needs_report(long)
    assert not needs_report(long._replace(is_reported=True))
    assert not needs_report(as_sent(long, NOON))
    event = delivery_event(long, NOON)
    assert (event.kind, event.owner) == (EventKind.DELIVERY_DELAYED, "group:family")
    assert json.loads(event.detail or "") == {
        "delivery": "dlv_1",
        "chat": "telegram:-100",
        "state": "pending",
        "origin": "run_1",
        "problem": "busy",
    }


def test_events_of_ends() -> None:
    assert delivery_event(SENT, NOON).kind is EventKind.DELIVERY_SENT
    assert "problem" not in (delivery_event(SENT, NOON).detail or "")
    assert delivery_event(as_failed(SENT, NOON, "x" * 1_000), NOON).kind is EventKind.DELIVERY_FAILED
    assert len(as_failed(SENT, NOON, "x" * 1_000).problem) == 500
