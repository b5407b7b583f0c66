"""A service manager as a test needs it: a socket that hears what a service says of itself."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

PATIENCE_SECONDS: Final = 60.0


class Ears:
    """`NOTIFY_SOCKET` leads here."""

    def __init__(self, folder: Path) -> None:
        self.address = str(folder / "notify")
        self.heard: list[str] = []
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._line.bind(self.address)
        self._line.settimeout(PATIENCE_SECONDS)

    def environment(self, watchdog: float | None = None) -> dict[str, str]:
        ours = {"NOTIFY_SOCKET": self.address}
        return ours if watchdog is None else ours | {"WATCHDOG_USEC": str(round(watchdog * 1e6))}

    def until(self, words: str) -> str:
        """Wait until it says that; what it said."""
        while True:
            said = self._line.recv(4096).decode()
            self.heard.append(said)
            if words in said.splitlines():
                return said

    def rest(self) -> list[str]:
        """What has come and was not yet heard."""
        self._line.settimeout(0)
        found: list[str] = []
        try:
            while True:
                found.append(self._line.recv(4096).decode())
        except BlockingIOError:
            return found
        finally:
            self._line.settimeout(PATIENCE_SECONDS)

    def close(self) -> None:
        self._line.close()
