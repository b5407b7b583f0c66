"""Value types of one HTTP exchange: the request, and its reply, either a `Response` or `Unreachable`."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from .guard import CheckedUrl
from .headers import Headers

DEFAULT_RESPONSE_BYTES: Final = 1024 * 1024
MAX_REDIRECTS: Final = 5


def _do_nothing() -> None: ...


class Request(NamedTuple):
    """One request. `timeout` is the timeout in seconds for all of it, redirects and body included.

    `max_body_bytes` limits the response body after decompression. `on_response` is called when the status has arrived.
    """

    method: str
    url: CheckedUrl
    headers: Headers
    body: bytes | None
    timeout: float
    redirects: int = 0
    max_body_bytes: int = DEFAULT_RESPONSE_BYTES
    on_response: Callable[[], None] = _do_nothing


class Response(NamedTuple):
    """A response. `headers` are keyed by lower-case name; `truncated` means that the body was longer."""

    status: int
    headers: dict[str, str]
    body: bytes
    truncated: bool
    url: CheckedUrl


class FailureKind(StrEnum):
    FORBIDDEN = "guarded"
    """Not allowed: the address is not public, or the request is invalid."""
    REDIRECTED = "redirected"
    """A redirect that is not allowed."""
    DNS = "name"
    """DNS lookup failed."""
    CONNECTION = "connection"
    TLS = "tls"
    TIMEOUT = "timeout"
    BROKEN = "broken"
    """The connection ended before the response was complete."""
    MALFORMED = "nonsense"
    """The response is not HTTP, or in an encoding that was not accepted."""


_PERMANENT: Final = frozenset({FailureKind.FORBIDDEN, FailureKind.REDIRECTED})


class Unreachable(NamedTuple):
    """No response. `message` names the host at most: no path, no header, no body.

    `networks` are those that an operator would have to allow first.
    """

    kind: FailureKind
    message: str
    networks: tuple[str, ...] = ()

    @property
    def is_permanent(self) -> bool:
        """Whether a retry would fail the same way."""
        return self.kind in _PERMANENT


Reply: TypeAlias = Response | Unreachable
