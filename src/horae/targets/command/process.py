"""One command while it runs, as the node sees it: a launcher that watches over it, two streams, and one end."""

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

from .output import Hearing

Heard: TypeAlias = Callable[[bytes], None]

_LAUNCHER: Final = str(Path(__file__).with_name("launcher.py"))
_INTERPRETER: Final = ("-I", "-S")
_NEEDED_TO_START: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_CHUNK: Final = 65_536
_MOST_CHUNKS_LEFT: Final = 64
"""What a pipe can hold, and more: somebody who was handed the stream could otherwise write for ever."""
_SECONDS_TO_ABANDON: Final = 5.0


class Order(NamedTuple):
    program: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: str
    private: bool
    """The directory is made for this run, and removed with all that is in it."""
    limits: Mapping[str, int]
    grace: float
    stdin: bytes | None

    def written(self) -> bytes:
        fields = [
            f"program={self.program}",
            f"directory={self.directory}",
            f"private={'yes' if self.private else 'no'}",
            f"grace={int(self.grace * 1000)}",
            *(f"limit={name}:{value}" for name, value in self.limits.items()),
            *(f"argument={word}" for word in self.argv),
            *(f"variable={name}={value}" for name, value in self.environment.items()),
        ]
        return "\0".join(fields).encode(errors="surrogateescape")


class Ending(NamedTuple):
    """`told` is exit, signal, error (it could not be started) or place (nor its directory entered), or nothing at all."""

    told: str
    number: int


class Process:
    """Made and used on the event loop; nothing here blocks. The launcher counts the grace and does the killing, so a
    word to it is enough, and so is this node's death."""

    def __init__(self, order: Order, hearing: Hearing) -> None:
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[Ending] = self._loop.create_future()
        self.stopping = False
        self._hearing = hearing
        self._private = order.directory if order.private else None
        self._words = b""
        self._channel, self._process = _launched(order)
        self._streams = {
            self._take(self._process.stdout): hearing.output.feed,
            self._take(self._process.stderr): hearing.errors.feed,
        }
        for stream, heard in self._streams.items():
            self._loop.add_reader(stream, self._hear, stream, heard)
        self._channel.setblocking(False)  # noqa: FBT003 - it takes no keywords
        self._loop.add_reader(self._channel, self._listen)

    def stop(self) -> None:
        """Ask it to end, and end it when it does not; may be asked again."""
        self.stopping = True
        with suppress(OSError):
            self._channel.send(b"stop")

    def kill(self) -> None:
        """At once, without asking."""
        self.stopping = True
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)

    def abandon(self) -> None:
        """The loop goes down, and nothing can be waited for; but nothing may be left either."""
        if not self.over.done():
            self.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_SECONDS_TO_ABANDON)
            self._let_go()

    def _take(self, pipe: IO[bytes] | None) -> int:
        number = cast("IO[bytes]", pipe).fileno()
        os.set_blocking(number, False)
        return number

    def _hear(self, stream: int, heard: Heard) -> None:
        if not _pass_on(stream, heard):
            self._loop.remove_reader(stream)

    def _listen(self) -> None:
        with suppress(BlockingIOError):
            try:
                word = self._channel.recv(_CHUNK)
            except ConnectionError:
                word = b""
            self._words += word
            if not word:
                self._end()

    def _end(self) -> None:
        """The launcher is gone: its number is all that is left of it, so that waiting for it takes no time."""
        told = dict(_read(self._words))
        ended = [Ending(name, told[name]) for name in ("place", "error", "exit", "signal") if name in told]
        if not ended:
            self._stand_in(told.get("started"))
        for stream, heard in self._streams.items():
            with suppress(BlockingIOError):
                _drain(stream, heard)
        self._process.wait()
        self._let_go()
        self._hearing.finish()
        if not self.over.done():
            self.over.set_result(ended[0] if ended else Ending("", 0))

    def _stand_in(self, command: int | None) -> None:
        """Somebody killed the launcher. The command dies with it; what else it would have done is done here."""
        with suppress(ProcessLookupError, PermissionError):
            if command is not None:
                os.killpg(command, signal.SIGKILL)
        if self._private is not None:
            self._loop.run_in_executor(None, partial(shutil.rmtree, self._private, ignore_errors=True))

    def _let_go(self) -> None:
        with suppress(RuntimeError):  # the loop may be closed already
            for stream in self._streams:
                self._loop.remove_reader(stream)
            self._loop.remove_reader(self._channel)
        for pipe in (self._process.stdout, self._process.stderr):
            cast("IO[bytes]", pipe).close()
        self._channel.close()


def _launched(order: Order) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    with ExitStack() as ours:
        channel, theirs = socket.socketpair()
        ours.enter_context(theirs)
        failing = ours.enter_context(_closed_on_failure(channel))
        sheet = ours.enter_context(_sheet(order.written()))
        stdin = subprocess.DEVNULL if order.stdin is None else ours.enter_context(_sheet(order.stdin))
        process = subprocess.Popen(  # noqa: S603 - our own file, by our own interpreter, and no shell
            (sys.executable, *_INTERPRETER, _LAUNCHER, str(theirs.fileno()), str(sheet), str(os.getpid())),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(theirs.fileno(), sheet),
            env={name: os.environ[name] for name in _NEEDED_TO_START if name in os.environ},
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        failing.pop_all()
    return channel, process


@contextmanager
def _closed_on_failure(channel: socket.socket) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        stack.enter_context(channel)
        yield stack


@contextmanager
def _sheet(data: bytes) -> Iterator[int]:
    """Something to read that needs nobody to write at the same time. In memory where that is possible: it holds secrets."""
    if hasattr(os, "memfd_create"):
        with open(os.memfd_create("horae"), "w+b", buffering=0) as sheet:  # noqa: PTH123 - it has no path
            yield _filled(sheet, data)
    else:
        with tempfile.TemporaryFile(buffering=0) as file:
            yield _filled(cast("IO[bytes]", file), data)


def _filled(sheet: IO[bytes], data: bytes) -> int:
    sheet.write(data)
    sheet.seek(0)
    return sheet.fileno()


def _read(words: bytes) -> Iterator[tuple[str, int]]:
    for line in words.decode(errors="replace").splitlines():
        name, _, number = line.partition(" ")
        yield name, int(number)


def _pass_on(stream: int, heard: Heard) -> bool:
    """False at its end."""
    try:
        data = os.read(stream, _CHUNK)
    except BlockingIOError:
        return True
    if data:
        heard(data)
    return bool(data)


def _drain(stream: int, heard: Heard) -> None:
    """All that is in the pipe now."""
    for _ in range(_MOST_CHUNKS_LEFT):
        data = os.read(stream, _CHUNK)
        if not data:
            break
        heard(data)
