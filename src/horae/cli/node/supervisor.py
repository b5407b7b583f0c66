"""Keeps one worker process alive: begun again when it dies, stopped in good order when somebody asks."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Literal, NamedTuple, TypeAlias

from ...clock import Clock

FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 10.0
LONGEST_START: Final = 60.0
"""Who is to run for so many seconds begins to count when it is ready, or after so long."""
HEALTHY_AFTER: Final = 60.0
BEGUN: Final = b"begun"
"""From here on the worker may run tasks: an end before it is a refusal to start, an end after it may be a task's doing."""
READY: Final = b"ready"
BEAT: Final = b"."
"""What a worker that is well says again and again, where it was asked to."""
STORE_LOST: Final = 7
"""A worker ends with this when the file of its store was taken away: another one would begin on an empty one."""
DRAINED: Final = 76
"""A worker ends with this when an operator wanted it to go: nothing is wrong, and another one would not be wanted."""
_KILLED: Final = 128

Command: TypeAlias = Callable[[int, int], Sequence[str]]
"""How a worker is started: (the number of its line to us, how many went before it)."""
Sign: TypeAlias = Literal["ready", "alive", "stopping"]
"""What may interest somebody who watches over us."""


class Death(NamedTuple):
    """A worker ended that nobody had asked to. `code` below zero is the number of a signal."""

    pid: int
    code: int
    lived: float
    pause: float


class _Life(NamedTuple):
    pid: int
    code: int
    had_begun: bool
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
        passed: tuple[int, ...] = (),
        signs: Callable[[Sign], None] = lambda _sign: None,
    ) -> None:
        """`order` is what each worker hears on the line, by how many went before it. `passed` are open files of ours that
        each of them gets too. `signs` hears how it stands with them."""
        self._command = command
        self._order = order
        self._passed = passed
        self._signs = signs
        self._told = told
        self._clock = clock
        self._worker: asyncio.subprocess.Process | None = None
        self._asked = asyncio.Event()
        self._seconds: float | None = None
        self._forced: int | None = None
        self._beats: asyncio.Future[None] | None = None

    async def run(self, seconds: float | None = None, *, listen: bool = True) -> int:
        """Until somebody asks it to stop, or for so long; the exit code. `listen` False: who asks calls `stop`."""
        self._seconds = seconds
        if listen:
            listen_for(self.stop)
        if self._seconds is not None:
            asyncio.get_running_loop().call_later(self._seconds + LONGEST_START, self._time_is_up)
        number, pause, was_ready = 0, FIRST_PAUSE, False
        while True:
            life = await self._live(number)
            if self._asked.is_set():
                return self._ended(life)
            if not was_ready and not life.had_begun and life.code > 0:
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

    @property
    def is_stopping(self) -> bool:
        return self._asked.is_set()

    def _time_is_up(self) -> None:
        if not self._asked.is_set():
            self._asked.set()
            self._signs("stopping")
            self._send(signal.SIGTERM)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        """In good order; who asks a second time does not want to wait."""
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
                    pass_fds=(theirs.fileno(), *self._passed),
                    start_new_session=True,
                )
            if self._asked.is_set():
                self._send(signal.SIGTERM)
            hearing = asyncio.ensure_future(self._hear(ours))
            code = await self._worker.wait()
            # Whatever it said lies in the line, and the line has an end now.
            had_begun, was_ready = await hearing
            await self._hear_no_more()
        return _Life(self._worker.pid, code, had_begun, was_ready, self._clock.steady() - began)

    async def _hear(self, line: socket.socket) -> tuple[bool, bool]:
        """Whether it had begun and was ready, as soon as it is ready, or when it is gone."""
        line.setblocking(False)
        loop = asyncio.get_running_loop()
        had_begun = False
        with suppress(ConnectionError):
            said = await loop.sock_recv(line, len(BEGUN))
            if said == BEGUN:
                had_begun = True
                said = await loop.sock_recv(line, len(READY))
            if said == READY:
                if self._seconds is not None:
                    loop.call_later(self._seconds, self._time_is_up)
                self._signs("ready")
                self._beats = asyncio.ensure_future(self._hear_beats(line))
                return True, True
        return had_begun, False

    async def _hear_beats(self, line: socket.socket) -> None:
        with suppress(ConnectionError):
            while await asyncio.get_running_loop().sock_recv(line, 64):
                self._signs("alive")

    async def _hear_no_more(self) -> None:
        """Not until the line ends: what the worker has started may still hold it."""
        if self._beats is not None:
            self._beats.cancel()
            await asyncio.gather(self._beats, return_exceptions=True)
            self._beats = None

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


def listen_for(stop: Callable[[signal.Signals], None]) -> None:
    """Begun in the background by a script, a program inherits that Ctrl-C is to be ignored: not this one."""
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop, each)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # `nohup` means it
        loop.add_signal_handler(signal.SIGHUP, stop, signal.SIGHUP)


async def run_both(worker: Supervisor, server: Supervisor, seconds: float | None) -> int:
    """Two children under one roof: what ends one of them ends the other; the worse of both codes."""

    def stop(by: signal.Signals) -> None:
        worker.stop(by)
        server.stop(by)

    listen_for(stop)
    children = (worker, server)
    tasks = [asyncio.ensure_future(worker.run(seconds, listen=False)), asyncio.ensure_future(server.run(listen=False))]
    _, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for each, task in zip(children, tasks, strict=True):
        if task in rest and not each.is_stopping:
            each.stop()
    return max(await asyncio.gather(*tasks))
