"""The channel contract finds each planted defect, and names it by the right test."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator

import pytest

from horae.agents.channels import feishu
from horae.agents.channels.telegram import TelegramChannel
from horae.agents.channels.whatsapp import WhatsAppChannel
from horae.outgoing.addresses import read_networks
from horae.ports.channel import Channel, ChannelTools, DeliveryDelayed, DeliveryRefused
from horae.testing.contracts.channels import ChannelContract, KnownSecrets, RecordingListener, harness
from tests.channels import defective_channels as defects
from tests.channels import test_feishu, test_whatsapp
from tests.channels.feishu_service import FeishuChats, FeishuService
from tests.channels.telegram_service import TOKEN, TelegramChats, TelegramService
from tests.channels.whatsapp_service import WhatsAppChats, WhatsAppService

DEFECTS: tuple[tuple[type[TelegramChannel], str], ...] = (
    (defects.ConfirmsFirst, "test_a_crash_before_the_confirmation_repeats_the_message"),
    (defects.ReportsTwice, "test_messages_arrive_in_order"),
    (defects.LosesUnkept, "test_a_message_that_was_not_stored_arrives_again"),
    (defects.EqualTextsAreOne, "test_equal_texts_are_two_messages"),
    (defects.EditsLookNew, "test_edits_are_reported"),
    (defects.DropsQuotes, "test_an_answer_names_the_quoted_message"),
    (defects.ReportsOwnTexts, "test_the_channel_does_not_report_its_own_texts"),
    (defects.LosesTheEnd, "test_a_long_text_arrives_in_order_and_whole"),
    (defects.Escapes, "test_special_characters_arrive_unchanged"),
    (defects.CutsLongTexts, "test_a_text_above_the_limit_is_refused"),
    (defects.GivesUpWhenLimited, "test_a_rate_limit_delays_the_text"),
    (defects.IgnoresTheAskedDelay, "test_a_rate_limit_delays_the_text"),
    (defects.RetriesForEver, "test_an_unknown_chat_is_refused"),
    (defects.RetriesForEver, "test_revoked_credentials_refuse_texts_and_connections"),
    (defects.NeverReconnects, "test_the_channel_reconnects"),
    (defects.IgnoresCancellation, "test_a_cancelled_connection_ends_within_a_second"),
    (defects.LeavesTasks, "test_a_cancelled_connection_ends_within_a_second"),
    (defects.ShowsTheToken, "test_no_log_and_no_error_shows_a_secret"),
)


class DefectiveChats(TelegramChats):
    channel: type[TelegramChannel] = TelegramChannel

    def open(self) -> Channel:
        settings = {"token": "telegram", "base_url": self.server.url}
        secrets = KnownSecrets({"telegram": TOKEN})
        return self.channel(ChannelTools(self.clock, secrets, settings, read_networks(["127.0.0.0/8"])))


@pytest.fixture
async def service() -> AsyncIterator[DefectiveChats]:
    server = await TelegramService().start()
    yield DefectiveChats(server)
    await server.close()
    for task in asyncio.all_tasks():
        if task.get_name() == "horae.agents.channels":
            task.cancel()


@pytest.mark.parametrize(("defect", "name"), DEFECTS, ids=[f"{defect.__name__}-{name}" for defect, name in DEFECTS])
async def test_defect_is_found(
    service: DefectiveChats,
    defect: type[TelegramChannel],
    name: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(harness, "PATIENCE", 0.3)
    service.channel = defect
    test = getattr(ChannelContract(), name)
    more = {"caplog": caplog} if "caplog" in inspect.signature(test).parameters else {}
    with pytest.raises((AssertionError, TimeoutError, pytest.fail.Exception, DeliveryDelayed, DeliveryRefused)):
        await test(service, RecordingListener(), **more)


async def test_webhook_that_checks_no_signature_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WhatsAppChannel, "_is_signed", accept_all)
    server = await WhatsAppService().start()
    try:
        with pytest.raises(AssertionError):
            await test_whatsapp.test_call_without_the_right_signature_is_refused(WhatsAppChats(server), {})
    finally:
        await server.close()


async def test_event_whose_signature_is_not_checked_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feishu, "is_signed", lambda *_: True)
    server = await FeishuService().start()
    try:
        with pytest.raises(AssertionError):
            await test_feishu.test_event_without_the_right_signature_is_refused(FeishuChats(server), "other key")
    finally:
        await server.close()


async def accept_all(*_: object) -> bool:
    return True
