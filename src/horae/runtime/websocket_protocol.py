"""uvicorn's WebSocket protocol with limits for clients that only receive: small messages, and no answers that they do not read."""

from __future__ import annotations

import logging
from typing import Any, Final

from uvicorn.protocols.websockets.wsproto_impl import WSProtocol
from wsproto.events import Ping

MAX_MESSAGE_BYTES: Final = 4_096
PING_SECONDS: Final = 20.0
"""Interval of pings, and the time that a client has to answer one."""


LOG: Final = logging.getLogger("horae.websocket")
LOG.setLevel(logging.WARNING)


class BoundedWebSocket(WSProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The server would log each address, in which a client may have sent a token by mistake.
        self.logger = LOG

    def handle_ping(self, event: Ping) -> None:
        """Answer a ping; a client that sends pings and reads no answers would fill the memory, and is disconnected."""
        if self.writable.is_set():
            super().handle_ping(event)
        else:
            self.transport.abort()


def websocket_options() -> dict[str, Any]:
    return {
        "ws": BoundedWebSocket,
        "ws_max_size": MAX_MESSAGE_BYTES,
        "ws_ping_interval": PING_SECONDS,
        "ws_ping_timeout": PING_SECONDS,
        # Compression of short messages saves little, and costs memory per connection.
        "ws_per_message_deflate": False,
    }
