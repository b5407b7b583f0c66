"""A supervised agent on the host's side: starts the launcher process, moves the three streams, reports how it ended."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple, Self

from ...ports.runtime import Exit, ExitCause, Output

_LAUNCHER: Final = str(Path(__file__).parents[2] / "launchers" / "agent_launcher.py")
_CHUNK_BYTES: Final = 65_536
_MAX_PENDING_BYTES: Final = 1024 * 1024
"""Output that is read and not yet taken; beyond it the pipes fill, and the agent waits."""
_MAX_DRAIN_CHUNKS: Final = 64
"""More than a pipe can hold: a process that inherited the stream could otherwise write for ever."""
_ABANDON_SECONDS: Final = 60.0
"""More than the commands of a container runtime may take."""
_INHERITED_VARIABLES: Final = ("LD_LIBRARY_PATH",)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """Instructions for the launcher. `stage` has a source and whether it is writable for each mount of /tmp/<number>.

    `has_status`: the words `{status}` and `{gate}` of `argv` become descriptors of bubblewrap's status and gate. `gated`:
    the sandbox waits at the gate until its number of processes is limited. `adopts`: orphans of the agent become children
    of the launcher, and die with it. `stop` and `kill` are commands that a container needs.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: str = "/"
    rlimits: Mapping[str, int] = field(default_factory=dict)
    processes: int | None = None
    user: tuple[int, int] | None = None
    no_new_privileges: bool = False
    cgroups: Sequence[str] = ()
    stage: Sequence[tuple[str, bool]] = ()
    has_status: bool = False
    gated: bool = False
    adopts: bool = True
    stop: Sequence[str] = ()
    kill: Sequence[str] = ()


class ReachedLimits(NamedTuple):
    """Limits that stopped something, as far as the runtime sees it: `memory` killed a process, `processes` refused one."""

    memory: bool = False
    processes: bool = False


class Ending:
    """What a runtime does when the launcher has ended; the defaults do nothing."""

    async def kill(self) -> None:
        """End the agent: its launcher was killed before it could."""

    async def release(self) -> ReachedLimits:
        """Remove what the agent used; return the limits that it has reached."""
        return ReachedLimits()


class SupervisedProcess:
    """Watches one agent on the event loop without blocking. The launcher kills it: on a message, or when this host dies."""

    not_started_codes: frozenset[int] = frozenset()
    """Exit codes of the runtime's own program that say that the agent was not started."""

    def __init__(
        self, name: str, request: LaunchRequest, max_output: int, ending: Ending, labels: Sequence[str]
    ) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._ending = ending
        self._ended: asyncio.Future[Exit] = self._loop.create_future()
        self._cause: ExitCause | None = None
        self._message = b""
        self._chunks: deque[Output] = deque()
        self._pending_bytes = 0
        self._wake_reader: asyncio.Future[None] | None = None
        self._is_draining = False
        self._finish_task: asyncio.Task[None] | None = None
        self._channel, self._launcher = _launch(request, labels)
        self._pidfd = os.pidfd_open(self._launcher.pid)
        self._stdin: int | None = _detach(self._launcher.stdin)
        self._input_lock = asyncio.Lock()
        self._streams: dict[int, _Stream] = {
            _detach(self._launcher.stdout): _Stream("stdout", max_output),
            _detach(self._launcher.stderr): _Stream("stderr", max_output),
        }
        self._reading: set[int] = set()
        self._resume_reading()
        self._loop.add_reader(self._channel, self._read_message)
        self._loop.add_reader(self._pidfd, self._launcher_ended)

    @property
    def name(self) -> str:
        return self._name

    async def write(self, data: bytes) -> None:
        async with self._input_lock:
            rest = memoryview(data)
            while rest and self._stdin is not None:
                try:
                    rest = rest[os.write(self._stdin, rest) :]
                except BlockingIOError:
                    await self._wait_until_writable(self._stdin)
                except BrokenPipeError:
                    return

    def close_input(self) -> None:
        if self._stdin is not None:
            self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = None

    async def output(self) -> AsyncIterator[Output]:
        while True:
            while self._chunks:
                chunk = self._chunks.popleft()
                self._pending_bytes -= len(chunk.data)
                self._resume_reading()
                yield chunk
            if self._ended.done():
                return
            self._wake_reader = self._loop.create_future()
            await self._wake_reader

    async def wait(self) -> Exit:
        return await asyncio.shield(self._ended)

    async def stop(self, grace: float = 0.0) -> Exit:
        self._stop("stopped", grace)
        try:
            async with asyncio.timeout(max(grace, 0) + _ABANDON_SECONDS):
                return await self.wait()
        except TimeoutError:
            # The launcher does not respond: without it the agent is killed from here.
            self._launcher.kill()
            return await self.wait()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_input()
        self._is_draining = True
        self._resume_reading()
        await self.stop()
        self._chunks.clear()

    def _stop(self, cause: ExitCause, grace: float) -> None:
        if self._ended.done() or self._finish_task is not None:
            return
        if self._cause is None:
            self._cause = cause
        with suppress(OSError):
            self._channel.send(b"stop %d\n" % int(max(grace, 0) * 1000))

    async def _wait_until_writable(self, descriptor: int) -> None:
        ready: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_writer(descriptor, _resolve, ready)
        try:
            await ready
        finally:
            if self._stdin == descriptor:
                self._loop.remove_writer(descriptor)

    def _resume_reading(self) -> None:
        if self._pending_bytes < _MAX_PENDING_BYTES or self._is_draining:
            for descriptor in self._streams.keys() - self._reading:
                self._reading.add(descriptor)
                self._loop.add_reader(descriptor, self._read_stream, descriptor)

    def _read_stream(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if data:
            self._accept(self._streams[descriptor], data)
            if self._pending_bytes >= _MAX_PENDING_BYTES and not self._is_draining:
                self._pause_reading()
        else:
            self._close_stream(descriptor)

    def _accept(self, stream: _Stream, data: bytes) -> None:
        accepted = data[: stream.bytes_left]
        stream.bytes_left -= len(accepted)
        if len(accepted) < len(data):
            self._stop("output_limit", 0)
        if accepted and not self._is_draining:
            self._pending_bytes += len(accepted)
            self._chunks.append(Output(stream.name, accepted))
            self._wake()

    def _pause_reading(self) -> None:
        for descriptor in self._reading:
            self._loop.remove_reader(descriptor)
        self._reading.clear()

    def _close_stream(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        self._reading.discard(descriptor)
        del self._streams[descriptor]
        os.close(descriptor)
        self._wake()

    def _wake(self) -> None:
        if self._wake_reader is not None:
            _resolve(self._wake_reader)

    def _read_message(self) -> None:
        try:
            data = self._channel.recv(_CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._message += data
        if not data:
            self._loop.remove_reader(self._channel)

    def _launcher_ended(self) -> None:
        self._loop.remove_reader(self._pidfd)
        self._loop.remove_reader(self._channel)
        with suppress(OSError):
            while data := self._channel.recv(_CHUNK_BYTES):
                self._message += data
        self._launcher.wait()
        os.close(self._pidfd)
        self._channel.close()
        self._finish_task = self._loop.create_task(self._finish())

    async def _finish(self) -> None:
        kind, _, detail = self._message.decode(errors="replace").partition(" ")
        reached = ReachedLimits()
        try:
            if not kind:
                await self._ending.kill()
            reached = await self._ending.release()
        finally:
            self._drain_streams()
            if kind == "not_started" and detail:
                self._accept(_Stream("stderr", _CHUNK_BYTES), detail.encode(errors="replace"))
            self.close_input()
            self._ended.set_result(self._exit(kind, detail, reached))
            self._wake()

    def _exit(self, kind: str, detail: str, reached: ReachedLimits) -> Exit:
        if kind == "not_started":
            return Exit(None, "not_started")
        if kind != "exit":
            return Exit(None, self._cause or "lost", reached.processes)
        number = int(detail)
        code = 128 - number if number < 0 else number
        if code in self.not_started_codes and self._cause is None:
            return Exit(None, "not_started")
        cause = self._cause or ("memory_limit" if reached.memory and code else "exited")
        return Exit(code, cause, reached.processes)

    def _drain_streams(self) -> None:
        """Take all that is in the pipes now: everything that could write to them is gone."""
        for descriptor, stream in tuple(self._streams.items()):
            with suppress(BlockingIOError):
                for _ in range(_MAX_DRAIN_CHUNKS):
                    data = os.read(descriptor, _CHUNK_BYTES)
                    if not data:
                        break
                    self._accept(stream, data)
            self._close_stream(descriptor)


@dataclass(slots=True)
class _Stream:
    name: Literal["stdout", "stderr"]
    bytes_left: int


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _detach(pipe: Any) -> int:
    """Take over the descriptor of a pipe, non-blocking."""
    descriptor = os.dup(pipe.fileno())
    pipe.close()
    os.set_blocking(descriptor, False)
    return descriptor


def _launch(request: LaunchRequest, labels: Sequence[str]) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start the launcher; return the host's end of its channel, and its process. The labels are visible in its arguments."""
    with ExitStack() as resources:
        channel, launcher_channel = socket.socketpair()
        channel.setblocking(False)  # noqa: FBT003 - it takes no keywords
        resources.enter_context(launcher_channel)
        on_failure = resources.enter_context(ExitStack())
        on_failure.enter_context(channel)
        file = resources.enter_context(open(os.memfd_create("horae"), "w+b", buffering=0))  # noqa: PTH123 - it has no path
        file.write(json.dumps(asdict(request)).encode())
        file.seek(0)
        arguments = (str(launcher_channel.fileno()), str(file.fileno()), str(os.getpid()), *labels)
        process = subprocess.Popen(  # noqa: S603 - our own file, by our own interpreter, and no shell
            (sys.executable, "-I", "-S", _LAUNCHER, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(launcher_channel.fileno(), file.fileno()),
            env={name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ},
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        on_failure.pop_all()
    return channel, process
