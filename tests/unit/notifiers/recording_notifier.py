"""Notifier that records messages instead of sending them."""

from __future__ import annotations

from collections.abc import Callable

from horae.notifiers.apprise_notifier import check_url_text
from horae.ports.notifier import Message, MessageService, SendResult


class RecordingNotifier:
    """Records each message by URL; `result` makes the answer to the next ones."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Message]] = []
        self.result: Callable[[], SendResult] = SendResult

    async def check(self, url: str) -> MessageService:
        check_url_text(url)
        return MessageService(url.partition(":")[0], "Recorder")

    async def send(self, url: str, message: Message) -> SendResult:
        self.sent.append((url, message))
        return self.result()

    @property
    def titles(self) -> list[str]:
        return [message.title for _, message in self.sent]
