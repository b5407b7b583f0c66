"""What a service manager hears of us (`sd_notify`): that we are ready, alive, about to end. Silent where nobody asked."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, MutableMapping
from contextlib import suppress
from typing import Final

from .supervisor import Sign

_BEATS: Final = 4
"""Signs of life within the time after which silence counts as death: some may be late."""
_SHORTEST: Final = 0.05


class ServiceLine:
    """To whoever waits at `NOTIFY_SOCKET`. `beat`: seconds between signs of life, None where nobody waits for them."""

    def __init__(self, address: str | None, beat: float | None = None) -> None:
        self._address = address
        self.beat = beat if address else None

    @classmethod
    def taken(cls, environment: MutableMapping[str, str]) -> ServiceLine:
        """Taken away, too: what we start, and what tasks start, must not speak for us."""
        address = environment.pop("NOTIFY_SOCKET", "")
        patience, whose = environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", "")
        ours = whose in ("", str(os.getpid())) and patience.isdecimal() and int(patience) > 0
        return cls(address or None, max(_SHORTEST, int(patience) / 1e6 / _BEATS) if ours else None)

    def say(self, *words: str) -> None:
        """A manager that does not listen is no reason to stop."""
        if not self._address:
            return
        name = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.setblocking(False)
            line.sendto("\n".join(words).encode(), name)


class ServiceNotifier:
    """One voice for all children: ready when each of them is, alive for as long as each of them is."""

    def __init__(self, line: ServiceLine, children: Collection[str]) -> None:
        self._line = line
        self._children = frozenset(children)
        self._ready: set[str] = set()
        self._alive: set[str] = set()
        self._told_ready = self._told_end = False

    def heard(self, child: str, sign: Sign) -> None:
        if sign == "stopping":
            if not self._told_end:
                self._told_end = True
                self._line.say("STOPPING=1", "STATUS=Stopping: what runs may end.")
            return
        self._alive.add(child)
        if sign == "ready":
            self._ready.add(child)
            self._tell_ready()
        if self._alive >= self._children:
            self._alive.clear()
            if self._line.beat is not None:
                self._line.say("WATCHDOG=1")

    def _tell_ready(self) -> None:
        if not self._told_ready and self._ready >= self._children:
            self._told_ready = True
            self._line.say("READY=1", f"STATUS=Ready: {', '.join(sorted(self._children))}.")
