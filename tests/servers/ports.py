"""Reserved loopback ports, which stay reserved while the server behind them is down."""

from __future__ import annotations

import random
import socket
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

HOST: Final = "127.0.0.1"
# Below the ephemeral range: a client that connects to a server that is down could otherwise get that port as its
# own local port, and connect to itself.
_RANGE: Final = range(15_000, 32_000)
_ATTEMPTS: Final = 1_000
_CHANCE: Final = random.SystemRandom()


class ReservedPort:
    """A free loopback port that no other test process reserves until this process releases it or dies."""

    def __init__(self) -> None:
        self.number, self._claim = _reserved()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        self._claim.close()


def with_port(url: str, port: int) -> str:
    """Return the address with another loopback port: of a pooler or a proxy."""
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user}{at}{HOST}:{port}").geturl()


def _reserved() -> tuple[int, socket.socket]:
    for _ in range(_ATTEMPTS):
        number = _CHANCE.choice(_RANGE)
        claim = socket.socket(socket.AF_UNIX)
        try:
            # An abstract socket name is exclusive, in the network namespace of the port, and dies with the process.
            claim.bind(f"\0horae-tests-port-{number}")
            with socket.create_server((HOST, number)):
                return number, claim
        except OSError:
            claim.close()
    raise AssertionError("no free port on the loopback")
