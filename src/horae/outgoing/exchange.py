"""One request and what came of it, as values. Whatever happens on the wire, the answer is one of two."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from .guard import CheckedUrl
from .headers import Headers

ANSWER_BYTES: Final = 1024 * 1024
MOST_REDIRECTS: Final = 5


def _nothing() -> None: ...


class Request(NamedTuple):
    """`within` bounds all of it, in seconds: redirects, and the last byte of the body. `most` bounds the answer's body
    after decompression. `on_answer` is called when the status has arrived."""

    method: str
    url: CheckedUrl
    headers: Headers
    body: bytes | None
    within: float
    redirects: int = 0
    most: int = ANSWER_BYTES
    on_answer: Callable[[], None] = _nothing


class Answer(NamedTuple):
    """`headers` by their names in lower case; `truncated` says that the body went on."""

    status: int
    headers: dict[str, str]
    body: bytes
    truncated: bool
    url: CheckedUrl


class Trouble(StrEnum):
    GUARDED = "guarded"
    """It may not be called: the address is not public, or the request is not a proper one."""
    REDIRECTED = "redirected"
    """It leads on to where it may not lead."""
    NAME = "name"
    """Its name could not be looked up."""
    CONNECTION = "connection"
    TLS = "tls"
    TIMEOUT = "timeout"
    BROKEN = "broken"
    """The connection ended before the answer did."""
    NONSENSE = "nonsense"
    """What came is no HTTP, or not in an encoding that was asked for."""


_LASTING: Final = frozenset({Trouble.GUARDED, Trouble.REDIRECTED})


class Unreachable(NamedTuple):
    """No answer. `message` names the host at most: no path, no header, no body.

    `networks` are those that an operator would have to allow first.
    """

    kind: Trouble
    message: str
    networks: tuple[str, ...] = ()

    @property
    def permanent(self) -> bool:
        """Asking again would come to the same."""
        return self.kind in _LASTING


Reply: TypeAlias = Answer | Unreachable
