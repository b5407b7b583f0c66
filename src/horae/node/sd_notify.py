"""Notifies a service manager over `NOTIFY_SOCKET` (the sd_notify protocol): ready, watchdog heartbeats, stopping."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, MutableMapping
from contextlib import suppress
from typing import Final

from .supervisor import ChildStatus

_BEATS_PER_TIMEOUT: Final = 4
"""Heartbeats within the watchdog's timeout: some may be late."""
_MIN_BEAT_SECONDS: Final = 0.05


class NotifySocket:
    """Socket of the service manager, if there is one. `beat_seconds`: between heartbeats, None without a watchdog."""

    def __init__(self, address: str | None, beat_seconds: float | None = None) -> None:
        self._address = address
        self.beat_seconds = beat_seconds if address else None

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str]) -> NotifySocket:
        """Read the variables and remove them: child processes and commands of tasks must not notify in our name."""
        address = environment.pop("NOTIFY_SOCKET", "")
        timeout, pid = environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", "")
        is_ours = pid in ("", str(os.getpid())) and timeout.isdecimal() and int(timeout) > 0
        beat_seconds = max(_MIN_BEAT_SECONDS, int(timeout) / 1e6 / _BEATS_PER_TIMEOUT) if is_ours else None
        return cls(address or None, beat_seconds)

    def send(self, *assignments: str) -> None:
        """Send lines such as `READY=1`; errors are ignored, because a deaf manager is no reason to stop."""
        if not self._address:
            return
        name = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.settimeout(0)
            line.sendto("\n".join(assignments).encode(), name)


class ServiceNotifier:
    """Combines the status of all children: ready when each is ready, a heartbeat when each has sent one."""

    def __init__(self, manager: NotifySocket, children: Collection[str]) -> None:
        self._manager = manager
        self._children = frozenset(children)
        self._ready: set[str] = set()
        self._alive: set[str] = set()
        self._sent_ready = self._sent_stopping = False

    def on_status(self, child: str, status: ChildStatus) -> None:
        """Count the status of one child, and notify the manager if it completes one of the whole."""
        if status == "stopping":
            if not self._sent_stopping:
                self._sent_stopping = True
                self._manager.send("STOPPING=1", "STATUS=Stopping: what runs may end.")
            return
        if status == "drained":
            # Not restarted: the watchdog must not wait for its heartbeats.
            self._children -= {child}
            self._send_beat()
            return
        self._alive.add(child)
        if status == "ready":
            self._ready.add(child)
            self._send_ready()
        self._send_beat()

    def _send_beat(self) -> None:
        if self._alive >= self._children:
            self._alive.clear()
            if self._manager.beat_seconds is not None:
                self._manager.send("WATCHDOG=1")

    def _send_ready(self) -> None:
        if not self._sent_ready and self._ready >= self._children:
            self._sent_ready = True
            self._manager.send("READY=1", f"STATUS=Ready: {', '.join(sorted(self._children))}.")
