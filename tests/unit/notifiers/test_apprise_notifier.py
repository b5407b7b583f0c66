"""Notifier with apprise against real servers on loopback: delivery, failures, the guard, and hostile URLs."""

from __future__ import annotations

import pytest

from horae.errors import Refusal
from horae.notifiers import apprise_notifier
from horae.notifiers.apprise_child import HOST_SCHEMAS
from horae.notifiers.apprise_notifier import AppriseNotifier
from horae.outgoing.addresses import read_networks
from horae.ports.notifier import (
    Message,
    MessageKind,
    MessageService,
    Notifier,
    SendFailure,
    SendResult,
    UnavailableNotifier,
)

from .message_servers import http_receiver, smtp_receiver

LOOPBACK = read_networks(["127.0.0.0/8"])
FAILED = Message("backup failed", "exit 1", MessageKind.FAILURE)


async def test_json_message_arrives_and_error_status_is_reported() -> None:
    notifier = AppriseNotifier(LOOPBACK)
    async with http_receiver() as receiver:
        assert await notifier.check(receiver.url()) == MessageService("json", "JSON")
        assert receiver.connections == 0
        receiver.statuses = [503]
        assert await notifier.send(receiver.url(), FAILED) == SendResult(SendFailure.STATUS, 503)
        assert await notifier.send(receiver.url(), FAILED) == SendResult()
    sent = receiver.messages[-1]
    assert (sent["title"], sent["message"], sent["type"]) == ("backup failed", "exit 1", "failure")
    assert await notifier.send(receiver.url(), FAILED) == SendResult(SendFailure.UNREACHABLE)


async def test_mail_arrives_and_refused_recipient_is_reported() -> None:
    notifier = AppriseNotifier(LOOPBACK)
    async with smtp_receiver() as receiver:
        assert await notifier.send(receiver.url, FAILED) == SendResult()
        receiver.refusal = 550
        assert await notifier.send(receiver.url, FAILED) == SendResult(SendFailure.STATUS, 550)
    (mail,) = receiver.mails
    assert mail["Subject"] == "backup failed"
    assert mail["To"] == "ops@example.org"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_address_that_is_not_allowed_is_never_connected_to(host: str) -> None:
    async with http_receiver() as receiver:
        result = await AppriseNotifier().send(receiver.url(host=host), FAILED)
        assert receiver.connections == 0
    assert result.failure is SendFailure.FORBIDDEN
    assert result.networks[0] in ("127.0.0.0/8", "::1/128")


async def test_redirect_is_an_answer_and_is_not_followed() -> None:
    async with http_receiver() as inner, http_receiver() as receiver:
        receiver.statuses, receiver.headers = [307], [f"Location: http://127.0.0.1:{inner.port}/"]
        result = await AppriseNotifier(LOOPBACK).send(receiver.url("?redirect=yes"), FAILED)
        assert inner.connections == 0
    assert result == SendResult(SendFailure.STATUS, 307)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("file:///etc/passwd", "notify_schema"),
        ("SecretWithoutSchema", "notify_schema"),
        ("slack://SecretWithoutSchema", "notify_url"),
        ("json://host/ json://other", "notify_url_text"),
        ("json://host/\n", "notify_url_text"),
        (f"json://host/{'x' * 3000}", "notify_url_text"),
        *((f"{schema}://", "notify_host_schema") for schema in sorted(HOST_SCHEMAS)[:2]),
    ],
)
async def test_bad_url_is_refused_without_repeating_it(url: str, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        await AppriseNotifier().check(url)
    assert refused.value.code == code
    assert "Secret" not in str(refused.value)


async def test_host_schema_works_once_an_operator_allows_it() -> None:
    assert (await AppriseNotifier(host_schemas=["syslog"]).check("syslog://")).schema == "syslog"


async def test_process_that_takes_too_long_is_ended() -> None:
    assert await AppriseNotifier(seconds=0.01).send("json://127.0.0.1/", FAILED) == SendResult(SendFailure.TIMEOUT)


async def test_missing_library_is_refused_at_once_and_is_a_failure_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apprise_notifier, "is_installed", lambda: False)
    notifiers: tuple[Notifier, ...] = AppriseNotifier(), UnavailableNotifier()
    for notifier in notifiers:
        with pytest.raises(Refusal, match=r"horae\[notify\]"):
            await notifier.check("json://host/")
        assert await notifier.send("json://host/", FAILED) == SendResult(SendFailure.LIBRARY)
