"""A child process with everything that it starts. They share a session, and they end together."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Timer
from typing import IO, Final, Self, TypeAlias, cast

Heard: TypeAlias = Callable[[bytes], None]

_COMMAND: Final = ("-P", "-m", "horae.targets.function.child")
_CHUNK: Final = 65_536
_MOST_CHUNKS_LEFT: Final = 64
"""What a pipe can hold, and more: a process that got away from the group could otherwise write for ever."""


class Group:
    """Its methods may be called from any thread; but the thread that made it must live as long as the process does,
    because the kernel's signal at the death of a parent goes by the thread that started the child."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter, and no shell
            (sys.executable, *_COMMAND),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._orders, self._reports, self._output = (
            cast("IO[bytes]", pipe).fileno()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._lock = Lock()
        self._over = False
        self._timer: Timer | None = None

    def tell(self, message: bytes) -> None:
        """All of it, however long that takes."""
        rest = memoryview(message)
        with suppress(BrokenPipeError):
            while rest:
                rest = rest[os.write(self._orders, rest) :]

    def mention(self, message: bytes) -> bool:
        """A short message that blocks nobody. False when the child does not listen, and it was not said."""
        os.set_blocking(self._orders, False)
        try:
            return os.write(self._orders, message) == len(message)
        except (BrokenPipeError, BlockingIOError):
            return False

    def listen(self, report: Heard, output: Heard, tick: float, ticked: Callable[[], None]) -> None:
        """Until the process ends, or `tick` seconds of silence at a time."""
        with selectors.DefaultSelector() as selector, _Ending(self._process.pid) as ending:
            selector.register(self._reports, selectors.EVENT_READ, report)
            selector.register(self._output, selectors.EVENT_READ, output)
            if ending.number is not None:
                selector.register(ending.number, selectors.EVENT_READ)
            while not self._has_ended():
                for key, _ in selector.select(tick):
                    if key.data is not None and not _pass_on(key.fd, key.data):
                        selector.unregister(key.fd)
                ticked()

    def _has_ended(self) -> bool:
        """Looks without reaping, where the system can do that."""
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def interrupt(self, grace: float) -> None:
        """Ask all of it to end, and do not wait long."""
        self._send(signal.SIGTERM)
        self.kill_after(grace)

    def kill_after(self, grace: float) -> None:
        with self._lock:
            if self._timer is None and not self._over:
                self._timer = Timer(grace, self.kill)
                self._timer.daemon = True
                self._timer.start()

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        with self._lock:
            if self._over:
                return
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
            with suppress(ProcessLookupError, PermissionError):
                if number is signal.SIGKILL:  # a function may have left the group that it was started in
                    os.kill(self._process.pid, number)

    def bury(self, report: Heard, output: Heard) -> int:
        """End what is left, hear the last words, and give the exit code. Until it is reaped its number is its own."""
        self.kill()
        with self._lock:
            self._over = True
            if self._timer is not None:
                self._timer.cancel()
        for pipe, heard in ((self._reports, report), (self._output, output)):
            _drain(pipe, heard)
        with self._process:
            pass
        return self._process.returncode


def _pass_on(pipe: int, heard: Heard) -> bool:
    """False at its end."""
    data = os.read(pipe, _CHUNK)
    if data:
        heard(data)
    return bool(data)


def _drain(pipe: int, heard: Heard) -> None:
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        for _ in range(_MOST_CHUNKS_LEFT):
            if not _pass_on(pipe, heard):
                break


class _Ending:
    """A number that becomes readable when a process ends; None where the system has no such thing."""

    def __init__(self, pid: int) -> None:
        try:
            self.number: int | None = os.pidfd_open(pid)
        except (AttributeError, OSError):
            self.number = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.number is not None:
            os.close(self.number)
