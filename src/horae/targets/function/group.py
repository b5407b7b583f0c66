"""Process group of one child process and its descendants: one session, killed together; pipes for calls, reports, output."""

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

DataHandler: TypeAlias = Callable[[bytes], None]

_COMMAND: Final = ("-P", "-m", "horae.targets.function.child")
_CHUNK_BYTES: Final = 65_536
_WRITE_SECONDS: Final = 1.0
_MAX_DRAIN_CHUNKS: Final = 64
"""More than a pipe can hold: a process that escaped from the group could otherwise write for ever."""


class ProcessGroup:
    """Starts the child process and talks to it; methods may be called from any thread.

    The thread that created it must live as long as the process: the kernel's parent-death signal follows the thread.
    """

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
        self._reaped = False
        self._timer: Timer | None = None

    def send(self, message: bytes) -> None:
        """Write the whole message, blocking as long as that takes."""
        rest = memoryview(message)
        with suppress(BrokenPipeError):
            while rest:
                rest = rest[os.write(self._orders, rest) :]

    def try_send(self, message: bytes) -> bool:
        """Write a short message without blocking; return False if the child does not read and it was not sent."""
        os.set_blocking(self._orders, False)
        try:
            return os.write(self._orders, message) == len(message)
        except (BrokenPipeError, BlockingIOError):
            return False

    def send_answer(self, message: bytes) -> None:
        """Write the whole message, and give up when the process has ended. The child reads on a thread of its own."""
        os.set_blocking(self._orders, False)
        rest = memoryview(message)
        with selectors.DefaultSelector() as selector, suppress(BrokenPipeError):
            selector.register(self._orders, selectors.EVENT_WRITE)
            while rest and not self.has_ended():
                if selector.select(_WRITE_SECONDS):
                    with suppress(BlockingIOError):
                        rest = rest[os.write(self._orders, rest) :]

    def read_until_exit(
        self, report: DataHandler, output: DataHandler, tick: float, on_tick: Callable[[], None]
    ) -> None:
        """Pass data to the handlers until the process ends; call `on_tick` after data and every `tick` seconds of silence."""
        with selectors.DefaultSelector() as selector, _Pidfd(self._process.pid) as pidfd:
            selector.register(self._reports, selectors.EVENT_READ, report)
            selector.register(self._output, selectors.EVENT_READ, output)
            if pidfd.descriptor is not None:
                selector.register(pidfd.descriptor, selectors.EVENT_READ)
            while not self.has_ended():
                for key, _ in selector.select(tick):
                    if key.data is not None and not _read_chunk(key.fd, key.data):
                        selector.unregister(key.fd)
                on_tick()

    def has_ended(self) -> bool:
        """Whether the process has ended; checked without reaping where the system supports that."""
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
            if self._timer is None and not self._reaped:
                self._timer = Timer(grace, self.kill)
                self._timer.daemon = True
                self._timer.start()

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        with self._lock:
            if self._reaped:
                return
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
            with suppress(ProcessLookupError, PermissionError):
                if number is signal.SIGKILL:  # the function may have left its process group
                    os.kill(self._process.pid, number)

    def reap(self, report: DataHandler, output: DataHandler) -> int:
        """Kill what is left, drain the pipes, reap the child and return its exit code.

        No signal is sent after this: once reaped, the pid may be reused.
        """
        self.kill()
        with self._lock:
            self._reaped = True
            if self._timer is not None:
                self._timer.cancel()
        for pipe, handler in ((self._reports, report), (self._output, output)):
            _drain(pipe, handler)
        with self._process:
            pass
        return self._process.returncode


def _read_chunk(pipe: int, handler: DataHandler) -> bool:
    """Pass data to the handler; return False at the end of the pipe."""
    data = os.read(pipe, _CHUNK_BYTES)
    if data:
        handler(data)
    return bool(data)


def _drain(pipe: int, handler: DataHandler) -> None:
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        for _ in range(_MAX_DRAIN_CHUNKS):
            if not _read_chunk(pipe, handler):
                break


class _Pidfd:
    """A descriptor that becomes readable when a process ends; None where the system has no pidfd."""

    def __init__(self, pid: int) -> None:
        try:
            self.descriptor: int | None = os.pidfd_open(pid)
        except (AttributeError, OSError):
            self.descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
