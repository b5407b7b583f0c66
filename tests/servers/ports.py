"""Ports that stay ours while the server behind them is down."""

from __future__ import annotations

import random
import socket
from typing import Final
from urllib.parse import urlsplit

HOST: Final = "127.0.0.1"
# Below the range from which the kernel takes the near end of connections: a client that knocks at a server that is
# down could otherwise be given the very port it knocks at, and would be connected to itself.
_RANGE: Final = range(15_000, 32_000)
_ATTEMPTS: Final = 1_000
_CHANCE: Final = random.SystemRandom()


class ReservedPort:
    """A free port on the loopback, which no other test process will reserve until this one lets go or dies."""

    def __init__(self) -> None:
        self.number, self._claim = _reserved()

    def release(self) -> None:
        self._claim.close()


def with_port(url: str, port: int) -> str:
    """The same address behind another port of the loopback: a pooler's or a proxy's."""
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user}{at}{HOST}:{port}").geturl()


def _reserved() -> tuple[int, socket.socket]:
    for _ in range(_ATTEMPTS):
        number = _CHANCE.choice(_RANGE)
        claim = socket.socket(socket.AF_UNIX)
        try:
            # An abstract name is exclusive, lives in the same network namespace as the port, and dies with us.
            claim.bind(f"\0horae-tests-port-{number}")
            with socket.create_server((HOST, number)):
                return number, claim
        except OSError:
            claim.close()
    raise AssertionError("no free port on the loopback")
