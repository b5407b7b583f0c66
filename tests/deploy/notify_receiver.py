"""A service manager as a test needs it: a socket that hears what a service says of itself."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

PATIENCE_SECONDS: Final = 60.0


class NotifyReceiver:
    """`NOTIFY_SOCKET` leads here."""

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
        """Wait until it says that; what it message."""
        while True:
            message = self._socket.recv(4096).decode()
            self.messages.append(message)
            if state in message.splitlines():
                return message

    def drain(self) -> list[str]:
        """What has come and was not yet heard."""
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
