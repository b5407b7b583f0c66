"""Supervises one child process: restarts it with backoff when it dies, stops it gracefully on a signal."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Literal, NamedTuple, TypeAlias

from ..clock import Clock
from .control_socket import BEGUN, READY

FIRST_PAUSE: Final = 0.2
MAX_PAUSE: Final = 10.0
MAX_START_SECONDS: Final = 60.0
"""A limited run time counts from readiness, or from here after the start if the child never becomes ready."""
HEALTHY_AFTER: Final = 60.0
"""Seconds after which the pause before the next restart is the first one again."""
STORE_LOST: Final = 7
"""Exit code of a child whose store file was removed: a restarted one would begin with an empty file."""
DRAINED: Final = 76
"""Exit code of a worker that an operator has drained: it is not restarted."""
_SIGNAL_EXIT: Final = 128

Command: TypeAlias = Callable[[int, int], Sequence[str]]
"""Returns the command line of a child, for the file descriptor of its control socket and the number of restarts."""
ChildStatus: TypeAlias = Literal["ready", "alive", "drained", "stopping"]


class ChildExit(NamedTuple):
    """An exit that was not requested. `code` below zero is the number of a signal, `pause` the time before the restart."""

    pid: int
    code: int
    lived: float
    pause: float


class _Lifetime(NamedTuple):
    pid: int
    code: int
    had_begun: bool
    was_ready: bool
    lived: float


class Supervisor:
    """Starts a child with one end of a socket pair: it reports there that it is ready, and gets EOF when we die.

    Children have a session of their own, so that Ctrl-C on a terminal reaches the supervisor alone.
    """

    def __init__(
        self,
        command: Command,
        on_exit: Callable[[ChildExit], None],
        clock: Clock,
        options: Callable[[int], bytes] = lambda _restarts: b"",
        inherited: tuple[int, ...] = (),
        on_status: Callable[[ChildStatus], None] = lambda _status: None,
    ) -> None:
        """`options` returns the bytes sent to a child at its start, for the number of restarts. `inherited` are file
        descriptors that each child gets too."""
        self._command = command
        self._options = options
        self._inherited = inherited
        self._on_status = on_status
        self._on_exit = on_exit
        self._clock = clock
        self._child: asyncio.subprocess.Process | None = None
        self._stop_requested = asyncio.Event()
        self._seconds: float | None = None
        self._forced_by: int | None = None
        self._beat_reader: asyncio.Future[None] | None = None

    async def run(self, seconds: float | None = None, *, listen: bool = True) -> int:
        """Run until a stop is requested, or for `seconds`; returns the exit code. `listen`: stop on SIGINT and SIGTERM."""
        self._seconds = seconds
        if listen:
            stop_on_signals(self.stop)
        if self._seconds is not None:
            asyncio.get_running_loop().call_later(self._seconds + MAX_START_SECONDS, self._stop_gracefully)
        restarts, pause, was_ready = 0, FIRST_PAUSE, False
        while True:
            life = await self._run_child(restarts)
            if self._stop_requested.is_set():
                return self._exit_code(life)
            if not was_ready and not life.had_begun and life.code > 0:
                # The child refused to start, and has printed why.
                return life.code
            if life.was_ready and life.code == STORE_LOST:
                return life.code
            if life.was_ready and life.code == DRAINED:
                self._on_status("drained")
                return 0
            was_ready = was_ready or life.was_ready
            pause = FIRST_PAUSE if restarts == 0 or life.lived >= HEALTHY_AFTER else min(2 * pause, MAX_PAUSE)
            restarts += 1
            self._on_exit(ChildExit(life.pid, life.code, life.lived, pause))
            if await self._is_stopped_within(pause):
                return 0

    @property
    def is_stopping(self) -> bool:
        return self._stop_requested.is_set()

    def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        """Stop the child gracefully; a second call kills it."""
        if self._stop_requested.is_set():
            self._forced_by = by
            self._send(signal.SIGKILL)
        else:
            self._stop_gracefully()

    def _stop_gracefully(self) -> None:
        if not self._stop_requested.is_set():
            self._stop_requested.set()
            self._on_status("stopping")
            self._send(signal.SIGTERM)

    def _send(self, number: signal.Signals) -> None:
        if self._child is not None and self._child.returncode is None:
            with suppress(ProcessLookupError):
                self._child.send_signal(number)

    async def _run_child(self, restarts: int) -> _Lifetime:
        began = self._clock.steady()
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                ours.sendall(self._options(restarts))
                self._child = await asyncio.create_subprocess_exec(
                    *self._command(theirs.fileno(), restarts),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(), *self._inherited),
                    start_new_session=True,
                )
            if self._stop_requested.is_set():
                self._send(signal.SIGTERM)
            start = asyncio.ensure_future(self._read_start(ours))
            code = await self._child.wait()
            # Messages sent before the exit are still in the socket's buffer, and now it has an end.
            had_begun, was_ready = await start
            await self._stop_reading_beats()
        return _Lifetime(self._child.pid, code, had_begun, was_ready, self._clock.steady() - began)

    async def _read_start(self, control: socket.socket) -> tuple[bool, bool]:
        """Return whether the child had begun and was ready, as soon as it is ready or has exited."""
        control.settimeout(0)
        loop = asyncio.get_running_loop()
        had_begun = False
        with suppress(ConnectionError):
            message = await loop.sock_recv(control, len(BEGUN))
            if message == BEGUN:
                had_begun = True
                message = await loop.sock_recv(control, len(READY))
            if message == READY:
                if self._seconds is not None:
                    loop.call_later(self._seconds, self._stop_gracefully)
                self._on_status("ready")
                self._beat_reader = asyncio.ensure_future(self._read_beats(control))
                return True, True
        return had_begun, False

    async def _read_beats(self, control: socket.socket) -> None:
        with suppress(ConnectionError):
            while await asyncio.get_running_loop().sock_recv(control, 64):
                self._on_status("alive")

    async def _stop_reading_beats(self) -> None:
        """Stop without waiting for EOF: processes that the child has started may still hold its end of the socket."""
        if self._beat_reader is not None:
            self._beat_reader.cancel()
            await asyncio.gather(self._beat_reader, return_exceptions=True)
            self._beat_reader = None

    async def _is_stopped_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop_requested.wait()
        return self._stop_requested.is_set()

    def _exit_code(self, life: _Lifetime) -> int:
        """Return the exit code after a requested stop: a child killed by our signal before it had a handler counts as 0."""
        if self._forced_by is not None:
            return _SIGNAL_EXIT + self._forced_by
        return 0 if life.code == DRAINED else max(0, life.code)


def stop_on_signals(stop: Callable[[signal.Signals], None]) -> None:
    """Install handlers for SIGINT, SIGTERM and SIGHUP. SIGINT also where a script has started us in the background, whose
    children inherit that it is ignored."""
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop, each)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # under `nohup` it stays ignored
        loop.add_signal_handler(signal.SIGHUP, stop, signal.SIGHUP)


async def run_group(workers: Sequence[Supervisor], server: Supervisor | None, seconds: float | None) -> int:
    """Run several supervisors until all have ended; returns the greatest exit code.

    An error of one stops the others, and so does the end of the API server or of the last worker: a drained worker leaves
    the rest at work.
    """
    group = (*workers, *(() if server is None else (server,)))

    def stop(by: signal.Signals = signal.SIGTERM) -> None:
        for each in group:
            each.stop(by)

    stop_on_signals(stop)
    tasks = {asyncio.ensure_future(each.run(seconds, listen=False)): each for each in workers}
    if server is not None:
        tasks[asyncio.ensure_future(server.run(listen=False))] = server
    codes: list[int] = []
    running = set(tasks)
    while running:
        ended, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        codes += [task.result() for task in ended]
        left = {tasks[task] for task in running}
        if any(codes) or server not in (None, *left) or left <= {server}:
            for each in left:
                if not each.is_stopping:
                    each.stop()
    return max(codes)
