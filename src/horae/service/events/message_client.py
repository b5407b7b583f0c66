"""Client for messages to people: opens the sealed URL, renders the text, sends it, and says what happened without secrets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...choices import Language
from ...clock import Clock
from ...errors import Refusal
from ...message import Message
from ...model.accounts.principal import Principal
from ...model.events.destination import Destination, Notice
from ...model.events.webhook import NO_KEY, Attempt
from ...ports.notifier import MessageService, Notifier, SendFailure, SendResult
from ..accounts.secrets import SecretVault
from .delivery import KEY_REFUSALS
from .notice_text import render_message

ADDRESS_OWNER_PREFIX: Final = "horae:destination:"
_URL: Final = "url"
_ANSWERS: Final = {
    SendFailure.FORBIDDEN: Message(
        "The address is not public: an operator has to add it to outgoing_networks.",
        "该地址不是公网地址:须由运维人员加入 outgoing_networks。",
    ),
    SendFailure.STATUS: Message("The service answered with an error.", "该服务返回了错误。"),
    SendFailure.UNREACHABLE: Message("The service cannot be reached.", "无法连接该服务。"),
    SendFailure.TIMEOUT: Message("The service did not answer in time.", "该服务未在规定时间内应答。"),
    SendFailure.BAD_URL: Message(
        "The URL is no longer accepted: add the destination again.", "该 URL 已不被接受:请重新添加目的地。"
    ),
    SendFailure.HOST_SCHEMA: Message(
        "The service acts on the node's machine: an operator has to add it to notify_host_schemas.",
        "该服务会作用于节点所在的机器:须由运维人员加入 notify_host_schemas。",
    ),
    SendFailure.LIBRARY: Message(
        "A library is not installed on the node: pip install 'horae[notify]'",
        "节点上没有安装所需的库:pip install 'horae[notify]'",
    ),
    SendFailure.FAILED: Message("The service did not accept the message.", "该服务没有接受这条消息。"),
}
_CHINESE_ANSWERS: Final = {answer.en: answer.zh for answer in _ANSWERS.values()}
SENT: Final = "sent"


def localize_answer(answer: str, language: Language) -> str:
    """Return the stored result of an attempt in this language; sentences of other programs stay as they are."""
    return _CHINESE_ANSWERS.get(answer, answer) if language == "zh" else answer


class MessageClient:
    def __init__(self, secrets: SecretVault, notifier: Notifier, clock: Clock) -> None:
        self._secrets = secrets
        self._notifier = notifier
        self._clock = clock

    async def check(self, url: str) -> MessageService:
        return await self._notifier.check(url)

    async def deliver(self, destination: Destination, notices: Sequence[Notice]) -> Attempt:
        """Send notices as one message once, and return what happened; never raises for a failed delivery."""
        now = self._clock.now()
        try:
            url = await self._secrets.reveal(ADDRESS_OWNER_PREFIX + destination.id, _URL)
        except Refusal as refusal:
            return Attempt(now, None, refusal.message, (NO_KEY,) if refusal.code in KEY_REFUSALS else ())
        if url is None:
            return Attempt(now, None, _ANSWERS[SendFailure.BAD_URL].en)
        return _attempt_of(await self._notifier.send(url, render_message(destination, notices)), self._clock)

    async def store_url(self, destination_id: str, url: str) -> None:
        await self._secrets.set(Principal(ADDRESS_OWNER_PREFIX + destination_id), _URL, url)

    async def remove_url(self, destination_id: str) -> None:
        try:
            await self._secrets.remove(Principal(ADDRESS_OWNER_PREFIX + destination_id), _URL)
        except Refusal:
            return  # it was removed before


def _attempt_of(result: SendResult, clock: Clock) -> Attempt:
    answer = SENT if result.failure is None else _ANSWERS[result.failure].en
    return Attempt(clock.now(), result.status, answer, result.networks, delivered=result.ok)
