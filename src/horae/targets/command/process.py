"""A running command on the node's side: starts the launcher process, reads both output streams, reports how it ended."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Final, NamedTuple, TypeAlias, cast

from .output import OutputCollector

DataHandler: TypeAlias = Callable[[bytes], None]

_LAUNCHER: Final = str(Path(__file__).parents[2] / "launchers" / "command_launcher.py")
_INTERPRETER_FLAGS: Final = ("-I", "-S")
_INHERITED_VARIABLES: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_CHUNK_BYTES: Final = 65_536
_MAX_DRAIN_CHUNKS: Final = 64
"""More than a pipe can hold: a process that inherited the stream could otherwise write for ever."""
_ABANDON_SECONDS: Final = 5.0


class LaunchRequest(NamedTuple):
    """Instructions for the launcher: program, arguments, environment, directory, limits, grace period in seconds."""

    program: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: str
    is_private: bool
    """The directory is created for this run and removed with its content afterwards."""
    limits: Mapping[str, int]
    grace: float
    stdin: bytes | None

    def to_bytes(self) -> bytes:
        fields = [
            f"program={self.program}",
            f"directory={self.directory}",
            f"private={'yes' if self.is_private else 'no'}",
            f"grace={int(self.grace * 1000)}",
            *(f"limit={name}:{value}" for name, value in self.limits.items()),
            *(f"argument={word}" for word in self.argv),
            *(f"variable={name}={value}" for name, value in self.environment.items()),
        ]
        return "\0".join(fields).encode(errors="surrogateescape")


class ProcessEnd(NamedTuple):
    """How a command ended, by the launcher's last message.

    `kind` is `exit`, `signal`, `error` (the program could not be started), `place` (its directory could not be used), or
    empty when the launcher was killed. `number` is the exit code, signal or errno.
    """

    kind: str
    number: int


class Process:
    """Starts a command and watches it on the event loop without blocking.

    The launcher counts the grace period and kills the command: on a message from here, or when this node dies.
    """

    def __init__(self, request: LaunchRequest, output: OutputCollector) -> None:
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[ProcessEnd] = self._loop.create_future()
        self.stopping = False
        self._output = output
        self._private_directory = request.directory if request.is_private else None
        self._messages = b""
        self._channel, self._process = _launch(request)
        self._streams = {
            self._unblock(self._process.stdout): output.output.feed,
            self._unblock(self._process.stderr): output.errors.feed,
        }
        for stream, handler in self._streams.items():
            self._loop.add_reader(stream, self._read_stream, stream, handler)
        self._channel.setblocking(False)  # noqa: FBT003 - it takes no keywords
        self._loop.add_reader(self._channel, self._read_channel)

    def stop(self) -> None:
        """Ask the command to end; the launcher kills it after the grace period. May be called again."""
        self.stopping = True
        with suppress(OSError):
            self._channel.send(b"stop")

    def kill(self) -> None:
        """Kill the command at once."""
        self.stopping = True
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)

    def abandon(self) -> None:
        """Kill the command and wait briefly, blocking: for an event loop that closes and can await nothing."""
        if not self.ended.done():
            self.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_ABANDON_SECONDS)
            self._close()

    def _unblock(self, pipe: IO[bytes] | None) -> int:
        descriptor = cast("IO[bytes]", pipe).fileno()
        os.set_blocking(descriptor, False)
        return descriptor

    def _read_stream(self, stream: int, handler: DataHandler) -> None:
        if not _read_chunk(stream, handler):
            self._loop.remove_reader(stream)

    def _read_channel(self) -> None:
        with suppress(BlockingIOError):
            try:
                data = self._channel.recv(_CHUNK_BYTES)
            except ConnectionError:
                data = b""
            self._messages += data
            if not data:
                self._finish()

    def _finish(self) -> None:
        """Collect the end of the command. The launcher has exited already, so waiting for it does not block."""
        messages = dict(_parse_messages(self._messages))
        endings = [
            ProcessEnd(name, messages[name]) for name in ("place", "error", "exit", "signal") if name in messages
        ]
        if not endings:
            self._clean_up_for_launcher(messages.get("started"))
        for stream, handler in self._streams.items():
            with suppress(BlockingIOError):
                _drain(stream, handler)
        self._process.wait()
        self._close()
        self._output.finish()
        if not self.ended.done():
            self.ended.set_result(endings[0] if endings else ProcessEnd("", 0))

    def _clean_up_for_launcher(self, command: int | None) -> None:
        """Kill the command's group and remove its private directory: the launcher was killed before it could."""
        with suppress(ProcessLookupError, PermissionError):
            if command is not None:
                os.killpg(command, signal.SIGKILL)
        if self._private_directory is not None:
            self._loop.run_in_executor(None, partial(shutil.rmtree, self._private_directory, ignore_errors=True))

    def _close(self) -> None:
        with suppress(RuntimeError):  # the loop may be closed already
            for stream in self._streams:
                self._loop.remove_reader(stream)
            self._loop.remove_reader(self._channel)
        for pipe in (self._process.stdout, self._process.stderr):
            cast("IO[bytes]", pipe).close()
        self._channel.close()


def _launch(order: LaunchRequest) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start the launcher; return the node's end of its channel, and its process."""
    with ExitStack() as resources:
        channel, launcher_channel = socket.socketpair()
        resources.enter_context(launcher_channel)
        on_failure = resources.enter_context(_closed_on_failure(channel))
        order_file = resources.enter_context(_anonymous_file(order.to_bytes()))
        stdin = subprocess.DEVNULL if order.stdin is None else resources.enter_context(_anonymous_file(order.stdin))
        arguments = (str(launcher_channel.fileno()), str(order_file), str(os.getpid()))
        process = subprocess.Popen(  # noqa: S603 - our own file, by our own interpreter, and no shell
            (sys.executable, *_INTERPRETER_FLAGS, _LAUNCHER, *arguments),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(launcher_channel.fileno(), order_file),
            env={name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ},
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        on_failure.pop_all()
    return channel, process


@contextmanager
def _closed_on_failure(channel: socket.socket) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        stack.enter_context(channel)
        yield stack


@contextmanager
def _anonymous_file(data: bytes) -> Iterator[int]:
    """Open an unnamed file with this content, in memory where possible since it holds secrets.

    A file needs no concurrent writer, unlike a pipe.
    """
    if hasattr(os, "memfd_create"):
        with open(os.memfd_create("horae"), "w+b", buffering=0) as file:  # noqa: PTH123 - it has no path
            yield _fill(file, data)
    else:
        with tempfile.TemporaryFile(buffering=0) as temporary:
            yield _fill(cast("IO[bytes]", temporary), data)


def _fill(file: IO[bytes], data: bytes) -> int:
    file.write(data)
    file.seek(0)
    return file.fileno()


def _parse_messages(data: bytes) -> Iterator[tuple[str, int]]:
    for line in data.decode(errors="replace").splitlines():
        name, _, number = line.partition(" ")
        yield name, int(number)


def _read_chunk(stream: int, handler: DataHandler) -> bool:
    """Pass available data to the handler; return False at the end of the stream."""
    try:
        data = os.read(stream, _CHUNK_BYTES)
    except BlockingIOError:
        return True
    if data:
        handler(data)
    return bool(data)


def _drain(stream: int, handler: DataHandler) -> None:
    """Pass all data that is in the pipe now to the handler."""
    for _ in range(_MAX_DRAIN_CHUNKS):
        data = os.read(stream, _CHUNK_BYTES)
        if not data:
            break
        handler(data)
