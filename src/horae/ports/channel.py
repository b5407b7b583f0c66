"""The channel port: receives the messages of a chat service and sends texts to its chats; knows neither groups nor tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import Any, Final, NamedTuple, Protocol

from ..clock import Clock
from ..errors import Refusal
from .target import Secrets
from .text_parts import TextLimit, split_text

_EARLIEST: Final = datetime(1990, 1, 1, tzinfo=UTC)
_CLOCK_ERROR: Final = timedelta(minutes=5)


class MessageChange(StrEnum):
    """What the service reports of a message."""

    NEW = "new"
    EDITED = "edited"
    DELETED = "deleted"


class QuotedMessage(NamedTuple):
    """The message that another one answers. Sender and text are empty where the service gives the id only."""

    id: str
    sender_name: str = ""
    text: str = ""


class IncomingMessage(NamedTuple):
    """One message of a chat, or its edit or deletion. Ids are those of the service, as text."""

    chat: str
    id: str
    source_id: str
    """Identifies this report within the channel, also when the service repeats it: of an edit it is another than of the message."""
    sender: str
    sender_name: str
    text: str
    sent: datetime
    change: MessageChange = MessageChange.NEW
    quoted: QuotedMessage | None = None
    attachments: tuple[str, ...] = ()
    """Kinds of the parts that are no text, in the words of the service, such as `photo`."""
    from_me: bool = False
    """Whether the account of the channel sent it by another program, such as a phone. What the channel sends is not reported."""
    chat_name: str = ""
    is_direct: bool = False
    """Whether the chat is with one person."""
    moved_from: str = ""
    """Earlier id of this chat, where the service reports that it was replaced."""
    is_truncated: bool = False
    """Whether the text was longer than a message of a stream can be."""


class ReceiptState(StrEnum):
    DELIVERED = "delivered"
    READ = "read"
    FAILED = "failed"


class DeliveryReceipt(NamedTuple):
    """What became of a text that the service had accepted. `refusal` says why it failed."""

    chat: str
    id: str
    state: ReceiptState
    refusal: Refusal | None = None


class ConnectionState(NamedTuple):
    """Whether messages can arrive now. `problem` says why not, without secrets."""

    is_connected: bool
    problem: str = ""
    retry_in: timedelta | None = None


class ChannelListener(Protocol):
    """Receives what a channel reports."""

    async def on_message(self, message: IncomingMessage) -> None:
        """Keep the message. It is received when this returns; after an exception the service delivers it again.

        Raise only when a later delivery can succeed: most services deliver nothing else until then.
        """

    async def on_receipt(self, receipt: DeliveryReceipt) -> None: ...

    def on_state(self, state: ConnectionState) -> None:
        """Called when the connection begins, fails or ends."""


class Sent(NamedTuple):
    """A text that the service has accepted. `chat` differs from the addressed one if the service has replaced that one."""

    id: str
    chat: str


class DeliveryRefused(Exception):  # noqa: N818 - an answer of the service, not a defect
    """The service will never take this text. `sent` are the parts that it took before."""

    def __init__(self, refusal: Refusal, sent: tuple[Sent, ...] = ()) -> None:
        self.refusal = refusal
        self.sent = sent
        super().__init__(str(refusal))


class DeliveryDelayed(Exception):  # noqa: N818 - likewise
    """The text did not go out now. Send it again after `after`, without the parts in `sent`.

    `is_uncertain`: no answer came, so that the text may have arrived, and sending it again may show it twice.
    """

    def __init__(
        self, problem: str, after: timedelta, *, is_uncertain: bool = False, sent: tuple[Sent, ...] = ()
    ) -> None:
        self.problem = problem
        self.after = after
        self.is_uncertain = is_uncertain
        self.sent = sent
        super().__init__(problem)


class Channel(Protocol):
    """One account of a chat service, on one event loop."""

    @property
    def limit(self) -> TextLimit:
        """Longest text that `send` takes."""

    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:
        """Report messages until cancelled, and reconnect after every failure.

        A message is confirmed to the service after `on_message` has returned, so that a crash repeats it. A repetition in
        the same process is not reported; after a crash `source_id` identifies it. `since` is the instant of the newest
        message that is known: a service that confirms nothing, but has a history, is asked for what came after it.
        Raises a refusal when no later attempt can succeed, such as for a revoked token.
        """

    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        """Send one text within the limit. Raises `DeliveryRefused` or `DeliveryDelayed`.

        `key` is the same for every attempt at this text: a service that can drop a repetition by it does.
        """

    async def typing(self, chat: str) -> None:
        """Show that an answer is being written, where the service can; failures are ignored."""

    async def confirm_read(self, chat: str, message_id: str) -> None:
        """Mark a message as read, where the service can; failures are ignored."""

    async def aclose(self) -> None:
        """Release connections; `connect` has ended before."""


Scope = Mapping[str, Any]
AsgiReceive = Callable[[], Awaitable[dict[str, Any]]]
AsgiSend = Callable[[dict[str, Any]], Awaitable[None]]


class WebhookChannel(Channel, Protocol):
    """A channel whose service calls back over HTTP: an ASGI application that the HTTP API mounts."""

    async def webhook(self, scope: Scope, receive: AsgiReceive, send: AsgiSend) -> None:
        """Answer one request of the service; its signature is the only authentication."""


class KeyedChannel(Channel, Protocol):
    """A channel whose service drops a repeated text by its key."""

    @property
    def repetition_window(self) -> timedelta:
        """Time after the first attempt in which a repetition is dropped."""


class ChannelTools(NamedTuple):
    """Dependencies of a channel. `settings` are its table in the settings, `networks` those besides the public ones that an operator allows."""

    clock: Clock
    secrets: Secrets
    settings: Mapping[str, Any]
    networks: tuple[IPv4Network | IPv6Network, ...] = ()


class ChannelKind(Protocol):
    """One kind of channel, by name. Other packages register theirs under the entry point group `horae.channels`."""

    @property
    def kind(self) -> str: ...

    def open(self, tools: ChannelTools) -> Channel:
        """Return a channel that has not connected yet; raises a refusal for settings that could never work."""


async def send_text(
    channel: Channel,
    chat: str,
    text: str,
    *,
    key: str = "",
    already_sent: int = 0,
    on_sent: Callable[[Sent], Awaitable[None]] | None = None,
) -> tuple[Sent, ...]:
    """Send a text of any length, in parts and in order, and return what this call has sent.

    `already_sent` is the number of parts that an earlier attempt has sent. `on_sent` is awaited after each part, so that a
    caller can record it: a crash then repeats one part at most. The exceptions of `send` name the parts that were sent.
    """
    sent: list[Sent] = []
    for number, part in enumerate(split_text(replace_surrogates(text), channel.limit)):
        if number < already_sent:
            continue
        try:
            delivered = await channel.send(chat, part, key=f"{key}.{number}" if key else "")
        except DeliveryRefused as refused:
            raise DeliveryRefused(refused.refusal, tuple(sent)) from refused
        except DeliveryDelayed as delayed:
            raise DeliveryDelayed(
                delayed.problem, delayed.after, is_uncertain=delayed.is_uncertain, sent=tuple(sent)
            ) from delayed
        sent.append(delivered)
        chat = delivered.chat
        if on_sent is not None:
            await on_sent(delivered)
    return tuple(sent)


def credible_instant(sent: datetime, now: datetime) -> datetime:
    """Return when a message was sent; now, if the given instant cannot be true.

    In XMPP the sender can choose it. One in the future would be the place from which an archive is read after a
    reconnect, and one at the limits of the calendar exists in no local time of the prompt.
    """
    return sent if _EARLIEST <= sent <= now + _CLOCK_ERROR else now


def replace_surrogates(text: str) -> str:
    """Return the text with lone surrogates replaced: no service accepts them, and pairs become the character they spell."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
