"""Receiver of sd_notify messages, in the place of systemd."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

PATIENCE_SECONDS: Final = 60.0


class NotifyReceiver:
    """Datagram socket for `NOTIFY_SOCKET`; `messages` has those that `wait_for` received."""

    def __init__(self, folder: Path) -> None:
        self.address = str(folder / "notify")
        self.messages: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.address)
        self._socket.settimeout(PATIENCE_SECONDS)

    def environment(self, watchdog: float | None = None) -> dict[str, str]:
        ours = {"NOTIFY_SOCKET": self.address}
        return ours if watchdog is None else ours | {"WATCHDOG_USEC": str(round(watchdog * 1e6))}

    def wait_for(self, state: str) -> str:
        """Wait for a message with this line, and return the message."""
        while True:
            message = self._socket.recv(4096).decode()
            self.messages.append(message)
            if state in message.splitlines():
                return message

    def drain(self) -> list[str]:
        """Return the messages that have arrived and were not read yet."""
        self._socket.settimeout(0)
        found: list[str] = []
        try:
            while True:
                found.append(self._socket.recv(4096).decode())
        except BlockingIOError:
            return found
        finally:
            self._socket.settimeout(PATIENCE_SECONDS)

    def close(self) -> None:
        self._socket.close()
