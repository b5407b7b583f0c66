"""The notifier port: sends one message to one person or channel, addressed by a URL that is a secret."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, NoReturn, Protocol

from ..model.refusals import refuse


class MessageKind(StrEnum):
    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    FAILURE = "failure"


class Message(NamedTuple):
    """Plain text; a service that has no title shows it as the first line."""

    title: str
    body: str
    kind: MessageKind = MessageKind.INFO


class MessageService(NamedTuple):
    """Service that a URL addresses. `schema` is the part of the URL before the colon, `name` the product."""

    schema: str
    name: str


class SendFailure(StrEnum):
    """Cause of a message that was not delivered; a closed list, because a service's own words may repeat the URL."""

    FORBIDDEN = "forbidden"
    """The address is not public, and no operator allows it."""
    STATUS = "status"
    """The service answered with an error."""
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    BAD_URL = "bad_url"
    """The library no longer accepts the URL."""
    HOST_SCHEMA = "host_schema"
    """The schema acts on this machine, and no operator allows it."""
    LIBRARY = "library"
    """The library of this service is not installed."""
    FAILED = "failed"
    """The library says no more."""


class SendResult(NamedTuple):
    """`status` is the code with which the service answered, `networks` those that an operator would have to allow."""

    failure: SendFailure | None = None
    status: int | None = None
    networks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.failure is None


class Notifier(Protocol):
    async def check(self, url: str) -> MessageService:
        """Return the service of a URL; raises a refusal for a URL that could never work, without repeating it."""

    async def send(self, url: str, message: Message) -> SendResult:
        """Send once; never raises for a message that could not be delivered."""


class UnavailableNotifier:
    """Notifier of a process that has none."""

    async def check(self, url: str) -> NoReturn:  # noqa: ARG002 - it accepts none
        raise refuse("notify_library_missing")

    async def send(self, url: str, message: Message) -> SendResult:  # noqa: ARG002 - it sends nothing
        return SendResult(SendFailure.LIBRARY)
