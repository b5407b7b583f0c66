"""Keeps one worker process alive: begun again when it dies, stopped in good order when somebody asks."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

from ..clock import Clock

FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 10.0
LONGEST_START: Final = 60.0
"""Who is to run for so many seconds begins to count when it is ready, or after so long."""
HEALTHY_AFTER: Final = 60.0
READY: Final = b"ready"
STORE_LOST: Final = 7
"""A worker ends with this when the file of its store was taken away: another one would begin on an empty one."""
DRAINED: Final = 76
"""A worker ends with this when an operator wanted it to go: nothing is wrong, and another one would not be wanted."""
_KILLED: Final = 128

Command: TypeAlias = Callable[[int, int], Sequence[str]]
"""How a worker is started: (the number of its line to us, how many went before it)."""


class Death(NamedTuple):
    """A worker ended that nobody had asked to. `code` below zero is the number of a signal."""

    pid: int
    code: int
    lived: float
    pause: float


class _Life(NamedTuple):
    pid: int
    code: int
    was_ready: bool
    lived: float


class Supervisor:
    """The line between the two is a pair of sockets: a worker says on it that it is ready, and hears there that we died.

    Workers live in a session of their own, so that Ctrl-C on a terminal reaches us alone.
    """

    def __init__(
        self,
        command: Command,
        told: Callable[[Death], None],
        clock: Clock,
        order: Callable[[int], bytes] = lambda _number: b"",
    ) -> None:
        """`order` is what each worker hears on the line, by how many went before it."""
        self._command = command
        self._order = order
        self._told = told
        self._clock = clock
        self._worker: asyncio.subprocess.Process | None = None
        self._asked = asyncio.Event()
        self._seconds: float | None = None
        self._forced: int | None = None

    async def run(self, seconds: float | None = None) -> int:
        """Until somebody asks it to stop, or for so long; the exit code."""
        self._seconds = seconds
        self._listen()
        number, pause, was_ready = 0, FIRST_PAUSE, False
        while True:
            life = await self._live(number)
            if self._asked.is_set():
                return self._ended(life)
            if not was_ready and not life.was_ready and life.code > 0:
                # It refused to begin, and has said why.
                return life.code
            if life.was_ready and life.code == STORE_LOST:
                return life.code
            if life.was_ready and life.code == DRAINED:
                return 0
            was_ready = was_ready or life.was_ready
            pause = FIRST_PAUSE if number == 0 or life.lived >= HEALTHY_AFTER else min(2 * pause, LONGEST_PAUSE)
            number += 1
            self._told(Death(life.pid, life.code, life.lived, pause))
            if await self._asked_within(pause):
                return 0

    def _listen(self) -> None:
        """Begun in the background by a script, a program inherits that Ctrl-C is to be ignored: not this one."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, self._stop, each)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # `nohup` means it
            loop.add_signal_handler(signal.SIGHUP, self._stop, signal.SIGHUP)
        if self._seconds is not None:
            loop.call_later(self._seconds + LONGEST_START, self._time_is_up)

    def _time_is_up(self) -> None:
        if not self._asked.is_set():
            self._asked.set()
            self._send(signal.SIGTERM)

    def _stop(self, by: signal.Signals) -> None:
        if self._asked.is_set():
            self._forced = by
            self._send(signal.SIGKILL)
        else:
            self._time_is_up()

    def _send(self, number: signal.Signals) -> None:
        if self._worker is not None and self._worker.returncode is None:
            with suppress(ProcessLookupError):
                self._worker.send_signal(number)

    async def _live(self, number: int) -> _Life:
        began = self._clock.steady()
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                ours.sendall(self._order(number))
                self._worker = await asyncio.create_subprocess_exec(
                    *self._command(theirs.fileno(), number),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            if self._asked.is_set():
                self._send(signal.SIGTERM)
            hearing = asyncio.ensure_future(self._hear(ours))
            code = await self._worker.wait()
            # Whatever it said lies in the line, and the line has an end now.
            was_ready = await hearing
        return _Life(self._worker.pid, code, was_ready, self._clock.steady() - began)

    async def _hear(self, line: socket.socket) -> bool:
        """Whether it was ready, as soon as it says so, or when it is gone."""
        line.setblocking(False)
        loop = asyncio.get_running_loop()
        with suppress(ConnectionError):
            if await loop.sock_recv(line, len(READY)) == READY:
                if self._seconds is not None:
                    loop.call_later(self._seconds, self._time_is_up)
                return True
        return False

    async def _asked_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._asked.wait()
        return self._asked.is_set()

    def _ended(self, life: _Life) -> int:
        """A worker that had not begun to listen dies of the signal itself, and that is as good as a stop."""
        if self._forced is not None:
            return _KILLED + self._forced
        return 0 if life.code == DRAINED else max(0, life.code)
